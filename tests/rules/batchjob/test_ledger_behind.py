"""A Job that the log has lost, or knows less of than the cluster, and one that is only recorded."""

import pytest
from msgspec.structs import replace

from jobledger.core.batchjob.decide.decide import BATCHJOB
from jobledger.core.batchjob.events import (
    BatchJobAdopted,
    BatchJobDiscovered,
    OthersBatchStatusObserved,
)
from jobledger.core.batchjob.observations import SeenBatchStatus
from jobledger.core.jobs.control.lost_history import UNKNOWN_JOB, mark_of
from jobledger.core.jobs.events import (
    ControlReleased,
    ControlTaken,
    LedgerBehindFound,
    RecoveredFromCluster,
)
from jobledger.core.jobs.observations import LedgerSetBack
from jobledger.core.jobs.pending.effects import Outcome
from tests.rules.batchjob.rows import Row, check, table
from tests.support import batchjob_events as told
from tests.support.batchjobs import (
    CREATE,
    IDENTITY,
    REACHED,
    UNNAMED,
    Step,
    after,
    complete_end,
    completed,
    created,
    failed_end,
    job,
    job_gone,
    manifest,
    name_of,
    named,
    outcome,
    play,
    pods,
    retried,
    running,
    surveyed,
)
from tests.support.rows import WHEN

RAN = SeenBatchStatus(started_at=after(-100), pods=pods(active=1, failed=2))
DONE = SeenBatchStatus(started_at=after(-100), pods=pods(succeeded=1), end=complete_end(-10))
BAD = SeenBatchStatus(started_at=after(0), end=failed_end(50))
LOST = LedgerBehindFound(at=WHEN, signs=(UNKNOWN_JOB,))
WHY = "another installation controls it"
MADE = "Job etl-kj5pv was made for attempt 2, and the log knows 1"


def recovered(since: float, *attempts: int, asked: str = "") -> RecoveredFromCluster:
    """Return that a job is taken over."""
    there = tuple(name_of(number) for number in attempts)
    return RecoveredFromCluster(at=WHEN, behind_since=after(since), there=there, asked=asked)


@table(
    Row(
        rule="a job whose log is lost is held until it is known what is there",
        story=[manifest(status=RAN)],
        then=[
            BatchJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest(status=RAN)),
            LOST,
            BatchJobAdopted(at=WHEN, status=RAN),
        ],
        under_way=[],
        facts={"started_at": after(-100), "attempt": None},
    ),
    Row(
        rule="it goes on in the attempt whose Job is there, asked for by its name once more",
        story=[manifest(status=RAN), surveyed(5, 3, status=RAN)],
        then=[
            told.started(3, inferred=True),
            recovered(0, 3),
            told.requested(attempt=3),
        ],
        phase="Running",
        facts={"retries": 2, "failed": 2, "started_at": after(-100)},
    ),
    Row(
        rule="that may be the first",
        story=[manifest(status=RAN), surveyed(5, 1, status=RAN)],
        then=[told.started(inferred=True), recovered(0, 1), told.requested()],
        facts={"retries": 0, "failed": 0},
    ),
    Row(
        rule="of two that are there it is the later one",
        story=[manifest(status=RAN), surveyed(5, 2, 3, status=RAN)],
        then=[told.started(3, inferred=True), recovered(0, 2, 3), told.requested(attempt=3)],
    ),
    Row(
        rule="a Job that was seen meanwhile is not made again",
        story=[manifest(status=RAN), job(3, 3, active=1), surveyed(5, 3, status=RAN)],
        then=[recovered(0, 3)],
        phase="Running",
        under_way=[],
    ),
    Row(
        rule="what is seen of an attempt's Job while the job is held is written down",
        story=[manifest(status=RAN), job(3, 3, active=1)],
        then=[told.observed(3, active=1), told.started(3, inferred=True)],
        under_way=[],
    ),
    Row(
        rule="an attempt that had begun and left no Job is in doubt: nothing is run a second time",
        story=[manifest(status=RAN), surveyed(5, status=RAN)],
        then=[],
        under_way=[],
    ),
    Row(
        rule="unless an operator asks for it",
        story=[
            manifest(status=RAN),
            surveyed(5, status=RAN, more={"recover": mark_of(after(0))}),
        ],
        then=[recovered(0, asked=mark_of(after(0))), told.started(), told.requested()],
    ),
    Row(
        rule="a job that has ended stays so, whatever is there",
        story=[manifest(status=DONE)],
        then=[
            BatchJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest(status=DONE)),
            LOST,
            BatchJobAdopted(at=WHEN, status=DONE),
            told.complete(after(-10), inferred=True),
            RecoveredFromCluster(at=WHEN, behind_since=after(0), is_surveyed=False),
        ],
        phase="Complete",
        under_way=[],
        facts={
            "reason": "CompletionsReached",
            "message": REACHED,
            "ended_at": after(-10),
            "succeeded": 1,
            "failed": 0,
        },
    ),
    Row(
        rule="no attempt begins in it, whatever Job is there",
        story=[surveyed(0, 2, status=DONE)],
        then=[
            BatchJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(surveyed(0, 2, status=DONE)),
            LOST,
            BatchJobAdopted(at=WHEN, status=DONE),
            told.complete(after(-10), inferred=True),
            recovered(0, 2),
        ],
        phase="Complete",
        facts={"attempt": None},
    ),
    Row(
        rule="without a status, a Job that is there shows that the log has lost the job",
        story=[surveyed(0, 2)],
        then=[
            BatchJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(surveyed(0, 2)),
            LOST,
            told.started(2, inferred=True),
            recovered(0, 2),
            told.requested(attempt=2),
        ],
    ),
    Row(
        rule="a Job of an attempt that the log does not know holds the job",
        story=[*running(backoff_limit=3), job(20, 2, active=1)],
        then=[
            LedgerBehindFound(
                at=WHEN, signs=(MADE,), kind="Job", name=name_of(2), uid="job-2", attempt=2
            ),
            told.observed(2, active=1),
            told.ended("unknown", reason="", message="", inferred=True),
            told.started(2, inferred=True),
        ],
    ),
    Row(
        rule="the failed Pods of that Job count besides those of attempts that are gone",
        story=[*retried(backoff_limit=3), created(63, 2), job(70, 3, active=1, failed=2)],
        then=[
            LedgerBehindFound(
                at=WHEN,
                signs=(f"Job {name_of(3)} was made for attempt 3, and the log knows 2",),
                kind="Job",
                name=name_of(3),
                uid="job-3",
                attempt=3,
            ),
            told.observed(3, active=1, failed=2),
            told.ended("unknown", 2, reason="", message="", inferred=True),
            told.started(3, inferred=True),
        ],
        facts={"pods_failed_min": 3, "unknown_job": None},
    ),
    Row(
        rule="then it goes on in that attempt",
        story=[
            *running(backoff_limit=3),
            job(20, 2, active=1),
            surveyed(30, 2, backoff_limit=3),
        ],
        then=[recovered(20, 2)],
        phase="Running",
        facts={"retries": 1, "failed": 1},
    ),
    Row(
        rule="an end that was shown from here and that the log does not know holds the job",
        story=[*running(), manifest(20, status=DONE, more={"written_here": True})],
        then=[
            LedgerBehindFound(
                at=WHEN,
                signs=(
                    "the status shows Complete, and the log knows no end",
                    "the status shows another start than the log knows",
                ),
            ),
            OthersBatchStatusObserved(at=WHEN, status=DONE),
            told.ended(
                "succeeded",
                reason="CompletionsReached",
                message="Reached expected number of succeeded pods",
                inferred=True,
            ),
            told.complete(after(-10), inferred=True),
            RecoveredFromCluster(at=WHEN, behind_since=after(20), is_surveyed=False),
        ],
        phase="Complete",
    ),
    Row(
        rule="a status that was not written here is no sign",
        story=[*running(), manifest(20, status=DONE)],
        then=[],
    ),
    Row(
        rule="no status changes what has ended",
        story=[
            *completed(),
            manifest(
                70,
                status=SeenBatchStatus(end=failed_end(), failing=failed_end()),
                more={"written_here": True},
            ),
        ],
        then=[],
        phase="Complete",
    ),
)
def test_a_log_that_is_behind(row: Row) -> None:
    check(row)


@table(
    Row(
        rule="a job that another installation controls is recorded",
        story=[manifest(recorded=WHY)],
        then=[
            BatchJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest(recorded=WHY)),
            ControlReleased(at=WHEN, why=WHY),
        ],
        under_way=[],
    ),
    Row(
        rule="its attempts are told by their Jobs",
        story=[manifest(recorded=WHY), job(10, active=1)],
        then=[told.observed(active=1), told.started(inferred=True)],
        phase="Running",
        under_way=[],
    ),
    Row(
        rule="that one failed is no decision of ours",
        story=[manifest(recorded=WHY), job(10, active=1), job(60, end=failed_end())],
        then=[told.observed(end=failed_end()), told.ended("failed", inferred=True)],
        phase="Retrying",
        under_way=[],
    ),
    Row(
        rule="one that succeeded is counted, and is no retry: its status is still to be seen",
        story=[manifest(recorded=WHY), job(10, active=1), job(60, end=complete_end())],
        then=[
            told.observed(end=complete_end()),
            told.ended("succeeded", reason="CompletionsReached", message=REACHED, inferred=True),
        ],
        phase="Running",
        facts={"succeeded": 1, "failed": 0},
    ),
    Row(
        rule="what was shown while it was held is no news once another controls it",
        story=[
            manifest(status=RAN),
            manifest(5, recorded=WHY, status=RAN),
            manifest(6, recorded=WHY, status=RAN),
        ],
        then=[],
    ),
    Row(
        rule="so is its failure",
        story=[manifest(recorded=WHY), job(10, active=1), manifest(60, recorded=WHY, status=BAD)],
        then=[
            OthersBatchStatusObserved(at=WHEN, status=BAD),
            told.ended("failed", inferred=True),
            told.failed(inferred=True),
        ],
        phase="Failed",
        facts={"succeeded": 0, "failed": 1},
    ),
    Row(
        rule="that the Job of an attempt which was not seen goes after the end is told",
        story=[manifest(recorded=WHY, status=DONE), job(5, end=complete_end()), job_gone(9)],
        then=[told.vanished(asked=False)],
        phase="Complete",
    ),
    Row(
        rule="its end is what its status shows",
        story=[
            manifest(recorded=WHY),
            job(10, active=1),
            manifest(60, recorded=WHY, status=DONE),
        ],
        then=[
            OthersBatchStatusObserved(at=WHEN, status=DONE),
            told.ended(
                "succeeded",
                reason="CompletionsReached",
                message="Reached expected number of succeeded pods",
                inferred=True,
            ),
            told.complete(after(-10), inferred=True),
        ],
        phase="Complete",
    ),
    Row(
        rule="it goes on from there when control is taken",
        story=[manifest(recorded=WHY), job(10, active=1), manifest(20)],
        then=[ControlTaken(at=WHEN, recorded_since=after(0), recorded_because=WHY)],
        phase="Running",
        under_way=[],
    ),
    Row(
        rule="what is under way is dropped when control is given up",
        story=[manifest(), manifest(5, recorded=WHY)],
        then=[ControlReleased(at=WHEN, why=WHY), told.dropped()],
        under_way=[],
    ),
)
def test_recording(row: Row) -> None:
    check(row)


def test_a_stream_that_ends_too_early_holds_the_job() -> None:
    seen = named(LedgerSetBack(id=UNNAMED, at=after(30), known_version=9, found_version=4))
    state = play(running()).state
    (held,) = BATCHJOB.news(state, seen)
    assert held == LedgerBehindFound(
        at=after(30),
        signs=("the stream ended at version 9, and ends at version 4 now",),
        known_version=9,
        found_version=4,
    )
    assert BATCHJOB.news(BATCHJOB.evolve(state, held), seen) == ()


def test_what_was_refused_before_a_job_was_held_is_tried_at_once_after_it() -> None:
    refused = outcome(CREATE, 1, Outcome.FAILED, trouble="exceeded quota")
    lost = named(LedgerSetBack(id=UNNAMED, at=after(2), known_version=9, found_version=4))
    held = play([manifest(), refused, lost])
    assert (held.state.refused, held.state.decisions) == ((), ())
    found = play([manifest(), refused, lost, surveyed(5, 1)])
    assert [one.desired.kind for one in found.state.effects] == [CREATE]


def test_what_was_written_before_control_was_given_up_is_no_news() -> None:
    state = play(running()).state
    between = replace(manifest(20, recorded=WHY), in_between=True)
    assert BATCHJOB.news(state, named(between)) == ()


def test_a_job_that_was_created_and_not_seen_is_known_by_its_creation() -> None:
    state = play([manifest(), created()]).state
    assert state.attempt is not None
    assert state.attempt.job is not None
    assert not state.attempt.job.observed


def test_the_start_that_users_were_shown_is_taken_over_as_the_api_server_takes_no_other() -> None:
    """The log has lost the attempt and found its Job again, so it takes now for the start."""
    begun: list[Step] = [
        manifest(status=SeenBatchStatus(suspended_since=after(-9))),
        job(5, active=1),
    ]
    held = play(begun).state
    assert held.started_at == after(5)
    shown = manifest(6, status=SeenBatchStatus(started_at=after(2)))
    assert play([*begun, named(replace(shown, written_here=True))]).state.started_at == after(2)


def test_a_status_with_another_start_than_the_log_knows_is_a_sign_of_loss() -> None:
    shown = SeenBatchStatus(started_at=after(-60))
    found = play([*running(), named(replace(manifest(20, status=shown), written_here=True))])
    (behind, _) = found.news[:2]
    assert behind == LedgerBehindFound(
        at=after(20), signs=("the status shows another start than the log knows",)
    )


@pytest.mark.parametrize(
    ("status", "sign"),
    [
        (SeenBatchStatus(end=failed_end()), "the status shows Failed, and the log knows no end"),
        (
            SeenBatchStatus(failing=failed_end()),
            "the status shows FailureTarget, and the log knows nothing of it",
        ),
        (
            SeenBatchStatus(started_at=after(-60)),
            "the status shows a start, and the log knows no attempt",
        ),
        (
            SeenBatchStatus(pods=pods(failed=2)),
            "the status shows 2 failed Pods, and the log knows 0",
        ),
    ],
)
def test_each_sign_of_a_loss_is_told_in_words(status: SeenBatchStatus, sign: str) -> None:
    seen = manifest(20, suspend=True, status=status, more={"written_here": True})
    (behind, *_) = play([manifest(suspend=True), seen]).news
    assert behind == LedgerBehindFound(at=after(20), signs=(sign,))


def test_its_own_start_in_whole_seconds_is_none() -> None:
    whole = manifest(20, status=SeenBatchStatus(started_at=after(0)))
    story: list[Step] = [
        manifest(0.25),
        job(10, active=1, ready=1),
        named(replace(whole, written_here=True)),
    ]
    assert play(story).news == ()


def test_the_job_of_an_attempt_that_is_lost_stays_where_the_end_is_known() -> None:
    """It has ended, as the end was shown: its Pods have the logs, and nothing is held for it."""
    ended = play([manifest(status=DONE)])
    assert ended.state.recorded is None
    assert BATCHJOB.news(ended.state, job(5, 1, end=complete_end(), succeeded=1)) == ()


def test_that_it_is_to_fail_is_taken_over_from_the_status_before_it_has_failed() -> None:
    shown = SeenBatchStatus(started_at=after(0), failing=failed_end(15))
    seen = named(replace(manifest(20, status=shown), written_here=True))
    found = play([*running(), seen])
    assert "BatchJobFailing" in found.said
    assert found.state.failing is not None
    assert found.conditions == ["FailureTarget=True/BackoffLimitExceeded"]
