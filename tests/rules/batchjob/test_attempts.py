"""The life of a Job: attempts one after another, retries, the end."""

from msgspec.structs import replace

from jobledger.core.batchjob.events import (
    BatchJobDeleted,
    BatchJobDeletionStarted,
    BatchJobDiscovered,
)
from jobledger.core.jobs.events import EffectFailed, EffectFaltered
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import Outcome
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import NOTHING_ASKED
from tests.rules.batchjob.rows import Row, check, table
from tests.support import batchjob_events as told
from tests.support.batchjobs import (
    BACKOFF,
    CREATE,
    DELETE,
    IDENTITY,
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
    manifest_gone,
    name_of,
    outcome,
    retried,
    running,
)
from tests.support.rows import THIS_EFFECT, WHEN

DEADLINE = DecisionKind.JOB_DEADLINE
RETRY = DecisionKind.RETRY
WITHIN = "failed attempt 1 is within backoffLimit 1"
OVER_ALL = "jobledger.dev/job-deadline-seconds 100 over all attempts"
TOO_LATE = (
    "The Job has passed its jobledger.dev/job-deadline-seconds over all attempts. "
    "StartTime: 2026-11-21 12:00:00 +0000 UTC. Seconds: 100"
)
SLOW = Policy(retry_delay_seconds=30)
LOST = "the Job of the attempt was deleted by somebody"
IN_THE_WAY = "Job data/etl-gxqht is in the way: nobody owns it"
UNCLEAR = replace(NOTHING_ASKED, deadline_unclear=True)
NOT_RETRIED = "the deadline over all attempts cannot be understood, so nothing is retried"


@table(
    Row(
        rule="a Job that is given to this controller begins its first attempt at once",
        story=[manifest()],
        then=[
            BatchJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest()),
            told.started(),
            told.requested(),
        ],
        phase="Running",
        under_way=["create_attempt_job"],
        pending={},
        facts={"started_at": after(0)},
    ),
    Row(
        rule="a Job of Kubernetes' own controller is never written down",
        story=[manifest(managed_by="")],
        then=[],
    ),
    Row(
        rule="a Job of another controller is never written down",
        story=[manifest(managed_by="kueue.x-k8s.io/multikueue")],
        then=[],
    ),
    Row(
        rule="what the attempt's Job shows is taken over",
        story=running(),
        then=[told.observed(active=1, ready=1)],
        phase="Running",
        under_way=[],
    ),
    Row(
        rule="an attempt's Job that completes is the end",
        story=completed(),
        then=[
            told.observed(end=complete_end(), succeeded=1),
            told.ended(
                "succeeded",
                reason="CompletionsReached",
                message="Reached expected number of succeeded pods",
            ),
            told.complete(after(60)),
        ],
        phase="Complete",
        conditions=[
            "SuccessCriteriaMet=True/CompletionsReached",
            "Complete=True/CompletionsReached",
        ],
        under_way=[],
        pending={},
        facts={"succeeded": 1, "failed": 0},
    ),
    Row(
        rule="without the annotation a failed attempt is the end, and its Job stays with its logs",
        story=failing(),
        then=[
            told.observed(end=failed_end(), failed=1),
            told.ended("failed"),
            told.refused("backoffLimit is 0"),
            told.failing(),
            told.failed(),
        ],
        phase="Failed",
        conditions=[
            "FailureTarget=True/BackoffLimitExceeded",
            "Failed=True/BackoffLimitExceeded",
        ],
        under_way=[],
        facts={"failed": 1, "retries": 0},
    ),
    Row(
        rule="a failed attempt within the limit is retried, and its Job is deleted first",
        story=failing(backoff_limit=1),
        then=[
            told.observed(end=failed_end(), failed=1),
            told.ended("failed"),
            told.granted(WITHIN),
            told.requested(DELETE, uid="job-1"),
        ],
        phase="Retrying",
        conditions=[],
        under_way=["delete_attempt_job"],
        pending={},
    ),
    Row(
        rule="a deletion that was asked for is no reason to begin: the Job may still be there",
        story=[*failing(backoff_limit=1), deleted()],
        then=[told.done(DELETE)],
        phase="Retrying",
        under_way=[],
    ),
    Row(
        rule="the next attempt begins when the Job of the last is gone",
        story=retried(),
        then=[told.vanished(asked=True), told.started(2), told.requested(attempt=2)],
        phase="Running",
        under_way=["create_attempt_job"],
        facts={"retries": 1, "failed": 1, "started_at": after(0)},
    ),
    Row(
        rule="a deletion that finds nothing is as good as seeing it gone",
        story=[*failing(backoff_limit=1), deleted(gone=True)],
        then=[told.done(DELETE, gone=True), told.started(2), told.requested(attempt=2)],
    ),
    Row(
        rule="the limit counts failed attempts, not Pods",
        story=[*retried(), created(63, 2), job(90, 2, end=failed_end(90), failed=7)],
        then=[
            told.observed(2, end=failed_end(90), failed=7),
            told.ended("failed", 2),
            told.refused("2 failed attempts exhaust backoffLimit 1", attempt=2, limit=1),
            told.failing(),
            told.failed(),
        ],
        phase="Failed",
        facts={"failed": 2, "retries": 1, "pods_failed_min": 8},
    ),
    Row(
        rule="DeadlineExceeded of an attempt's Job is never retried",
        story=[*running(backoff_limit=5), job(60, end=failed_end(reason="DeadlineExceeded"))],
        then=[
            told.observed(end=failed_end(reason="DeadlineExceeded")),
            told.ended("failed", reason="DeadlineExceeded"),
            told.refused("DeadlineExceeded is never retried", limit=5, reason="DeadlineExceeded"),
            told.failing("DeadlineExceeded"),
            told.failed("DeadlineExceeded"),
        ],
        phase="Failed",
    ),
    Row(
        rule="an attempt's Job that somebody deletes is a failed attempt",
        story=[*running(backoff_limit=1), job_gone(50)],
        then=[
            told.vanished(asked=False),
            told.ended("failed", reason="JobDeleted", message=LOST, failure=FailureClass.HEAD_LOST),
            told.granted(WITHIN, reason="JobDeleted", failure=FailureClass.HEAD_LOST),
            told.started(2),
            told.requested(attempt=2),
        ],
        phase="Running",
        facts={"failed": 1},
    ),
    Row(
        rule="a Job on its way out is waited for",
        story=[*running(backoff_limit=1), job(50, deleting=True, terminating=1)],
        then=[told.observed(deleting=True, terminating=1)],
        phase="Running",
        under_way=[],
    ),
    Row(
        rule="a Job that goes before its creation is heard of was lost as well",
        story=[manifest(backoff_limit=1), job_gone(1), created(2)],
        then=[
            told.done(),
            told.ended("failed", reason="JobDeleted", message=LOST, failure=FailureClass.HEAD_LOST),
            told.granted(WITHIN, reason="JobDeleted", failure=FailureClass.HEAD_LOST),
            told.started(2),
            told.requested(attempt=2),
        ],
    ),
    Row(
        rule="a pause before the retry is a decision; the Job is deleted meanwhile",
        story=failing(backoff_limit=1, policy=SLOW),
        then=[
            told.observed(end=failed_end(), failed=1),
            told.ended("failed"),
            told.granted(WITHIN, after(90)),
            told.requested(DELETE, uid="job-1"),
            told.scheduled(RETRY, after(90), cause="attempt 1 failed (BackoffLimitExceeded)"),
        ],
        pending={"retry": 90},
    ),
    Row(
        rule="a retry that is due waits for the Job of the last attempt to be gone",
        story=[*failing(backoff_limit=1, policy=SLOW), deleted(), due(RETRY)],
        then=[told.fired(RETRY, 90)],
        phase="Retrying",
    ),
    Row(
        rule="a deadline that cannot be understood might forbid the retry: there is none",
        story=failing(backoff_limit=1, options=UNCLEAR),
        then=[
            told.observed(end=failed_end(), failed=1),
            told.ended("failed"),
            told.refused(NOT_RETRIED, limit=1),
            told.failing(message=f"{BACKOFF} (not retried: {NOT_RETRIED})"),
            told.failed(message=f"{BACKOFF} (not retried: {NOT_RETRIED})"),
        ],
    ),
    Row(
        rule="what is refused is tried again after a pause",
        story=[manifest(), outcome(CREATE, 1, Outcome.FAILED, trouble="exceeded quota")],
        then=[
            EffectFailed(
                at=WHEN,
                effect_id=THIS_EFFECT,
                kind=CREATE,
                name=name_of(1),
                trouble="exceeded quota",
            ),
            replace(
                told.scheduled(
                    DecisionKind.EFFECT_RETRY,
                    after(11),
                    cause="create_attempt_job was refused: exceeded quota",
                ),
                subject=f"create_attempt_job/{name_of(1)}",
            ),
        ],
        phase="Running",
        under_way=[],
    ),
    Row(
        rule="an object that is not ours is in the way: that is said, and nothing is done about it",
        story=[manifest(), outcome(CREATE, 1, Outcome.FALTERED, trouble=IN_THE_WAY)],
        then=[
            EffectFaltered(
                at=WHEN, effect_id=THIS_EFFECT, kind=CREATE, name=name_of(1), trouble=IN_THE_WAY
            )
        ],
        under_way=["create_attempt_job"],
    ),
    Row(
        rule="a late look at the Job of an earlier attempt is no news",
        story=[*retried(), job(63, 1, active=1)],
        then=[],
    ),
    Row(
        rule="a look from before the end of an attempt's Job is no news",
        story=[*failing(backoff_limit=1), job(61, active=1)],
        then=[],
    ),
    Row(
        rule="a controlled Job of a name that no attempt has is no attempt's",
        story=[*running(), job(20, name="etl-other", uid="other")],
        then=[],
    ),
)
def test_attempts_follow_each_other(row: Row) -> None:
    check(row)


@table(
    Row(
        rule="the deadline over all attempts counts from the first",
        story=[manifest(5, deadline=100)],
        then=[
            BatchJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest(5, deadline=100)),
            told.started(),
            told.requested(),
            told.scheduled(DEADLINE, after(105), cause=OVER_ALL),
        ],
        pending={"job_deadline": 105},
    ),
    Row(
        rule="it goes on through a retry",
        story=retried(deadline=100),
        then=[told.vanished(asked=True), told.started(2), told.requested(attempt=2)],
        pending={"job_deadline": 100},
    ),
    Row(
        rule="when it passes the Job that is at work is deleted",
        story=[*running(deadline=100, backoff_limit=5), due(DEADLINE)],
        then=[
            told.fired(DEADLINE, 100),
            told.ended("failed", reason="DeadlineExceeded", message=TOO_LATE),
            told.refused("DeadlineExceeded is never retried", limit=5, reason="DeadlineExceeded"),
            told.failing("DeadlineExceeded", TOO_LATE),
            told.requested(DELETE, uid="job-1"),
        ],
        phase="Failing",
        conditions=["FailureTarget=True/DeadlineExceeded"],
        pending={},
    ),
    Row(
        rule="and the job has failed when that is gone",
        story=[*running(deadline=100), due(DEADLINE), deleted(101), job_gone(102)],
        then=[told.vanished(asked=True), told.failed("DeadlineExceeded", TOO_LATE)],
        phase="Failed",
        conditions=["FailureTarget=True/DeadlineExceeded", "Failed=True/DeadlineExceeded"],
        under_way=[],
    ),
    Row(
        rule="it ends a pause between two attempts as well",
        story=[
            *failing(deadline=100, backoff_limit=1, policy=Policy(retry_delay_seconds=300)),
            deleted(61),
            job_gone(62),
            due(DEADLINE),
        ],
        then=[
            told.fired(DEADLINE, 100),
            told.failing("DeadlineExceeded", TOO_LATE),
            told.failed("DeadlineExceeded", TOO_LATE),
            told.cancelled(RETRY, cause="the job is Failed"),
        ],
        phase="Failed",
        pending={},
        facts={"reason": "DeadlineExceeded", "message": TOO_LATE},
    ),
    Row(
        rule="a Job that comes to light only after that is deleted",
        story=[manifest(deadline=100), due(DEADLINE), job(101, active=1)],
        then=[told.observed(active=1), told.requested(DELETE, uid="job-1")],
        phase="Failed",
    ),
)
def test_a_deadline_over_all_attempts(row: Row) -> None:
    check(row)


def test_a_creation_that_was_not_heard_of_is_dropped_when_the_job_fails() -> None:
    row = Row(
        rule="a creation under way is dropped",
        story=[manifest(deadline=100), due(DEADLINE)],
        then=[
            told.fired(DEADLINE, 100),
            told.ended("failed", reason="DeadlineExceeded", message=TOO_LATE),
            told.refused("DeadlineExceeded is never retried", reason="DeadlineExceeded"),
            told.failing("DeadlineExceeded", TOO_LATE),
            told.failed("DeadlineExceeded", TOO_LATE),
            told.dropped(),
        ],
    )
    check(row)


LEAVING = manifest(70, generation=2, deleting=True, backoff_limit=1)


@table(
    Row(
        rule="a Job that is being deleted as it is first seen begins nothing",
        story=[manifest(deleting=True)],
        then=[
            BatchJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest(deleting=True)),
            BatchJobDeletionStarted(at=after(0)),
        ],
        under_way=[],
    ),
    Row(
        rule="a Job under deletion begins nothing: what is under way is dropped",
        story=[manifest(), manifest(1, generation=2, deleting=True)],
        then=[
            told.received(manifest(1, generation=2, deleting=True)),
            BatchJobDeletionStarted(at=after(1)),
            told.dropped(),
        ],
        under_way=[],
    ),
    Row(
        rule="a Job that goes with its owner is no lost attempt",
        story=[*running(backoff_limit=1), LEAVING, job_gone(71)],
        then=[told.vanished(asked=True)],
        under_way=[],
    ),
    Row(
        rule="nothing is retried under deletion",
        story=[*failing(backoff_limit=1), deleted(), LEAVING, job_gone(71)],
        then=[told.vanished(asked=True)],
        under_way=[],
        pending={},
    ),
    Row(
        rule="its end is the end of the stream",
        story=[*running(), manifest_gone()],
        then=[BatchJobDeleted(at=WHEN)],
    ),
    Row(
        rule="nothing of a Job that is gone is news",
        story=[*running(), manifest_gone(), job_gone(901)],
        then=[],
    ),
)
def test_a_job_under_deletion(row: Row) -> None:
    check(row)
