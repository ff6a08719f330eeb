"""What has no place in the present attempt: made late, or put in the place of another object."""

from msgspec.structs import replace

from jobledger.core.jobs.events import EffectSuperseded
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.retry import Blame
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import (
    ClusterVanished,
    OrphanClusterFound,
    OrphanClusterVanished,
    SubmitterObserved,
    SubmitterVanished,
)
from jobledger.core.rayjob.observations.observations import SubmitterGone, SubmitterSeen
from tests.support.rayjob_builders import (
    ADDRESS,
    HTTP,
    JOB,
    UNNAMED,
    after,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    manifest,
    named,
    outdated,
    submitter,
    submitter_gone,
)
from tests.support.rayjob_events import asked, cluster_is, failed_for_good
from tests.support.rayjob_stories import (
    SELECTED,
    Story,
    built,
    failed_attempts,
    initializing,
    selecting,
    succeeded,
    suspended,
    working,
)
from tests.support.rows import THIS_EFFECT, WHEN, Outlook, Row, check, check_outlook, table

VANISHED = ClusterVanished(at=WHEN, name=cluster_of(), uid="cluster-1", asked=False)
DELETED = f"RayCluster {cluster_of()} was deleted while the job was running on it."
NO_LIMIT = "backoffLimit is 0"
LOST = Blame(FailureClass.HEAD_LOST)
CREATE, DELETE = EffectKind.CREATE_CLUSTER, EffectKind.DELETE_CLUSTER
ANOTHER = cluster("ready", 40, uid="another")


def beside_a_orphan() -> Story:
    """Return a job whose second RayCluster was asked for when that of the first was found."""
    return (
        *failed_attempts(1, backoff_limit=1),
        cluster("", 150, uid="late"),
        done(DELETE, 151, name=cluster_of(1), uid="late"),
    )


def made_for(attempt: int, at: float, outcome: str = "") -> SubmitterSeen:
    """Return a look at a submitter that says for which attempt it was made."""
    return named(replace(submitter(outcome, at, uid="late"), attempt=attempt))


def late_one_gone(at: float) -> SubmitterGone:
    """Return that this submitter is gone."""
    return named(SubmitterGone(id=UNNAMED, at=after(at), name=JOB, uid="late"))


@table(
    Row(
        rule="while an orphan is there no other RayCluster is asked for (invariant 3)",
        given=beside_a_orphan(),
        when=outdated(CREATE, 152),
        then=(
            EffectSuperseded(
                at=WHEN,
                effect_id=THIS_EFFECT,
                kind=CREATE,
                name=cluster_of(2),
                cause="the specification has changed since",
                sent=False,
            ),
        ),
    ),
    Row(
        rule="it is asked for when the orphan is gone",
        given=(
            *beside_a_orphan(),
            manifest(151, generation=2, backoff_limit=1),
            outdated(CREATE, 152),
        ),
        when=cluster_gone(160, uid="late"),
        then=(
            OrphanClusterVanished(at=WHEN, name=cluster_of(1), uid="late"),
            asked(CREATE, cluster_of(2), attempt=2, generation=2),
        ),
    ),
    Row(
        rule="a RayCluster with the name of the known one is not taken for it, and deleted",
        given=working(submission_mode=HTTP),
        when=ANOTHER,
        then=(
            OrphanClusterFound(at=WHEN, name=cluster_of(), uid="another"),
            asked(DELETE, cluster_of(), uid="another"),
        ),
    ),
    Row(
        rule="the attempt is lost once it is told that the known one is gone",
        given=(*working(submission_mode=HTTP), ANOTHER, done(DELETE, 41, uid="another")),
        when=cluster_gone(42),
        then=(
            VANISHED,
            *failed_for_good("AppFailed", DELETED, NO_LIMIT, status="RUNNING", blame=LOST),
        ),
    ),
    Row(
        rule="while it is being deleted it is not taken for the attempt's, though that has gone",
        given=(*initializing(), ANOTHER, cluster_gone(42)),
        when=cluster("ready", 43, uid="another"),
    ),
    Row(
        rule="another RayCluster in the place of a selected one is nobody's to delete",
        given=(
            *selecting(submission_mode=HTTP),
            cluster("ready", name=SELECTED, uid="shared", owned=False),
        ),
        when=cluster("ready", 40, name=SELECTED, uid="another", owned=False),
    ),
    Row(
        rule="nor is it after the job selects none any more, whoever its controller is",
        given=(
            *selecting(submission_mode=HTTP),
            cluster("ready", name=SELECTED, uid="shared", owned=False),
            manifest(30, generation=2, submission_mode=HTTP),
        ),
        when=cluster("ready", 40, name=SELECTED, uid="another"),
    ),
    Row(
        rule="a submitter that was made late for an attempt that is over is deleted",
        given=suspended(),
        when=made_for(1, 80),
        then=(
            SubmitterObserved(at=WHEN, name=JOB, uid="late", orphan=True),
            asked(EffectKind.DELETE_SUBMITTER, JOB, uid="late", generation=2),
        ),
    ),
    Row(
        rule="it is not taken for the one of the present attempt, which has the same name",
        given=(*failed_attempts(1, backoff_limit=1), *built(2)),
        when=made_for(1, 150, "Failed"),
        then=(
            SubmitterObserved(at=WHEN, name=JOB, uid="late", orphan=True),
            asked(EffectKind.DELETE_SUBMITTER, JOB, uid="late", attempt=2),
        ),
    ),
    Row(
        rule="a submitter that does not say for which attempt it was made is the present one's",
        given=(*failed_attempts(1, backoff_limit=1), *built(2)),
        when=submitter("", 150, attempt=2),
        then=(SubmitterObserved(at=WHEN, name=JOB, uid="submitter-2"),),
    ),
    Row(
        rule="while it is there no other submitter is asked for",
        given=(*failed_attempts(1, backoff_limit=1), *built(2), made_for(1, 150)),
        when=cluster("ready", 160, attempt=2),
        then=(cluster_is("ready", attempt=2),),
    ),
    Row(
        rule="when it is gone the submitter of the present attempt is made",
        given=(
            *failed_attempts(1, backoff_limit=1),
            *built(2),
            made_for(1, 150),
            cluster("ready", 160, attempt=2),
            done(EffectKind.DELETE_SUBMITTER, 161, uid="late"),
        ),
        when=late_one_gone(170),
        then=(
            SubmitterVanished(at=WHEN, name=JOB, uid="late", asked=True),
            asked(EffectKind.CREATE_SUBMITTER, JOB, attempt=2, address=ADDRESS),
        ),
    ),
)
def test_other_objects(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="an older RayCluster of its name, told late, does the attempt no harm",
        story=(
            *working(submission_mode=HTTP),
            cluster("", 40, uid="older"),
            done(DELETE, 41, uid="older", gone=True),
        ),
        status={"jobDeploymentStatus": "Running"},
        under_way=[],
        facts={"orphans": ()},
    ),
    Outlook(
        rule="before anything ran another in its place is deleted, and ours made again",
        story=(
            *initializing(submission_mode=HTTP),
            ANOTHER,
            cluster_gone(41),
            cluster_gone(45, uid="another"),
            done(DELETE, 46, name=cluster_of(), uid="another"),
        ),
        status={"jobDeploymentStatus": "Initializing"},
        under_way=[f"create_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="a suspended job rests when the late submitter is gone",
        story=(
            *suspended(),
            made_for(1, 80),
            done(EffectKind.DELETE_SUBMITTER, 81, uid="late", gone=True),
        ),
        status={"jobDeploymentStatus": "Suspended"},
        under_way=[],
        facts={"orphan_submitter": None},
    ),
    Outlook(
        rule="a submitter that was seen to go before it was lost holds up no retry",
        story=(
            *working(backoff_limit=1),
            submitter("", 40, deleting=True),
            submitter_gone(41),
            cluster_gone(42),
            due(DecisionKind.RETRY, 43),
        ),
        status={"jobDeploymentStatus": "Retrying"},
        under_way=[f"delete_submitter {JOB}"],
    ),
    Outlook(
        rule="what the retry asks to go is not lost",
        story=failed_attempts(1, backoff_limit=1),
        facts={"lost_children": False},
    ),
    Outlook(
        rule="a RayCluster that goes while that of an earlier attempt is deleted here is lost",
        story=(
            *failed_attempts(1, backoff_limit=1),
            cluster("", 150, uid="late"),
            cluster("ready", 152, attempt=2, deleting=True),
        ),
        facts={"lost_children": True},
    ),
    Outlook(
        rule="a RayCluster that was found to have gone before it was deleted here is lost",
        story=(
            *failed_attempts(1, backoff_limit=1),
            cluster("", 150, uid="late"),
            done(DELETE, 151, name=cluster_of(1), uid="late", gone=True),
        ),
        facts={"lost_children": True},
    ),
    Outlook(
        rule="the submitter of a job that has ended is kept, whenever it was made",
        story=(*succeeded(), made_for(2, 80)),
        under_way=[],
        facts={"orphan_submitter": None},
    ),
)
def test_what_becomes_of_them(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
