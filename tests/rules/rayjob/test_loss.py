"""Children that go without having been asked to, orphans, and news that comes late."""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import (
    ClusterVanished,
    EntrypointMissed,
    JobCompleted,
    OrphanClusterFound,
    OrphanClusterVanished,
    SubmitterVanished,
)
from jobledger.core.rayjob.phases import JobStatus
from tests.support.rayjob_builders import (
    ADDRESS,
    HTTP,
    INTERACTIVE,
    JOB,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    manifest,
    not_found,
    poll,
    silence,
    submission_of,
    submitter,
    submitter_gone,
)
from tests.support.rayjob_events import (
    HEAD_LOST,
    NOT_HANDED_IN,
    asked,
    cancelled,
    cluster_is,
    dropped,
    failed_for_good,
    failed_to_retry,
    ray_says,
    reached_running,
    scheduled,
)
from tests.support.rayjob_stories import (
    SELECTED,
    built,
    cleared,
    failed_attempts,
    failing,
    initializing,
    readied,
    running,
    selecting,
    working,
)
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, table

VANISHED = ClusterVanished(at=WHEN, name=cluster_of(), uid="cluster-1", asked=False)
DELETED = f"RayCluster {cluster_of()} was deleted while the job was running on it."
NO_LIMIT = "backoffLimit is 0"


@table(
    Row(
        rule="a RayCluster that is deleted before it was ready is made again",
        given=initializing(),
        when=cluster_gone(5),
        then=(VANISHED, asked(EffectKind.CREATE_CLUSTER, cluster_of())),
    ),
    Row(
        rule="a RayCluster that is deleted under a running job fails the attempt",
        given=working(),
        when=cluster_gone(40),
        then=(
            VANISHED,
            *failed_for_good("AppFailed", DELETED, NO_LIMIT, status="RUNNING", blame=HEAD_LOST),
        ),
    ),
    Row(
        rule="one that is deleted before anything was handed in is made again",
        given=running(),
        when=cluster_gone(30),
        then=(VANISHED, asked(EffectKind.CREATE_CLUSTER, cluster_of())),
    ),
    Row(
        rule="so is that of a job that waits for its user",
        given=running(submission_mode=INTERACTIVE),
        when=cluster_gone(30),
        then=(VANISHED, asked(EffectKind.CREATE_CLUSTER, cluster_of())),
    ),
    Row(
        rule="while it is made again, nothing is handed in over HTTP",
        given=(*initializing(submission_mode=HTTP), cluster("ready")),
        when=cluster_gone(30),
        then=(
            VANISHED,
            dropped(EffectKind.SUBMIT_ENTRYPOINT, submission_of(), cause="no longer wanted"),
            asked(EffectKind.CREATE_CLUSTER, cluster_of()),
        ),
    ),
    Row(
        rule="one that was selected and goes before anything was handed in is waited for",
        given=(
            *selecting(submission_mode=HTTP),
            cluster("ready", name=SELECTED, uid="shared", owned=False),
        ),
        when=cluster_gone(20, name=SELECTED, uid="shared"),
        then=(
            ClusterVanished(at=WHEN, name=SELECTED, uid="shared", asked=False),
            dropped(EffectKind.SUBMIT_ENTRYPOINT, submission_of(), cause="no longer wanted"),
            asked(EffectKind.FIND_CLUSTER, SELECTED),
        ),
    ),
    Row(
        rule="a lost RayCluster is retried within the limit; its submitter goes first",
        given=working(backoff_limit=1),
        when=cluster_gone(40),
        then=(
            VANISHED,
            *failed_to_retry(
                "AppFailed", DELETED, status="RUNNING", backoff_limit=1, due_at=40, blame=HEAD_LOST
            ),
            asked(EffectKind.DELETE_SUBMITTER, JOB, uid="submitter-1"),
            scheduled(DecisionKind.RETRY, 40, "attempt 1 failed (AppFailed)"),
        ),
    ),
    Row(
        rule="a RayCluster that is deleted after Ray's SUCCEEDED takes no success away",
        given=(*working(), poll("SUCCEEDED", 40)),
        when=cluster_gone(41),
        then=(
            VANISHED,
            JobCompleted(at=WHEN, attempt=1, job_status=JobStatus.SUCCEEDED),
            cancelled(DecisionKind.TRANSITION_GRACE, "attempt 1 has ended"),
        ),
    ),
    Row(
        rule="a submitter that somebody deletes is no end: only the Ray job tells",
        given=working(),
        when=submitter_gone(40),
        then=(SubmitterVanished(at=WHEN, name=JOB, uid="submitter-1", asked=False),),
    ),
    Row(
        rule="a job whose submitter was deleted completes with its Ray job",
        given=(*working(), submitter_gone(40)),
        when=poll("SUCCEEDED", 60, started_at=25, ended_at=59),
        then=(
            ray_says("SUCCEEDED", started_at=25, ended_at=59),
            JobCompleted(at=WHEN, attempt=1, job_status=JobStatus.SUCCEEDED),
        ),
    ),
    Row(
        rule="a submitter that was deleted before it handed anything in fails the attempt",
        given=(*running(), submitter_gone(20)),
        when=not_found(21),
        then=(
            EntrypointMissed(at=WHEN, job_id=submission_of()),
            *failed_for_good(
                "AppFailed",
                "Submitter completed but Ray job not found in RayCluster.",
                NO_LIMIT,
                blame=NOT_HANDED_IN,
            ),
        ),
    ),
    Row(
        rule="a submitter that is deleted before Running is made again",
        given=(*initializing(), cluster("ready"), submitter(deleting=True)),
        when=submitter_gone(14),
        then=(SubmitterVanished(at=WHEN, name=JOB, uid="submitter-1", asked=False),),
    ),
    Row(
        rule="a RayCluster of the job that belongs to no attempt is an orphan and deleted",
        given=running(),
        when=cluster("", 40, name="train-old", uid="old"),
        then=(
            OrphanClusterFound(at=WHEN, name="train-old", uid="old"),
            asked(EffectKind.DELETE_CLUSTER, "train-old", uid="old"),
        ),
    ),
    Row(
        rule="a second orphan does not hide the first, whose end is still waited for",
        given=(
            *running(),
            cluster("", 40, name="train-old", uid="old"),
            done(EffectKind.DELETE_CLUSTER, 41, uid="old"),
            cluster("", 42, name="train-older", uid="older"),
            done(EffectKind.DELETE_CLUSTER, 43, uid="older"),
        ),
        when=cluster_gone(45, name="train-old", uid="old"),
        then=(OrphanClusterVanished(at=WHEN, name="train-old", uid="old"),),
    ),
    Row(
        rule="an orphan that is gone is forgotten",
        given=(
            *running(),
            cluster("", 40, name="train-old", uid="old"),
            done(EffectKind.DELETE_CLUSTER, 41, uid="old"),
        ),
        when=cluster_gone(45, name="train-old", uid="old"),
        then=(OrphanClusterVanished(at=WHEN, name="train-old", uid="old"),),
    ),
    Row(
        rule="an orphan that is being deleted already is no news",
        given=running(),
        when=cluster("", 40, name="train-old", uid="old", deleting=True),
    ),
    Row(
        rule="a RayCluster of that name that belongs to somebody else is not ours",
        given=initializing()[:-1],
        when=cluster("ready", owned=False),
    ),
    Row(
        rule="a submitter of that name that belongs to somebody else is not ours",
        given=(*initializing(), cluster("ready")),
        when=submitter("Failed", owned=False),
    ),
    Row(
        rule="late news of the RayCluster of an earlier attempt is no news",
        given=failed_attempts(1, backoff_limit=1),
        when=cluster("ready", 150),
    ),
    Row(
        rule="late news of the submitter of an earlier attempt is no news",
        given=failed_attempts(1, backoff_limit=1),
        when=submitter("Failed", 150),
    ),
    Row(
        rule="a late answer about an earlier attempt is no news",
        given=failed_attempts(1, backoff_limit=1),
        when=poll("SUCCEEDED", 150),
    ),
    Row(
        rule="that a RayCluster is gone is told once",
        given=(*initializing(), cluster_gone(5)),
        when=cluster_gone(6),
    ),
    Row(
        rule="that an unknown RayCluster is gone is no news",
        given=running(),
        when=cluster_gone(30, name="train-other", uid="other"),
    ),
    Row(
        rule="an older manifest than the known one is no news",
        given=(*running(), manifest(40, generation=3, backoff_limit=2, finalizer=True)),
        when=manifest(41, generation=2, suspend=True, finalizer=True),
    ),
    Row(
        rule="a request that arrives after its attempt had ended made an orphan",
        given=failed_attempts(1, backoff_limit=1),
        when=cluster("", 150, uid="late"),
        then=(
            OrphanClusterFound(at=WHEN, name=cluster_of(1), uid="late"),
            asked(EffectKind.DELETE_CLUSTER, cluster_of(1), uid="late", attempt=2),
        ),
    ),
    Row(
        rule="a selected RayCluster is used once it is ready, whoever owns it",
        given=selecting(submission_mode=HTTP),
        when=cluster("ready", name=SELECTED, uid="shared", owned=False),
        then=(
            cluster_is("ready", name=SELECTED, uid="shared"),
            reached_running(),
            dropped(EffectKind.FIND_CLUSTER, SELECTED, cause="the watch tells of it"),
            asked(EffectKind.SUBMIT_ENTRYPOINT, submission_of(), address=ADDRESS),
        ),
    ),
    Row(
        rule="a selected RayCluster that goes before it was ready is waited for, never made",
        given=(*selecting(), cluster("", name=SELECTED, uid="shared", owned=False)),
        when=cluster_gone(20, name=SELECTED, uid="shared"),
        then=(
            ClusterVanished(at=WHEN, name=SELECTED, uid="shared", asked=False),
            asked(EffectKind.FIND_CLUSTER, SELECTED),
        ),
    ),
)
def test_loss(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="a RayCluster that was lost before it was ready does not fail the attempt later",
        story=(
            *initializing(),
            cluster_gone(5),
            done(EffectKind.CREATE_CLUSTER, 6, uid="cluster-1b"),
            cluster("ready", uid="cluster-1b"),
            done(EffectKind.CREATE_SUBMITTER, 11, uid="submitter-1"),
        ),
        status={"jobDeploymentStatus": "Running", "failed": 0},
    ),
    Outlook(
        rule="a job that waits for its user and lost its RayCluster goes on with another",
        story=(
            *running(submission_mode=INTERACTIVE),
            cluster_gone(20),
            manifest(30, generation=2, submission_mode=INTERACTIVE, job_id="mine", finalizer=True),
            done(EffectKind.CREATE_CLUSTER, 31, uid="cluster-1b"),
            cluster("ready", 40, uid="cluster-1b"),
            poll("RUNNING", 50, started_at=45, job_id="mine"),
        ),
        status={"jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "failed": 0},
    ),
    Outlook(
        rule="the silence of a head that is made again ends no job",
        story=(*running(), silence(20), cluster_gone(30)),
        status={"jobDeploymentStatus": "Running"},
        pending={},
        under_way=[f"create_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="a RayCluster that is there again takes what is to be handed in",
        story=(
            *initializing(submission_mode=HTTP),
            cluster("ready"),
            done(EffectKind.CREATE_SERVICE, 12),
            cluster_gone(30),
            done(EffectKind.CREATE_CLUSTER, 31, uid="cluster-1b"),
            cluster("ready", 40, uid="cluster-1b"),
        ),
        under_way=[f"submit_entrypoint {submission_of()}"],
    ),
    Outlook(
        rule="the next attempt does not begin before orphans are gone as well (invariant 3)",
        story=(
            *failed_attempts(1, backoff_limit=2),
            cluster("", 101, uid="late"),
            done(EffectKind.DELETE_CLUSTER, 102, name=cluster_of(1), uid="late"),
            *built(2),
            *readied(2),
            *failing(2),
            *cleared(2),
        ),
        status={"jobDeploymentStatus": "Retrying"},
        facts={"retries": 2},
    ),
    Outlook(
        rule="a retry on a selected RayCluster deletes nothing and uses it again (invariant 6)",
        story=(
            *selecting(submission_mode=HTTP, backoff_limit=1),
            cluster("ready", name=SELECTED, uid="shared", owned=False),
            done(EffectKind.SUBMIT_ENTRYPOINT, 11),
            poll("FAILED", 40),
            due(DecisionKind.RETRY, 41),
        ),
        status={"jobDeploymentStatus": "Running", "rayClusterName": SELECTED, "failed": 1},
        under_way=[f"submit_entrypoint {submission_of(2)}"],
    ),
    Outlook(
        rule="a selected RayCluster that was seen before the job was valid is known afterwards",
        story=(
            manifest(problem="bad", cluster_selector=SELECTED),
            cluster("ready", 5, name=SELECTED, uid="shared", owned=False),
            manifest(
                10,
                generation=2,
                cluster_selector=SELECTED,
                submission_mode=HTTP,
                finalizer=True,
            ),
        ),
        status={"jobDeploymentStatus": "Running", "rayClusterName": SELECTED},
    ),
    Outlook(
        rule="after the loss of the submitter the head is asked at once and the job goes on",
        story=(*working(), submitter_gone(40), poll("RUNNING", 41, started_at=25)),
        status={"jobDeploymentStatus": "Running"},
        pending={},
    ),
    Outlook(
        rule="the creation of a RayCluster that is told late finds it gone and makes another",
        story=(
            *initializing()[:-1],
            cluster(""),
            cluster_gone(11),
            done(EffectKind.CREATE_CLUSTER, 12, uid="cluster-1"),
        ),
        under_way=[f"create_cluster {cluster_of()}"],
    ),
)
def test_after_losses(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
