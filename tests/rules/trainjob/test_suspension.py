"""Suspend and resume: Suspended follows spec.suspend whatever Created says (2, 3.1, 3.4)."""

from jobledger.core.trainjob.events import (
    RuntimePatchesWithheld,
    TrainJobDiscovered,
    TrainJobResumed,
    TrainJobSuspended,
)
from jobledger.core.trainjob.policy import ConditionStyle, TrainPolicy
from tests.rules.trainjob.rows import Row, check, table
from tests.support import trainjob_events as told
from tests.support.rows import WHEN
from tests.support.trainjobs import (
    IDENTITY,
    applied,
    completed,
    counts,
    created,
    jobset,
    manifest,
    not_built,
    play,
    running,
    runtime,
    seen,
    shown,
)

TRUE = "Created=True/JobsCreationSucceeded"
SUSPENDED, RESUMED = "Suspended=True/Suspended", "Suspended=False/Resumed"
UPSTREAM = TrainPolicy(conditions=ConditionStyle.UPSTREAM)


@table(
    Row(
        rule="a job that is born suspended is so at once, and its objects are made",
        story=[manifest(suspend=True)],
        then=[
            TrainJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest(suspend=True)),
            TrainJobSuspended(at=WHEN),
            told.requested(),
        ],
        conditions=[],
        phase="Suspended",
        under_way=["apply_objects"],
    ),
    Row(
        rule="it says so together with what became of its objects",
        story=[*seen(suspend=True), not_built(1)],
        then=[told.refused(trouble="plugin torch: no"), told.not_built("plugin torch: no")],
        conditions=["Created=False/JobsBuildFailed", SUSPENDED],
    ),
    Row(
        rule="Created stands before Suspended, though it came later",
        story=created(suspend=True),
        then=[told.done(), told.in_place(jobset_suspend=True)],
        conditions=[TRUE, SUSPENDED],
        phase="Suspended",
        under_way=[],
    ),
    Row(
        rule="a suspended job has no attempt",
        story=[*created(suspend=True), jobset(2, suspend=True)],
        then=[],
        facts={"attempt": None},
        under_way=[],
    ),
    Row(
        rule="Suspended is set though the objects could not be built",
        story=[*seen(), not_built(1), manifest(5, generation=2, suspend=True)],
        then=[
            told.received(manifest(5, generation=2, suspend=True)),
            TrainJobSuspended(at=WHEN),
            told.requested(generation=2),
        ],
        conditions=["Created=False/JobsBuildFailed", SUSPENDED],
    ),
    Row(
        rule="a resume says so at once and applies the JobSet again",
        story=[*created(suspend=True), jobset(2, suspend=True), manifest(10, generation=2)],
        then=[
            told.received(manifest(10, generation=2)),
            TrainJobResumed(at=WHEN),
            told.requested(generation=2),
        ],
        conditions=[TRUE, RESUMED],
        phase="Created",
    ),
    Row(
        rule="with the JobSet resumed the first attempt begins",
        story=[
            *created(suspend=True),
            jobset(2, suspend=True),
            manifest(10, generation=2),
            applied(11, generation=2),
        ],
        then=[
            told.done(),
            told.in_place(generation=2, jobset_generation=2),
            told.started(generation=2),
        ],
    ),
    Row(
        rule="a running job that is suspended ends its attempt once the JobSet is suspended",
        story=[
            *running(),
            manifest(30, generation=2, suspend=True),
            applied(31, generation=2, suspend=True),
        ],
        then=[
            told.done(),
            told.in_place(generation=2, jobset_generation=2, jobset_suspend=True),
            told.ended("suspended"),
        ],
        conditions=[TRUE, SUSPENDED],
        phase="Suspended",
    ),
    Row(
        rule="Jobs that go after a suspension are shown",
        story=[
            *running(),
            manifest(30, generation=2, suspend=True),
            applied(31, generation=2, suspend=True),
            jobset(33, counts(suspended=1), generation=2, suspend=True),
        ],
        then=[told.observed(counts(suspended=1), generation=2, suspend=True)],
        facts={"jobs": (counts(suspended=1),)},
    ),
    Row(
        rule="a look at the JobSet that is older than the apply is no news",
        story=[
            *running(),
            manifest(30, generation=2, suspend=True),
            applied(31, generation=2, suspend=True),
            jobset(32, counts(active=1, ready=1), generation=1),
        ],
        then=[],
    ),
    Row(
        rule="a resumed job is in its second attempt",
        story=[
            *running(),
            manifest(30, generation=2, suspend=True),
            applied(31, generation=2, suspend=True),
            manifest(40, generation=3),
            applied(41, generation=3),
        ],
        then=[
            told.done(),
            told.in_place(generation=3, jobset_generation=3),
            told.started(2, cause="resumed", generation=3),
        ],
        facts={"retries": 0},
    ),
    Row(
        rule="resumed while it is applied as suspended, however often before: resumed at once",
        story=[
            *created(suspend=True),
            jobset(2, suspend=True),
            *(
                step
                for generation in (2, 3)
                for step in (
                    manifest(10 * generation, generation=generation, suspend=True),
                    applied(10 * generation + 1, generation=generation, suspend=True),
                )
            ),
            manifest(40, generation=4, suspend=True),
            manifest(41, generation=5),
            applied(42, generation=4, suspend=True),
        ],
        then=[
            told.done(),
            told.in_place(generation=4, jobset_generation=4, jobset_suspend=True),
            told.requested(generation=5),
        ],
        conditions=[TRUE, RESUMED],
        under_way=["apply_objects"],
        pending={},
    ),
    Row(
        rule="a JobSet that somebody suspends by hand is resumed",
        story=[*running(), jobset(30, counts(), generation=2, suspend=True)],
        then=[
            told.observed(counts(), generation=2, suspend=True),
            told.ended("suspended"),
            told.requested(attempt=1),
        ],
        under_way=["apply_objects"],
    ),
    Row(
        rule="a JobSet that somebody edits while the job is suspended is applied again",
        story=[
            *created(suspend=True),
            jobset(2, suspend=True),
            jobset(5, suspend=True, generation=2),
        ],
        then=[told.observed(generation=2, suspend=True), told.requested()],
        under_way=["apply_objects"],
    ),
    Row(
        rule="a JobSet that somebody edits while it runs is left alone",
        story=[*running(), jobset(30, counts(active=1, ready=1), generation=2)],
        then=[told.observed(counts(ready=1, active=1), generation=2)],
        under_way=[],
    ),
    Row(
        rule="a finished job that is suspended says so, and nothing else happens",
        story=[*completed(), manifest(70, generation=2, suspend=True)],
        then=[told.received(manifest(70, generation=2, suspend=True)), TrainJobSuspended(at=WHEN)],
        conditions=[TRUE, SUSPENDED, "Complete=True/AllJobsCompleted"],
        under_way=[],
        phase="Complete",
    ),
    Row(
        rule="in the setting upstream Suspended stands where it was first set: last",
        story=[
            *seen(policy=UPSTREAM),
            applied(1),
            jobset(60, counts(succeeded=1), end=None),
            manifest(70, generation=2, suspend=True, policy=UPSTREAM),
        ],
        then=[
            told.received(manifest(70, generation=2, suspend=True, policy=UPSTREAM)),
            TrainJobSuspended(at=WHEN),
            told.requested(attempt=1, generation=2),
        ],
        conditions=[SUSPENDED],
    ),
    Row(
        rule="a job that was never suspended shows nothing of it",
        story=running(),
        then=[told.observed(counts(ready=1, active=1))],
        conditions=[TRUE],
        phase="Running",
    ),
)
def test_suspension(row: Row) -> None:
    check(row)


def test_the_time_of_a_condition_is_that_of_its_last_flip() -> None:
    story = [
        *seen(suspend=True),
        applied(1, suspend=True),
        manifest(5, generation=2, suspend=True),
        manifest(10, generation=3),
    ]
    played = play(story)
    times = {item.type: item.since for item in played.state.conditions}
    assert shown(10) == times["Suspended"].strftime("%Y-%m-%dT%H:%M:%SZ")
    assert shown(1) == times["Created"].strftime("%Y-%m-%dT%H:%M:%SZ")


def test_the_runtime_is_heard_of_once() -> None:
    played = play([manifest(), runtime(), runtime(at=3)])
    assert played.said == []


@table(
    Row(
        rule="other runtimePatches on a running job are withheld",
        story=[*running(), manifest(40, generation=2, patches="p")],
        then=[
            told.received(manifest(40, generation=2, patches="p")),
            RuntimePatchesWithheld(at=WHEN, generation=2, digest="digest-2"),
        ],
        under_way=[],
    ),
    Row(
        rule="they come into force with a suspension",
        story=[
            *running(),
            manifest(40, generation=2, patches="p"),
            manifest(50, generation=3, patches="p", suspend=True),
        ],
        then=[
            told.received(manifest(50, generation=3, patches="p", suspend=True)),
            TrainJobSuspended(at=WHEN),
            told.requested(attempt=1, generation=3),
        ],
        under_way=["apply_objects"],
    ),
    Row(
        rule="with a suspension in the same edit they are in force at once",
        story=[*running(), manifest(40, generation=2, patches="p", suspend=True)],
        then=[
            told.received(manifest(40, generation=2, patches="p", suspend=True)),
            TrainJobSuspended(at=WHEN),
            told.requested(attempt=1, generation=2),
        ],
        under_way=["apply_objects"],
    ),
)
def test_patches_of_a_running_job(row: Row) -> None:
    check(row)
