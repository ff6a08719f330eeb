"""News of a Job that cross each other: answers that come late, ends that come first."""

from msgspec.structs import replace

from jobledger.core.batchjob.events import BatchJobDeletionStarted
from jobledger.core.batchjob.observations import SeenBatchStatus
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import Outcome
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.failures import FailureClass
from tests.rules.batchjob.rows import Row, check, table
from tests.rules.batchjob.test_ledger_behind import recovered
from tests.support import batchjob_events as told
from tests.support.batchjobs import (
    BACKOFF,
    DELETE,
    Step,
    after,
    complete_end,
    completed,
    created,
    deleted,
    due,
    failed_end,
    failing,
    job,
    job_gone,
    manifest,
    named,
    outcome,
    play,
    running,
    surveyed,
)
from tests.support.rows import WHEN

DEADLINE = DecisionKind.JOB_DEADLINE
RETRY = DecisionKind.RETRY
SLOW = Policy(retry_delay_seconds=300)
PAUSED = failing(backoff_limit=1, policy=SLOW)
"""The first attempt failed, and the next does not begin before 360 s."""
LOST = "the Job of the attempt was deleted by somebody"
TOO_LATE = (
    "The Job has passed its jobledger.dev/job-deadline-seconds over all attempts. "
    "StartTime: 2026-11-21 12:00:00 +0000 UTC. Seconds: 100"
)
TO_FAIL = SeenBatchStatus(started_at=after(0), failing=failed_end(15))


def done_without_uid(at: float) -> Step:
    """Return that the deletion of a Job found none: nothing tells of which UID."""
    return outcome(DELETE, at, already=True, gone=True)


@table(
    Row(
        rule="a creation that is heard of after the watch has shown its Job changes nothing",
        story=[manifest(), job(1, active=1), created(2)],
        then=[told.done()],
        phase="Running",
        under_way=[],
    ),
    Row(
        rule="a deletion that is heard of after its Job is gone changes nothing",
        story=[*PAUSED, job_gone(61), deleted(62)],
        then=[told.done(DELETE)],
        phase="Retrying",
        under_way=[],
    ),
    Row(
        rule="nor does it touch the Job of the next attempt",
        story=[*failing(backoff_limit=1), job_gone(61), created(62, 2), done_without_uid(63)],
        then=[replace(told.done(DELETE), uid="", already=True, gone=True)],
        phase="Running",
        under_way=[],
    ),
    Row(
        rule="a Job that is on its way out is still waited for by whom has it deleted",
        story=[*failing(backoff_limit=1), job(61, end=failed_end(), deleting=True, failed=1)],
        then=[told.observed(end=failed_end(), deleting=True, failed=1)],
        phase="Retrying",
        under_way=["delete_attempt_job"],
    ),
    Row(
        rule="a creation that is not heard of is dropped where its Job is complete already",
        story=[manifest(), job(60, end=complete_end(59), succeeded=1)],
        then=[
            told.observed(end=complete_end(59), succeeded=1),
            told.ended(
                "succeeded",
                reason="CompletionsReached",
                message="Reached expected number of succeeded pods",
            ),
            told.complete(after(59)),
            told.dropped(),
        ],
        phase="Complete",
        under_way=[],
    ),
    Row(
        rule="so it is where the job is to fail while its Job is at work",
        story=[manifest(deadline=100), job(2, active=1), due(DEADLINE)],
        then=[
            told.fired(DEADLINE, 100),
            told.ended("failed", reason="DeadlineExceeded", message=TOO_LATE),
            told.refused("DeadlineExceeded is never retried", reason="DeadlineExceeded"),
            told.failing("DeadlineExceeded", TOO_LATE),
            told.dropped(),
            told.requested(DELETE, uid="job-1"),
        ],
        phase="Failing",
        under_way=["delete_attempt_job"],
    ),
    Row(
        rule="a deletion for a retry that was refused is given up when there is none: logs stay",
        story=[
            *failing(backoff_limit=1, deadline=100),
            outcome(DELETE, 61, Outcome.FAILED, trouble="forbidden"),
            due(DEADLINE),
        ],
        then=[
            told.fired(DEADLINE, 100),
            told.failing("DeadlineExceeded", TOO_LATE),
            told.failed("DeadlineExceeded", TOO_LATE),
            told.cancelled(DecisionKind.EFFECT_RETRY, cause="the job is Failed"),
        ],
        phase="Failed",
        under_way=[],
        pending={},
    ),
    Row(
        rule="what is pending of a job that is being deleted is cancelled for that",
        story=[*PAUSED, manifest(70, generation=2, deleting=True, backoff_limit=1, policy=SLOW)],
        then=[
            told.received(manifest(70, generation=2, deleting=True, backoff_limit=1, policy=SLOW)),
            BatchJobDeletionStarted(at=WHEN),
            told.dropped(DELETE),
            told.cancelled(RETRY, cause="the Job is being deleted"),
        ],
        under_way=[],
        pending={},
    ),
    Row(
        rule="a job that is to fail is not suspended any more",
        story=[
            *running(deadline=100),
            due(DEADLINE),
            manifest(101, generation=2, suspend=True, deadline=100),
        ],
        then=[told.received(manifest(101, generation=2, suspend=True, deadline=100))],
        phase="Failing",
        conditions=["FailureTarget=True/DeadlineExceeded"],
    ),
    Row(
        rule="nor is one that has ended",
        story=[*completed(), manifest(70, generation=2, suspend=True)],
        then=[told.received(manifest(70, generation=2, suspend=True))],
        phase="Complete",
        conditions=[
            "SuccessCriteriaMet=True/CompletionsReached",
            "Complete=True/CompletionsReached",
        ],
    ),
    Row(
        rule="a job is complete since its attempt's Job is, however late that is seen",
        story=[*running(), job(75, end=complete_end(60), succeeded=1)],
        then=[
            told.observed(end=complete_end(60), succeeded=1),
            told.ended(
                "succeeded",
                reason="CompletionsReached",
                message="Reached expected number of succeeded pods",
            ),
            told.complete(after(60)),
        ],
        facts={"ended_at": after(60)},
    ),
    Row(
        rule="a lost attempt that is not retried is told as that",
        story=[*running(), job_gone(50)],
        then=[
            told.vanished(asked=False),
            told.ended("failed", reason="JobDeleted", message=LOST, failure=FailureClass.HEAD_LOST),
            replace(
                told.refused("backoffLimit is 0", reason="JobDeleted"),
                failure=FailureClass.HEAD_LOST,
            ),
            told.failing("JobDeleted", LOST),
            told.failed("JobDeleted", LOST),
        ],
        phase="Failed",
    ),
    Row(
        rule="a job that is to fail by a status that the log had lost has its Job deleted",
        story=[
            *running(),
            named(replace(manifest(20, status=TO_FAIL), written_here=True)),
            surveyed(30, 1, status=TO_FAIL),
        ],
        then=[recovered(20, 1), told.requested(DELETE, uid="job-1")],
        phase="Failing",
        facts={"reason": "BackoffLimitExceeded", "message": BACKOFF},
    ),
    Row(
        rule="a Job that is not found while it is being made is not lost",
        story=[manifest(), job_gone(1, uid="")],
        then=[],
        under_way=["create_attempt_job"],
    ),
    Row(
        rule="a Job that is not found by its name is lost under the UID that was known",
        story=[*running(backoff_limit=1), job_gone(50, uid="")],
        then=[
            told.vanished(asked=False),
            told.ended("failed", reason="JobDeleted", message=LOST, failure=FailureClass.HEAD_LOST),
            told.granted(
                "failed attempt 1 is within backoffLimit 1",
                reason="JobDeleted",
                failure=FailureClass.HEAD_LOST,
            ),
            told.started(2),
            told.requested(attempt=2),
        ],
    ),
    Row(
        rule="what is gone does not go again",
        story=[*PAUSED, job_gone(61), job_gone(62, uid="another")],
        then=[],
    ),
    Row(
        rule="a Job of an earlier attempt that goes is no news while the next one's is being made",
        story=[*failing(backoff_limit=1), job_gone(61), job_gone(62, uid="another")],
        then=[],
        under_way=["delete_attempt_job", "create_attempt_job"],
    ),
)
def test_news_that_cross_each_other(row: Row) -> None:
    check(row)


def test_the_job_of_the_next_attempt_survives_a_late_answer_about_the_last() -> None:
    story = [*failing(backoff_limit=1), job_gone(61), created(62, 2)]
    before, late = play(story).state, play([*story, done_without_uid(63)]).state
    assert late.attempt == before.attempt


def test_a_job_that_took_the_place_of_another_is_not_deleted_with_it() -> None:
    """Somebody has made one of the name while the deletion was under way."""
    story = [*PAUSED, job(62, uid="another", active=1)]
    late = play([*story, outcome(DELETE, 63, uid="job-1", gone=True)]).state
    assert late.attempt is not None
    assert late.attempt.job is not None
    assert (late.attempt.job.uid, late.attempt.job.delete_asked) == ("another", False)
