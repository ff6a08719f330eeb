"""How a TrainJob ends: copies of the JobSet's end, the deadline, deletion (2, 3.2, 3.5)."""

from core.jobs.decisions import DecisionKind
from core.trainjob.conditions import Condition
from core.trainjob.observations import SeenTrainStatus
from core.trainjob.spec import read_spec
from core.trainjob.status import status
from core.values.delays import SECONDS_MAX
from core.values.instants import LAST
from tests.rules.trainjob.rows import Row, check, table
from tests.support.trainjobs import (
    COMPLETED_MESSAGE,
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


@table(
    Row(
        rule="a JobSet that completed is the end",
        story=completed(),
        said=["JobSetObserved", "TrainAttemptEnded", "TrainJobCompleted"],
        conditions=[TRUE, COMPLETE],
        phase="Complete",
        under_way=[],
        pending={},
        facts={"succeeded": 1, "failed": 0},
    ),
    Row(
        rule="a JobSet that failed is the end",
        story=[*running(), jobset(60, counts(failed=1), end=failed_end())],
        said=["JobSetObserved", "TrainAttemptEnded", "TrainJobFailed"],
        conditions=[TRUE, "Failed=True/FailedJobs"],
        phase="Failed",
        facts={"failed": 1},
    ),
    Row(
        rule="counters alone end nothing",
        story=[*running(), jobset(60, counts(succeeded=1))],
        said=["JobSetObserved"],
        conditions=[TRUE],
        phase="Created",
    ),
    Row(
        rule="the first end wins",
        story=[*completed(), jobset(70, counts(failed=1), end=failed_end(70))],
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
        said=["JobSetObserved"],
        facts={"jobs": (counts(failed=1),)},
    ),
    Row(
        rule="a JobSet that goes after the end leaves everything as it is",
        story=[*completed(), jobset_gone(80)],
        said=["JobSetVanished"],
        conditions=[TRUE, COMPLETE],
        under_way=[],
        facts={"jobs": (counts(succeeded=1),)},
    ),
    Row(
        rule="a snapshot that goes after the end is no news",
        story=[*completed(), snapshot_gone(80)],
        said=[],
    ),
    Row(
        rule="an edit after the end builds nothing",
        story=[*completed(), manifest(80, generation=2)],
        said=["TrainJobReceived"],
        under_way=[],
    ),
    Row(
        rule="a JobSet that restarts ends one attempt and begins the next",
        story=[*running(), jobset(30, counts(active=1), restarts=1)],
        said=["JobSetObserved", "TrainAttemptEnded", "TrainAttemptStarted"],
        facts={"retries": 1, "failed": 1},
    ),
    Row(
        rule="the deadline counts from the creation of the object",
        story=running(active_deadline_seconds=100),
        pending={"active_deadline": 100},
    ),
    Row(
        rule="a suspended job has no deadline",
        story=created(suspend=True, active_deadline_seconds=100),
        pending={},
    ),
    Row(
        rule="each resume starts the deadline anew",
        story=[
            *created(suspend=True, active_deadline_seconds=100),
            manifest(50, generation=2, active_deadline_seconds=100),
        ],
        pending={"active_deadline": 150},
    ),
    Row(
        rule="a deadline of 0 is none",
        story=running(active_deadline_seconds=0),
        pending={},
    ),
    Row(
        rule="a deadline that passes fails the job and deletes the JobSet",
        story=[*running(active_deadline_seconds=100), due(DEADLINE)],
        said=["DecisionFired", "TrainAttemptEnded", "TrainJobFailed", "EffectRequested"],
        conditions=[TRUE, EXCEEDED],
        phase="Failed",
        under_way=["delete_jobset"],
    ),
    Row(
        rule="a deadline passes though the objects were never created",
        story=[*seen(active_deadline_seconds=100), not_created(1), due(DEADLINE)],
        conditions=["Created=False/JobsCreationFailed", EXCEEDED],
        under_way=["delete_jobset"],
        pending={},
    ),
    Row(
        rule="an apply that is under way when the deadline passes is dropped, and looked for",
        story=[*seen(active_deadline_seconds=100), due(DEADLINE)],
        under_way=["delete_jobset"],
    ),
    Row(
        rule="a deletion that is refused is tried again until it is done",
        story=[*running(active_deadline_seconds=100), due(DEADLINE), delete_refused(101)],
        said=["EffectFailed", "DecisionScheduled"],
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
        said=["JobSetVanished"],
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
        conditions=[TRUE, EXCEEDED],
    ),
    Row(
        rule="a JobSet that completed before the deadline was judged has completed",
        story=[
            *running(active_deadline_seconds=100),
            jobset(130, counts(succeeded=1), end=completed_end(90)),
        ],
        said=["JobSetObserved", "TrainAttemptEnded", "TrainJobCompleted", "DecisionCancelled"],
        conditions=[TRUE, COMPLETE],
        pending={},
    ),
    Row(
        rule="of an object that is being deleted nothing more is done",
        story=[*running(active_deadline_seconds=100), manifest(30, deleting=True)],
        under_way=[],
        pending={},
    ),
    Row(
        rule="with the object gone the story is over",
        story=[*running(), manifest_gone(90)],
        said=["TrainJobDeleted"],
        under_way=[],
        pending={},
    ),
    Row(
        rule="after that nothing is news",
        story=[*running(), manifest_gone(90), jobset_gone(91)],
        said=[],
    ),
    Row(
        rule="a job that others have ended is left as it is",
        story=[manifest(status=ENDED)],
        said=["TrainJobDiscovered", "TrainJobReceived", "TrainJobAdopted"],
        conditions=["Failed=True/FailedJobs"],
        under_way=[],
    ),
    Row(
        rule="a job that others have begun goes on; what they made is found by the apply",
        story=[manifest(status=RAN), runtime(), jobset(1, counts(active=1)), applied(2)],
        conditions=[TRUE],
        phase="Running",
        under_way=[],
    ),
    Row(
        rule="a gap of a watch is told",
        story=[*running(), interrupted(25, 28)],
        said=["ObservationGapFound"],
    ),
    Row(
        rule="a status that was written is told once",
        story=[*running(), written(21)],
        said=["StatusPublished"],
    ),
)
def test_end(row: Row) -> None:
    check(row)


def test_reason_message_and_time_of_the_end_are_the_jobsets() -> None:
    played = play(completed())
    assert message(played, "Complete") == COMPLETED_MESSAGE
    condition = played.state.conditions[-1]
    assert (condition.since, played.state.ended_at) == (after(60), after(60))
    assert message(play([*running(), jobset(60, end=failed_end())]), "Failed") == (
        "jobset failed due to one or more job failures (first failed job: train-node-0)"
    )


def test_the_status_has_all_five_counters_in_the_jobsets_order() -> None:
    played = play([*created(), jobset(10, counts("node", active=1), counts("launcher"))])
    assert status(played.state)["jobsStatus"] == [
        {"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0},
        {"name": "launcher", "ready": 0, "succeeded": 0, "failed": 0, "active": 0, "suspended": 0},
    ]


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
