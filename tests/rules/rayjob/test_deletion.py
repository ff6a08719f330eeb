"""Deletion of the RayJob object (scenario i): stop once, then let go, then gone."""

from msgspec.structs import replace

from jobledger.core.jobs.events import EffectFailed
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.ending import is_open
from jobledger.core.rayjob.events.lifecycle import DeletionStarted, JobDeleted
from tests.support.rayjob_builders import (
    ADDRESS,
    after,
    cluster,
    cluster_of,
    done,
    due,
    faltered,
    manifest,
    manifest_gone,
    named,
    poll,
    refused,
    submission_of,
    submitter,
)
from tests.support.rayjob_events import asked, cancelled, did, dropped, received
from tests.support.rayjob_stories import (
    failing,
    initializing,
    running,
    seen,
    succeeded,
    suspended,
    working,
)
from tests.support.rows import THIS_EFFECT, WHEN, Outlook, Row, check, check_outlook, play, table

STOP, LET_GO = EffectKind.STOP_ENTRYPOINT, EffectKind.REMOVE_FINALIZER
LEAVING = manifest(60, generation=2, finalizer=True, deleting=True)
STARTED = DeletionStarted(at=after(60))
STOPPED = asked(STOP, submission_of(), address=ADDRESS, generation=2)
RELEASED = asked(LET_GO, generation=2)
DELETED = JobDeleted(at=WHEN)
GONE = (*working(), LEAVING, done(STOP, 61), done(LET_GO, 62), manifest_gone())
BACK = manifest(950, generation=3, finalizer=True, deleting=True)
AS_BEFORE = named(replace(LEAVING, at=after(950)))


@table(
    Row(
        rule="the Ray job of a running job is stopped before the object goes (scenario i)",
        given=working(),
        when=LEAVING,
        then=(received(LEAVING), STARTED, STOPPED),
    ),
    Row(
        rule="deadlines end with the wish to delete",
        given=working(active_deadline_seconds=600),
        when=LEAVING,
        then=(
            received(LEAVING),
            STARTED,
            STOPPED,
            cancelled(DecisionKind.ACTIVE_DEADLINE, "the RayJob is being deleted"),
        ),
    ),
    Row(
        rule="once stopped, the object is let go",
        given=(*working(), LEAVING),
        when=done(STOP, 61),
        then=(did(STOP, submission_of()), RELEASED),
    ),
    Row(
        rule="a stop that fails is not repeated: a dead head must not hold the object (scenario i)",
        given=(*working(), LEAVING),
        when=refused(STOP, 61, "no route"),
        then=(
            EffectFailed(
                at=WHEN,
                effect_id=THIS_EFFECT,
                kind=STOP,
                name=submission_of(),
                trouble="no route",
            ),
            RELEASED,
        ),
    ),
    Row(
        rule="a job that never ran is let go at once",
        given=initializing(),
        when=LEAVING,
        then=(received(LEAVING), STARTED, RELEASED),
    ),
    Row(
        rule="a creation under way is dropped: the object's owner references clean up",
        given=seen(),
        when=LEAVING,
        then=(
            received(LEAVING),
            STARTED,
            dropped(EffectKind.CREATE_CLUSTER, cluster_of()),
            RELEASED,
        ),
    ),
    Row(
        rule="a job that has ended is let go at once",
        given=succeeded(),
        when=LEAVING,
        then=(received(LEAVING), STARTED, RELEASED),
    ),
    Row(
        rule="a job whose Ray job has ended needs no stop",
        given=(*working(), poll("SUCCEEDED", 40)),
        when=LEAVING,
        then=(
            received(LEAVING),
            STARTED,
            RELEASED,
            cancelled(DecisionKind.TRANSITION_GRACE, "the RayJob is being deleted"),
        ),
    ),
    Row(
        rule="an object that is gone ends the stream",
        given=(*working(), LEAVING, done(STOP, 61), done(LET_GO, 62)),
        when=manifest_gone(),
        then=(DELETED,),
    ),
    Row(
        rule="an object that goes without asking takes all that was under way with it",
        given=seen(active_deadline_seconds=60),
        when=manifest_gone(),
        then=(
            DELETED,
            dropped(EffectKind.CREATE_CLUSTER, cluster_of()),
            cancelled(DecisionKind.ACTIVE_DEADLINE, "the RayJob is being deleted"),
        ),
    ),
    Row(
        rule="a creation whose RayCluster was seen is not waited for once the object is gone",
        given=(*seen(), cluster("")),
        when=manifest_gone(),
        then=(DELETED, dropped(EffectKind.CREATE_CLUSTER, cluster_of())),
    ),
    Row(
        rule="that an object is gone is told once",
        given=(*working(), manifest_gone()),
        when=manifest_gone(901),
    ),
    Row(rule="that an unknown object is gone is no news", when=manifest_gone()),
    Row(
        rule="after the end of the stream nothing is news",
        given=(*working(), manifest_gone()),
        when=LEAVING,
    ),
    Row(
        rule="nor is an object that is back, as after a restore of etcd, unless it is to go",
        given=GONE,
        when=manifest(950, generation=3, finalizer=True),
    ),
    Row(
        rule="one that is back and is to go is let go, or it would wait for its finalizer for ever",
        given=GONE,
        when=BACK,
        then=(received(BACK), asked(LET_GO, generation=3)),
    ),
    Row(
        rule="so is one that is back just as it was last known",
        given=(*working(), LEAVING, done(STOP, 61), manifest_gone()),
        when=AS_BEFORE,
        then=(received(AS_BEFORE, document=False), asked(LET_GO, generation=2)),
    ),
    Row(
        rule="but not for each time that it is shown so",
        given=(*working(), LEAVING, done(STOP, 61), manifest_gone(), AS_BEFORE),
        when=named(replace(LEAVING, at=after(951))),
    ),
    Row(
        rule="one that waits for no finalizer of ours just goes",
        given=GONE,
        when=manifest(950, generation=3, deleting=True),
    ),
    Row(
        rule="of one that was back it is told once more that it is gone",
        given=(*GONE, BACK, done(LET_GO, 951)),
        when=manifest_gone(952),
        then=(DELETED,),
    ),
    Row(
        rule="and with it goes what was under way",
        given=(*GONE, BACK),
        when=manifest_gone(952),
        then=(DELETED, dropped(LET_GO, "rayjob")),
    ),
)
def test_deletion(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="nothing of the job's own life goes on while it is being deleted",
        story=(*working(backoff_limit=3), LEAVING, *failing()),
        status={"jobDeploymentStatus": "Running", "failed": 0},
        under_way=[f"stop_entrypoint {submission_of()}"],
    ),
    Outlook(
        rule="a suspended job is let go at once",
        story=(*suspended(), manifest(80, generation=3, finalizer=True, deleting=True)),
        under_way=["remove_finalizer rayjob"],
    ),
    Outlook(
        rule="a job without our finalizer just goes",
        story=(*running(), manifest(60, generation=2, deleting=True)),
        under_way=[],
    ),
    Outlook(
        rule="a finalizer whose removal is refused is tried again",
        story=(
            *initializing(),
            LEAVING,
            refused(LET_GO, 61),
            due(DecisionKind.EFFECT_RETRY),
        ),
        under_way=["remove_finalizer rayjob"],
    ),
    Outlook(
        rule="trouble with the stop holds nothing up but the stop itself",
        story=(*working(), LEAVING, faltered(STOP, 61), submitter("Complete", 62)),
        under_way=[f"stop_entrypoint {submission_of()}"],
    ),
)
def test_leaving(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def test_a_job_is_open_until_its_object_is_gone() -> None:
    played = play(RAYJOB, (*succeeded(), LEAVING, done(LET_GO, 61)))
    assert is_open(played.state)
    played.take(manifest_gone())
    assert not is_open(played.state)
    assert played.state.effects == ()
    assert played.state.decisions == ()
