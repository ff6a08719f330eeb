"""How a TrainJob ends: copies of the JobSet's end, the deadline, deletion (2, 3.2, 3.5)."""

from typing import Any

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.events import ObservationGapFound, StatusPublished
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.events import (
    TrainJobAdopted,
    TrainJobDeleted,
    TrainJobDeletionStarted,
    TrainJobDiscovered,
    TrainJobResumed,
    TrainJobSuspended,
)
from jobledger.core.trainjob.observations import JobCounts, SeenTrainStatus, TrainJobSeen
from jobledger.core.trainjob.spec import read_spec
from jobledger.core.trainjob.state import is_open
from jobledger.core.trainjob.status.status import status
from jobledger.core.values.durations import SECONDS_MAX
from jobledger.core.values.instants import LAST
from tests.rules.trainjob.rows import Row, check, table
from tests.support import trainjob_events as told
from tests.support.rows import WHEN
from tests.support.trainjobs import (
    COMPLETED_MESSAGE,
    FAILED_MESSAGE,
    IDENTITY,
    after,
    applied,
    completed,
    completed_end,
    counts,
    created,
    delete_refused,
    deleted,
    due,
    failed_end,
    interrupted,
    jobset,
    jobset_gone,
    manifest,
    manifest_gone,
    message,
    named,
    not_created,
    play,
    running,
    runtime,
    seen,
    snapshot_gone,
    written,
)

TRUE = "Created=True/JobsCreationSucceeded"
COMPLETE = "Complete=True/AllJobsCompleted"
DEADLINE = DecisionKind.ACTIVE_DEADLINE
TOO_LATE = "TrainJob exceeded its active deadline"
EXCEEDED = "Failed=True/DeadlineExceeded"
ENDED = SeenTrainStatus(
    conditions=(
        Condition(
            type="Failed", is_true=True, reason="FailedJobs", message="no", since=after(-100)
        ),
    ),
    jobs=(counts(failed=1),),
)
RAN = SeenTrainStatus(jobs=(counts(active=1),))
MADE = SeenTrainStatus(
    conditions=(
        Condition(type="Created", is_true=True, reason="Made", message="x", since=after(-100)),
    )
)


def leaving(at: float = 30, **spec: Any) -> TrainJobSeen:  # noqa: ANN401 as `manifest` takes it
    """Return a look at a TrainJob that is being deleted since 30 s."""
    return named(replace(manifest(at, **spec), deleting_at=after(30)))


@table(
    Row(
        rule="a JobSet that completed is the end",
        story=completed(),
        then=[
            told.observed(counts(succeeded=1), end=completed_end()),
            told.ended("succeeded", reason="AllJobsCompleted", message=COMPLETED_MESSAGE),
            told.complete(),
        ],
        conditions=[TRUE, COMPLETE],
        phase="Complete",
        under_way=[],
        pending={},
        facts={"succeeded": 1, "failed": 0},
    ),
    Row(
        rule="a JobSet that failed is the end",
        story=[*running(), jobset(60, counts(failed=1), end=failed_end())],
        then=[
            told.observed(counts(failed=1), end=failed_end()),
            told.ended(
                "failed",
                reason="FailedJobs",
                message=FAILED_MESSAGE,
            ),
            told.failed(
                "FailedJobs",
                message=FAILED_MESSAGE,
                ended_at=after(60),
            ),
        ],
        conditions=[TRUE, "Failed=True/FailedJobs"],
        phase="Failed",
        facts={"failed": 1},
    ),
    Row(
        rule="counters alone end nothing",
        story=[*running(), jobset(60, counts(succeeded=1))],
        then=[told.observed(counts(succeeded=1))],
        conditions=[TRUE],
        phase="Created",
    ),
    Row(
        rule="the first end wins",
        story=[*completed(), jobset(70, counts(failed=1), end=failed_end(70))],
        then=[told.observed(counts(failed=1), end=failed_end(70))],
        conditions=[TRUE, COMPLETE],
        phase="Complete",
    ),
    Row(
        rule="after the end counters are still shown",
        story=[
            *running(),
            jobset(60, counts(failed=1, active=1), end=failed_end()),
            jobset(65, counts(failed=1), end=failed_end()),
        ],
        then=[told.observed(counts(failed=1), end=failed_end())],
        facts={"jobs": (counts(failed=1),)},
    ),
    Row(
        rule="a JobSet that goes after the end leaves everything as it is",
        story=[*completed(), jobset_gone(80)],
        then=[told.vanished()],
        conditions=[TRUE, COMPLETE],
        under_way=[],
        facts={"jobs": (counts(succeeded=1),)},
    ),
    Row(
        rule="a snapshot that goes after the end is no news",
        story=[*completed(), snapshot_gone(80)],
        then=[],
    ),
    Row(
        rule="an edit after the end builds nothing",
        story=[*completed(), manifest(80, generation=2)],
        then=[told.received(manifest(80, generation=2))],
        under_way=[],
    ),
    Row(
        rule="a JobSet that restarts ends one attempt and begins the next",
        story=[*running(), jobset(30, counts(active=1), restarts=1)],
        then=[
            told.observed(counts(active=1), restarts=1),
            told.ended(
                "failed",
                reason="JobSetRestarted",
                message="the JobSet was restarted (1 times so far)",
            ),
            told.started(2, cause="restarted", restarts=1),
        ],
        facts={"retries": 1, "failed": 1},
    ),
    Row(
        rule="the deadline counts from the creation of the object",
        story=running(active_deadline_seconds=100),
        then=[told.observed(counts(ready=1, active=1))],
        pending={"active_deadline": 100},
    ),
    Row(
        rule="a suspended job has no deadline",
        story=created(suspend=True, active_deadline_seconds=100),
        then=[told.done(), told.in_place(jobset_suspend=True)],
        pending={},
    ),
    Row(
        rule="each resume starts the deadline anew",
        story=[
            *created(suspend=True, active_deadline_seconds=100),
            manifest(50, generation=2, active_deadline_seconds=100),
        ],
        then=[
            told.received(manifest(50, generation=2, active_deadline_seconds=100)),
            TrainJobResumed(at=WHEN),
            told.requested(generation=2),
            told.scheduled(
                DecisionKind.ACTIVE_DEADLINE, after(150), cause="activeDeadlineSeconds 100"
            ),
        ],
        pending={"active_deadline": 150},
    ),
    Row(
        rule="a deadline of 0 is none",
        story=running(active_deadline_seconds=0),
        then=[told.observed(counts(ready=1, active=1))],
        pending={},
    ),
    Row(
        rule="a deadline of one second is one",
        story=running(active_deadline_seconds=1),
        then=[told.observed(counts(ready=1, active=1))],
        pending={"active_deadline": 1},
    ),
    Row(
        rule="a deadline that passes fails the job and deletes the JobSet",
        story=[*running(active_deadline_seconds=100), due(DEADLINE)],
        then=[
            told.fired(DecisionKind.ACTIVE_DEADLINE, after(100)),
            told.ended("failed", reason="DeadlineExceeded", message=TOO_LATE),
            told.failed(
                "DeadlineExceeded",
                message=TOO_LATE,
                ended_at=after(100),
            ),
            told.requested(EffectKind.DELETE_JOBSET, attempt=1, uid="jobset-1"),
        ],
        conditions=[TRUE, EXCEEDED],
        phase="Failed",
        under_way=["delete_jobset"],
    ),
    Row(
        rule="a JobSet whose end somebody took away stays, if no deadline has passed",
        story=[*completed(), jobset(70, counts(active=1))],
        then=[told.observed(counts(active=1))],
        conditions=[TRUE, COMPLETE],
        under_way=[],
        facts={"doomed": False},
    ),
    Row(
        rule="a deadline passes though the objects were never created",
        story=[*seen(active_deadline_seconds=100), not_created(1), due(DEADLINE)],
        then=[
            told.fired(DecisionKind.ACTIVE_DEADLINE, after(100)),
            told.failed(
                "DeadlineExceeded",
                message=TOO_LATE,
                ended_at=after(100),
            ),
            told.requested(EffectKind.DELETE_JOBSET),
            told.cancelled(DecisionKind.EFFECT_RETRY, cause="the job is Failed"),
        ],
        conditions=["Created=False/JobsCreationFailed", EXCEEDED],
        under_way=["delete_jobset"],
        pending={},
    ),
    Row(
        rule="and once it is known that there is no JobSet, nothing is left to do",
        story=[*seen(active_deadline_seconds=100), not_created(1), due(DEADLINE), deleted()],
        then=[told.done(EffectKind.DELETE_JOBSET)],
        under_way=[],
        facts={"doomed": False},
    ),
    Row(
        rule="an apply that is under way when the deadline passes is dropped, and looked for",
        story=[*seen(active_deadline_seconds=100), due(DEADLINE)],
        then=[
            told.fired(DecisionKind.ACTIVE_DEADLINE, after(100)),
            told.failed(
                "DeadlineExceeded",
                message=TOO_LATE,
                ended_at=after(100),
            ),
            told.dropped(cause="no longer wanted"),
            told.requested(EffectKind.DELETE_JOBSET),
        ],
        under_way=["delete_jobset"],
    ),
    Row(
        rule="a JobSet that goes before its deletion is told as done was asked to go",
        story=[*running(active_deadline_seconds=100), due(DEADLINE), jobset_gone(101)],
        then=[told.vanished(asked=True)],
        under_way=["delete_jobset"],
    ),
    Row(
        rule="a JobSet that was made meanwhile is deleted too, after the one before it",
        story=[
            *running(active_deadline_seconds=100),
            due(DEADLINE),
            jobset(101, uid="jobset-again"),
            deleted(102),
        ],
        then=[
            told.done(EffectKind.DELETE_JOBSET),
            told.requested(EffectKind.DELETE_JOBSET, attempt=1, uid="jobset-again"),
        ],
        under_way=["delete_jobset"],
    ),
    Row(
        rule="a deletion that is refused is tried again until it is done",
        story=[*running(active_deadline_seconds=100), due(DEADLINE), delete_refused(101)],
        then=[
            told.refused(EffectKind.DELETE_JOBSET, trouble="jobsets is forbidden"),
            told.scheduled(
                DecisionKind.EFFECT_RETRY,
                after(111),
                cause="delete_jobset was refused: jobsets is forbidden",
                attempt=1,
                subject="delete_jobset/train",
            ),
        ],
        under_way=[],
        pending={"effect_retry": 111},
    ),
    Row(
        rule="and then it is over",
        story=[
            *running(active_deadline_seconds=100),
            due(DEADLINE),
            delete_refused(101),
            due(DecisionKind.EFFECT_RETRY),
            deleted(112),
            jobset_gone(113),
        ],
        then=[told.vanished(asked=True)],
        under_way=[],
        pending={},
        conditions=[TRUE, EXCEEDED],
    ),
    Row(
        rule="a JobSet's own failure does not replace DeadlineExceeded",
        story=[
            *running(active_deadline_seconds=100),
            due(DEADLINE),
            jobset(102, counts(failed=1), end=failed_end(102)),
        ],
        then=[told.observed(counts(failed=1), end=failed_end(102))],
        conditions=[TRUE, EXCEEDED],
    ),
    Row(
        rule="a JobSet that completed before the deadline was judged has completed",
        story=[
            *running(active_deadline_seconds=100),
            jobset(130, counts(succeeded=1), end=completed_end(90)),
        ],
        then=[
            told.observed(counts(succeeded=1), end=completed_end(90)),
            told.ended("succeeded", reason="AllJobsCompleted", message=COMPLETED_MESSAGE),
            told.complete(ended_at=after(90)),
            told.cancelled(DecisionKind.ACTIVE_DEADLINE, cause="the job is Complete"),
        ],
        conditions=[TRUE, COMPLETE],
        pending={},
    ),
    Row(
        rule="an object that is being deleted, and that a finalizer holds, keeps its deadline",
        story=[*running(active_deadline_seconds=100), leaving(active_deadline_seconds=100)],
        then=[
            told.received(leaving(active_deadline_seconds=100), document=False),
            TrainJobDeletionStarted(at=WHEN),
        ],
        under_way=[],
        pending={"active_deadline": 100},
    ),
    Row(
        rule="and when it passes, its JobSet is deleted",
        story=[
            *running(active_deadline_seconds=100),
            leaving(active_deadline_seconds=100),
            due(DEADLINE),
        ],
        then=[
            told.fired(DecisionKind.ACTIVE_DEADLINE, after(100)),
            told.ended("failed", reason="DeadlineExceeded", message=TOO_LATE),
            told.failed("DeadlineExceeded", message=TOO_LATE, ended_at=after(100)),
            told.requested(EffectKind.DELETE_JOBSET, attempt=1, uid="jobset-1"),
        ],
        conditions=[TRUE, EXCEEDED],
        under_way=["delete_jobset"],
    ),
    Row(
        rule="what was refused before is not tried again: nothing is made any more",
        story=[*seen(), not_created(1), leaving()],
        then=[
            told.received(leaving(), document=False),
            TrainJobDeletionStarted(at=WHEN),
            told.cancelled(DecisionKind.EFFECT_RETRY, cause="the TrainJob is being deleted"),
        ],
        under_way=[],
        pending={},
    ),
    Row(
        rule="it is still suspended, if somebody wants it",
        story=[*running(), leaving(), leaving(40, generation=2, suspend=True)],
        then=[
            told.received(leaving(40, generation=2, suspend=True)),
            TrainJobSuspended(at=WHEN),
            told.requested(attempt=1, generation=2),
        ],
        conditions=[TRUE, "Suspended=True/Suspended"],
        under_way=["apply_objects"],
    ),
    Row(
        rule="and then its deadline does not count, as of any suspended job",
        story=[
            *running(active_deadline_seconds=100),
            leaving(active_deadline_seconds=100),
            leaving(40, generation=2, suspend=True, active_deadline_seconds=100),
        ],
        then=[
            told.received(leaving(40, generation=2, suspend=True, active_deadline_seconds=100)),
            TrainJobSuspended(at=WHEN),
            told.requested(attempt=1, generation=2),
            told.cancelled(DEADLINE, cause="the job is suspended"),
        ],
        pending={},
    ),
    Row(
        rule="the end of its JobSet is its end",
        story=[*running(), leaving(), jobset(60, counts(succeeded=1), end=completed_end())],
        then=[
            told.observed(counts(succeeded=1), end=completed_end()),
            told.ended("succeeded", reason="AllJobsCompleted", message=COMPLETED_MESSAGE),
            told.complete(),
        ],
        conditions=[TRUE, COMPLETE],
        under_way=[],
        pending={},
    ),
    Row(
        rule="a JobSet that goes with its job is no loss and is not made again",
        story=[*running(), leaving(), jobset_gone(40)],
        then=[told.vanished(asked=True, inferred="the TrainJob is being deleted")],
        conditions=[TRUE],
        under_way=[],
        pending={},
    ),
    Row(
        rule="of a job that is being deleted when it is first seen nothing is made",
        story=[leaving(active_deadline_seconds=100)],
        then=[
            TrainJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(leaving(active_deadline_seconds=100)),
            TrainJobDeletionStarted(at=after(30)),
            told.scheduled(DEADLINE, after(100), cause="activeDeadlineSeconds 100"),
        ],
        under_way=[],
        pending={"active_deadline": 100},
    ),
    Row(
        rule="what is under way when the deletion begins is dropped: nothing is made any more",
        story=[*seen(), leaving()],
        then=[
            told.received(leaving(), document=False),
            TrainJobDeletionStarted(at=WHEN),
            told.dropped(cause="no longer wanted"),
        ],
        under_way=[],
    ),
    Row(
        rule="with the object gone the story is over",
        story=[*running(), manifest_gone(90)],
        then=[TrainJobDeleted(at=WHEN)],
        under_way=[],
        pending={},
    ),
    Row(
        rule="after that nothing is news",
        story=[*running(), manifest_gone(90), jobset_gone(91)],
        then=[],
    ),
    Row(
        rule="a job that others have ended is left as it is",
        story=[manifest(status=ENDED)],
        then=[
            TrainJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest(status=ENDED)),
            TrainJobAdopted(at=WHEN, status=ENDED),
        ],
        conditions=["Failed=True/FailedJobs"],
        under_way=[],
        facts={
            "succeeded": 0,
            "failed": 1,
            "reason": "FailedJobs",
            "message": "no",
            "ended_at": after(-100),
        },
    ),
    Row(
        rule="a condition that is no end gives a job that others have begun no reason",
        story=[manifest(status=MADE)],
        then=[
            TrainJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest(status=MADE)),
            TrainJobAdopted(at=WHEN, status=MADE),
            told.requested(),
        ],
        facts={"reason": "", "message": "", "ended_at": None},
    ),
    Row(
        rule="once others have made its Jobs the runtime is no news: its snapshot counts",
        story=[manifest(status=RAN), runtime()],
        then=[],
    ),
    Row(
        rule="a job that others have begun goes on; what they made is found by the apply",
        story=[manifest(status=RAN), runtime(), jobset(1, counts(active=1)), applied(2)],
        then=[told.done(), told.in_place()],
        conditions=[TRUE],
        phase="Running",
        under_way=[],
    ),
    Row(
        rule="a gap of a watch is told",
        story=[*running(), interrupted(25, 28)],
        then=[
            ObservationGapFound(
                at=WHEN, source="JobSet", since=after(25), until=after(28), reason="410 Gone"
            )
        ],
    ),
    Row(
        rule="a status that was written is told once",
        story=[*running(), written(21)],
        then=[StatusPublished(at=WHEN, phase="Created=True", resource_version="7", status_sha="5")],
    ),
)
def test_end(row: Row) -> None:
    check(row)


def test_reason_message_and_time_of_the_end_are_the_jobsets() -> None:
    played = play(completed())
    assert message(played, "Complete") == COMPLETED_MESSAGE
    condition = played.state.conditions[-1]
    assert (condition.since, played.state.ended_at) == (after(60), after(60))
    assert message(play([*running(), jobset(60, end=failed_end())]), "Failed") == (FAILED_MESSAGE)


def test_the_status_has_all_five_counters_in_the_jobsets_order() -> None:
    played = play([*created(), jobset(10, counts("node", active=1), counts("launcher"))])
    assert status(played.state)["jobsStatus"] == [
        {"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0},
        {"name": "launcher", "ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0},
    ]


@pytest.mark.parametrize("jobs", [counts(active=1), counts(ready=1)], ids=["active", "ready"])
def test_a_job_that_has_ended_is_waited_for_until_its_jobs_have(jobs: JobCounts) -> None:
    """A Job whose Pods have succeeded is ready, and not active, until it is Complete itself."""
    launched = counts("launcher", succeeded=1)
    story = [*running(), jobset(60, jobs, launched, end=completed_end())]
    assert is_open(play(story).state)
    over = play([*story, jobset(61, counts(succeeded=1), launched, end=completed_end())])
    assert over.state.jobs[0].succeeded == 1
    assert not is_open(over.state)


def test_a_status_with_nothing_to_say_is_empty_and_so_not_written() -> None:
    assert status(play([manifest()]).state) == {}


def test_a_jobset_without_counters_empties_what_was_shown() -> None:
    played = play([*running(), jobset_gone(50), applied(51, uid="b"), jobset(52, uid="b")])
    assert status(played.state)["jobsStatus"] == []


def test_a_deadline_beyond_all_dates_hurts_nobody() -> None:
    """The CRD has no maximum, and a status that was found may name any instant."""
    resumed = Condition(type="Suspended", is_true=False, reason="Resumed", message="", since=LAST)
    found = SeenTrainStatus(conditions=(resumed,))
    state = play([manifest(status=found, active_deadline_seconds=SECONDS_MAX)]).state
    assert [decision.due_at for decision in state.decisions] == [LAST]
    huge = {"spec": {"activeDeadlineSeconds": 10**12}}
    assert read_spec(huge).active_deadline_seconds == SECONDS_MAX
