"""Suspend and resume: Suspended follows spec.suspend whatever Created says (2, 3.1, 3.4)."""

from core.trainjob.policy import ConditionStyle, TrainPolicy
from tests.rules.trainjob.rows import Row, check, table
from tests.support.trainjobs import (
    applied,
    completed,
    counts,
    created,
    jobset,
    manifest,
    not_built,
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
        said=["TrainJobDiscovered", "TrainJobReceived", "TrainJobSuspended", "EffectRequested"],
        conditions=[],
        phase="Suspended",
        under_way=["apply_objects"],
    ),
    Row(
        rule="it says so together with what became of its objects",
        story=[*seen(suspend=True), not_built(1)],
        conditions=["Created=False/JobsBuildFailed", SUSPENDED],
    ),
    Row(
        rule="Created stands before Suspended, though it came later",
        story=created(suspend=True),
        conditions=[TRUE, SUSPENDED],
        phase="Suspended",
        under_way=[],
    ),
    Row(
        rule="a suspended job has no attempt",
        story=[*created(suspend=True), jobset(2, suspend=True)],
        facts={"attempt": None},
        under_way=[],
    ),
    Row(
        rule="Suspended is set though the objects could not be built",
        story=[*seen(), not_built(1), manifest(5, generation=2, suspend=True)],
        conditions=["Created=False/JobsBuildFailed", SUSPENDED],
    ),
    Row(
        rule="a resume says so at once and applies the JobSet again",
        story=[*created(suspend=True), jobset(2, suspend=True), manifest(10, generation=2)],
        said=["TrainJobReceived", "TrainJobResumed", "EffectRequested"],
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
        said=["EffectSucceeded", "ObjectsApplied", "TrainAttemptStarted"],
    ),
    Row(
        rule="a running job that is suspended ends its attempt once the JobSet is suspended",
        story=[
            *running(),
            manifest(30, generation=2, suspend=True),
            applied(31, generation=2, suspend=True),
        ],
        said=["EffectSucceeded", "ObjectsApplied", "TrainAttemptEnded"],
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
        said=["JobSetObserved"],
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
        said=[],
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
        said=["EffectSucceeded", "ObjectsApplied", "TrainAttemptStarted"],
        facts={"retries": 0},
    ),
    Row(
        rule="a JobSet that somebody suspends by hand is resumed",
        story=[*running(), jobset(30, counts(), generation=2, suspend=True)],
        said=["JobSetObserved", "TrainAttemptEnded", "EffectRequested"],
        under_way=["apply_objects"],
    ),
    Row(
        rule="a JobSet that somebody edits while the job is suspended is applied again",
        story=[
            *created(suspend=True),
            jobset(2, suspend=True),
            jobset(5, suspend=True, generation=2),
        ],
        under_way=["apply_objects"],
    ),
    Row(
        rule="a JobSet that somebody edits while it runs is left alone",
        story=[*running(), jobset(30, counts(active=1, ready=1), generation=2)],
        said=["JobSetObserved"],
        under_way=[],
    ),
    Row(
        rule="a finished job that is suspended says so, and nothing else happens",
        story=[*completed(), manifest(70, generation=2, suspend=True)],
        said=["TrainJobReceived", "TrainJobSuspended"],
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
        conditions=[SUSPENDED],
    ),
    Row(
        rule="a job that was never suspended shows nothing of it",
        story=running(),
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
    played = check(Row(rule="", story=story))
    times = {item.type: item.since for item in played.state.conditions}
    assert shown(10) == times["Suspended"].strftime("%Y-%m-%dT%H:%M:%SZ")
    assert shown(1) == times["Created"].strftime("%Y-%m-%dT%H:%M:%SZ")


def test_the_runtime_is_heard_of_once() -> None:
    played = check(Row(rule="", story=[manifest(), runtime(), runtime(at=3)]))
    assert played.said == []
