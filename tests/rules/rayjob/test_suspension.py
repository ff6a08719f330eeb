"""Suspend and resume (traces T5 and T6; scenario f)."""

from jobledger.core.jobs.events import LedgerBehindFound
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.options import RetryOptions
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import (
    AttemptCleared,
    ClusterVanished,
    JobResumed,
    JobSuspended,
    SubmitterVanished,
    SuspensionPostponed,
    SuspensionStarted,
)
from tests.support.rayjob_builders import (
    JOB,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    manifest,
    poll,
    submission_of,
    submitter_gone,
)
from tests.support.rayjob_events import asked, cancelled, dropped, received, started
from tests.support.rayjob_stories import (
    failing,
    initializing,
    running,
    seen,
    succeeded,
    suspended,
    suspending,
    working,
)
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, table

SUSPEND = manifest(60, generation=2, suspend=True, finalizer=True)
RESUME = manifest(80, generation=3, finalizer=True)
GONE = (
    asked(EffectKind.DELETE_CLUSTER, cluster_of(), uid="cluster-1", generation=2),
    asked(EffectKind.DELETE_SUBMITTER, JOB, uid="submitter-1", generation=2),
)
PAUSING = (
    *working(backoff_limit=1, options=RetryOptions(delay_seconds=500)),
    *failing(),
    done(EffectKind.DELETE_SUBMITTER, 43, gone=True),
    done(EffectKind.DELETE_CLUSTER, 43),
    cluster_gone(44),
)
"""Nothing of its first attempt is left, and the retry is due later."""


@table(
    Row(
        rule="a running job that is suspended gives up its RayCluster and its submitter (T5)",
        given=working(active_deadline_seconds=600),
        when=SUSPEND,
        then=(
            received(SUSPEND),
            SuspensionStarted(at=WHEN, attempt=1),
            *GONE,
            cancelled(DecisionKind.ACTIVE_DEADLINE, "the job is Suspending, Ray says RUNNING"),
        ),
    ),
    Row(
        rule="an initializing job that is suspended gives up its RayCluster",
        given=initializing(),
        when=SUSPEND,
        then=(received(SUSPEND), SuspensionStarted(at=WHEN, attempt=1), GONE[0]),
    ),
    Row(
        rule="a cluster that is being created when the job is suspended is looked for and deleted",
        given=seen(),
        when=SUSPEND,
        then=(
            received(SUSPEND),
            SuspensionStarted(at=WHEN, attempt=1),
            dropped(EffectKind.CREATE_CLUSTER, cluster_of()),
            asked(EffectKind.DELETE_CLUSTER, cluster_of(), generation=2),
        ),
    ),
    Row(
        rule="Suspended is reached when RayCluster and submitter are gone, not before",
        given=(
            *suspending(),
            done(EffectKind.DELETE_CLUSTER, 61, uid="cluster-1"),
            done(EffectKind.DELETE_SUBMITTER, 61, uid="submitter-1"),
        ),
        when=cluster_gone(65),
        then=(ClusterVanished(at=WHEN, name=cluster_of(), uid="cluster-1", asked=True),),
    ),
    Row(
        rule="Suspended is reached with the last piece",
        given=(
            *suspending(),
            done(EffectKind.DELETE_CLUSTER, 61, uid="cluster-1"),
            done(EffectKind.DELETE_SUBMITTER, 61, uid="submitter-1"),
            cluster_gone(65),
        ),
        when=submitter_gone(66),
        then=(
            SubmitterVanished(at=WHEN, name=JOB, uid="submitter-1", asked=True),
            JobSuspended(at=WHEN, attempt=1),
        ),
    ),
    Row(
        rule="a suspension is carried through even if it is taken back meanwhile",
        given=suspending(),
        when=RESUME,
        then=(received(RESUME),),
    ),
    Row(
        rule="a resume is a whole new attempt, on the specification of now",
        given=suspended(),
        when=RESUME,
        then=(
            received(RESUME),
            JobResumed(at=WHEN),
            started(2, generation=3),
            asked(EffectKind.CREATE_CLUSTER, cluster_of(2), attempt=2, generation=3),
        ),
    ),
    Row(
        rule="an edit of a suspended job changes nothing else",
        given=suspended(),
        when=manifest(80, generation=3, suspend=True, finalizer=True, backoff_limit=2),
        then=(received(manifest(80, generation=3, suspend=True, finalizer=True, backoff_limit=2)),),
    ),
    Row(
        rule="suspend of a job that is Complete is without effect",
        given=succeeded(),
        when=SUSPEND,
        then=(received(SUSPEND),),
    ),
    Row(
        rule="suspend in Retrying takes effect when the next attempt has begun",
        given=(*working(backoff_limit=1), *failing()),
        when=SUSPEND,
        then=(received(SUSPEND), SuspensionPostponed(at=WHEN, phase="Retrying")),
    ),
    Row(
        rule="a job that is suspended in Retrying makes no cluster for the next attempt",
        given=(
            *working(backoff_limit=1),
            *failing(),
            manifest(60, generation=2, suspend=True, finalizer=True, backoff_limit=1),
            due(DecisionKind.RETRY, 61),
            done(EffectKind.DELETE_SUBMITTER, 62, gone=True),
            done(EffectKind.DELETE_CLUSTER, 62),
        ),
        when=cluster_gone(63),
        then=(
            ClusterVanished(at=WHEN, name=cluster_of(), uid="cluster-1", asked=True),
            AttemptCleared(at=WHEN, attempt=1),
            JobSuspended(at=WHEN, attempt=1),
        ),
    ),
    Row(
        rule="a job is suspended in the pause before a retry, once nothing of it is left",
        given=PAUSING,
        when=SUSPEND,
        then=(
            received(SUSPEND),
            SuspensionPostponed(at=WHEN, phase="Retrying"),
            AttemptCleared(at=WHEN, attempt=1),
            JobSuspended(at=WHEN, attempt=1),
            cancelled(DecisionKind.RETRY, "the job is Suspended, Ray says nothing"),
        ),
    ),
    Row(
        rule="resumed it begins at once: what was left of the pause is not waited for",
        given=(*PAUSING, SUSPEND),
        when=RESUME,
        then=(
            received(RESUME),
            JobResumed(at=WHEN),
            started(2, generation=3),
            asked(EffectKind.CREATE_CLUSTER, cluster_of(2), attempt=2, generation=3),
        ),
    ),
    Row(
        rule="a job that was created suspended begins attempt 1 when it is admitted",
        given=seen(suspend=True),
        when=RESUME,
        then=(
            received(RESUME),
            JobResumed(at=WHEN),
            started(1, generation=3),
            asked(EffectKind.CREATE_CLUSTER, cluster_of(1), generation=3),
        ),
    ),
    Row(
        rule="however often it is edited while it waits to be admitted",
        given=(*seen(suspend=True), manifest(30, generation=2, suspend=True, backoff_limit=3)),
        when=RESUME,
        then=(
            received(RESUME),
            JobResumed(at=WHEN),
            started(1, generation=3),
            asked(EffectKind.CREATE_CLUSTER, cluster_of(1), generation=3),
        ),
    ),
)
def test_suspension(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="while Suspending users still see what the attempt was (T5)",
        story=suspending(),
        status={
            "jobDeploymentStatus": "Suspending",
            "jobStatus": "RUNNING",
            "rayClusterName": cluster_of(),
            "jobId": submission_of(),
        },
    ),
    Outlook(
        rule="Suspended shows nothing of the attempt (T5)",
        story=suspended(),
        status={
            "jobDeploymentStatus": "Suspended",
            "jobStatus": None,
            "rayClusterName": None,
            "jobId": None,
            "dashboardURL": None,
            "rayClusterStatus": None,
            "rayJobInfo": None,
        },
        under_way=[],
        pending={},
    ),
    Outlook(
        rule="a resumed job has new names and a new start (T5)",
        story=(*suspended(), RESUME),
        status={
            "jobDeploymentStatus": "Initializing",
            "rayClusterName": cluster_of(2),
            "jobId": submission_of(2),
            "startTime": "2026-11-21T12:01:20Z",
        },
    ),
    Outlook(
        rule="a job suspended in Retrying has the start of the attempt that does not begin (3.1)",
        story=(
            *working(backoff_limit=1),
            *failing(),
            manifest(60, generation=2, suspend=True, finalizer=True, backoff_limit=1),
            due(DecisionKind.RETRY, 61),
            done(EffectKind.DELETE_SUBMITTER, 62, gone=True),
            done(EffectKind.DELETE_CLUSTER, 62),
            cluster_gone(63),
        ),
        status={
            "jobDeploymentStatus": "Suspended",
            "startTime": "2026-11-21T12:01:03Z",
        },
        under_way=[],
    ),
    Outlook(
        rule="a job suspended while it runs keeps its start",
        story=suspended(),
        status={"startTime": "2026-11-21T12:00:00Z"},
    ),
    Outlook(
        rule="a job created suspended ends up Suspended with nothing made (T6)",
        story=seen(suspend=True),
        status={
            "jobDeploymentStatus": "Suspended",
            "rayClusterName": None,
            "startTime": "2026-11-21T12:00:00Z",
        },
        under_way=[],
        facts={"attempt": None, "cluster": None, "submitter": None},
    ),
    Outlook(
        rule="failures before a suspension still count after it",
        story=(
            *working(backoff_limit=1),
            *failing(),
            manifest(60, generation=2, suspend=True, finalizer=True, backoff_limit=1),
            due(DecisionKind.RETRY, 61),
            done(EffectKind.DELETE_SUBMITTER, 62, gone=True),
            done(EffectKind.DELETE_CLUSTER, 62, gone=True),
            manifest(70, generation=3, finalizer=True, backoff_limit=1),
        ),
        status={"jobDeploymentStatus": "Initializing", "failed": 1},
        facts={"retries": 1},
    ),
    Outlook(
        rule="after Ray's SUCCEEDED a job whose submitter goes on is still suspended",
        story=(
            *running(),
            poll("SUCCEEDED", 40),
            manifest(41, generation=2, suspend=True, finalizer=True),
        ),
        status={"jobDeploymentStatus": "Suspending"},
    ),
    Outlook(
        rule="a cluster that appears after the job was suspended is an orphan and deleted",
        story=(*suspended(), cluster("", 90, uid="late")),
        under_way=[f"delete_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="one of a job that has begun no attempt says that the log has lost something",
        story=(*seen(suspend=True), cluster("", 30)),
        said=[LedgerBehindFound],
        under_way=[],
    ),
)
def test_what_suspension_leaves(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
