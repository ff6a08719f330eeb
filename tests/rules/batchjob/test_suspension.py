"""Suspension of a Job is passed on to the Job of its attempt; it is no new attempt."""

from jobledger.core.batchjob.events import BatchJobDiscovered, BatchJobResumed, BatchJobSuspended
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.policy import Policy
from tests.rules.batchjob.rows import Row, check, table
from tests.support import batchjob_events as told
from tests.support.batchjobs import (
    DELETE,
    IDENTITY,
    RESUME,
    SUSPEND,
    Step,
    after,
    created,
    deleted,
    failed_end,
    failing,
    job,
    job_gone,
    manifest,
    outcome,
    play,
    running,
)
from tests.support.rows import WHEN

SUSPENDED = manifest(20, generation=2, suspend=True, backoff_limit=1)
RESUMED = manifest(40, generation=3, backoff_limit=1)
WITHIN = "failed attempt 1 is within backoffLimit 1"
DEADLINE = DecisionKind.JOB_DEADLINE
CAUSE = "jobledger.dev/job-deadline-seconds 100 over all attempts"


def suspended() -> tuple[Step, ...]:
    """Return a job that is suspended since 22 s."""
    done = outcome(SUSPEND, 21, uid="job-1")
    return *running(backoff_limit=1), SUSPENDED, done, job(22, suspend=True)


@table(
    Row(
        rule="a Job that is born suspended makes nothing: it may be changed before it is resumed",
        story=[manifest(suspend=True)],
        then=[
            BatchJobDiscovered(at=WHEN, identity=IDENTITY),
            told.received(manifest(suspend=True)),
            BatchJobSuspended(at=WHEN),
        ],
        phase="Suspended",
        conditions=["Suspended=True/JobSuspended"],
        under_way=[],
    ),
    Row(
        rule="its first attempt begins when it is resumed, from what it is then",
        story=[manifest(suspend=True), RESUMED],
        then=[
            told.received(RESUMED),
            BatchJobResumed(at=WHEN),
            told.started(generation=3),
            told.requested(generation=3),
        ],
        phase="Running",
        conditions=["Suspended=False/JobResumed"],
    ),
    Row(
        rule="a running Job that is suspended has the Job of its attempt suspended",
        story=[*running(backoff_limit=1), SUSPENDED],
        then=[
            told.received(SUSPENDED),
            BatchJobSuspended(at=WHEN),
            told.requested(SUSPEND, uid="job-1", generation=2),
        ],
        phase="Suspended",
        under_way=["suspend_attempt_job"],
    ),
    Row(
        rule="what the attempt's Job shows then is no end of the attempt",
        story=suspended(),
        then=[told.observed(suspend=True)],
        phase="Suspended",
        under_way=[],
    ),
    Row(
        rule="it goes on in the same attempt when it is resumed",
        story=[*suspended(), RESUMED],
        then=[
            told.received(RESUMED),
            BatchJobResumed(at=WHEN),
            told.requested(RESUME, uid="job-1", generation=3),
        ],
        phase="Running",
        facts={"retries": 0, "failed": 0},
    ),
    Row(
        rule="a suspension that is taken back before it was sent is dropped",
        story=[*running(backoff_limit=1), SUSPENDED, RESUMED],
        then=[told.received(RESUMED), BatchJobResumed(at=WHEN), told.dropped(SUSPEND)],
        under_way=[],
    ),
    Row(
        rule="what the watch shows as done is still waited for",
        story=[*running(backoff_limit=1), SUSPENDED, job(21, suspend=True)],
        then=[told.observed(suspend=True)],
        under_way=["suspend_attempt_job"],
    ),
    Row(
        rule="somebody who resumes the attempt's Job alone is overruled",
        story=[*suspended(), job(30, active=1)],
        then=[told.observed(active=1), told.requested(SUSPEND, uid="job-1", generation=2)],
    ),
    Row(
        rule="a creation under way is not dropped by a suspension: it may have been sent",
        story=[manifest(), manifest(1, generation=2, suspend=True)],
        then=[told.received(manifest(1, generation=2, suspend=True)), BatchJobSuspended(at=WHEN)],
        under_way=["create_attempt_job"],
    ),
    Row(
        rule="and what it has made is suspended then",
        story=[manifest(), manifest(1, generation=2, suspend=True), created(2)],
        then=[told.done(), told.requested(SUSPEND, uid="job-1", generation=2)],
    ),
    Row(
        rule="a failed attempt is cleared away while the job is suspended, and none begins",
        story=[*failing(backoff_limit=1), SUSPENDED, deleted(62), job_gone(63)],
        then=[told.vanished(asked=True)],
        phase="Suspended",
        under_way=[],
    ),
    Row(
        rule="the next begins when it is resumed",
        story=[*failing(backoff_limit=1), SUSPENDED, deleted(62), job_gone(63), RESUMED],
        then=[
            told.received(RESUMED),
            BatchJobResumed(at=WHEN),
            told.started(2, generation=3),
            told.requested(attempt=2, generation=3),
        ],
        phase="Running",
    ),
    Row(
        rule="an attempt that fails while the job is suspended is judged all the same",
        story=[*suspended(), job(30, suspend=True, end=failed_end(30))],
        then=[
            told.observed(suspend=True, end=failed_end(30)),
            told.ended("failed"),
            told.granted(WITHIN),
            told.requested(DELETE, uid="job-1", generation=2),
        ],
        phase="Suspended",
    ),
    Row(
        rule="a suspension ends the deadline over all attempts",
        story=[*running(deadline=100), manifest(20, generation=2, suspend=True, deadline=100)],
        then=[
            told.received(manifest(20, generation=2, suspend=True, deadline=100)),
            BatchJobSuspended(at=WHEN),
            told.requested(SUSPEND, uid="job-1", generation=2),
            told.cancelled(DEADLINE, cause="the job is Suspended"),
        ],
        pending={},
    ),
    Row(
        rule="it counts anew from the resumption of an attempt that goes on",
        story=[
            *running(deadline=100),
            manifest(20, generation=2, suspend=True, deadline=100),
            manifest(40, generation=3, deadline=100),
        ],
        then=[
            told.received(manifest(40, generation=3, deadline=100)),
            BatchJobResumed(at=WHEN),
            told.dropped(SUSPEND),
            told.scheduled(DEADLINE, after(140), cause=CAUSE),
        ],
        pending={"job_deadline": 140},
    ),
    Row(
        rule="a pause before a retry does not end in a suspension",
        story=[*failing(backoff_limit=1, policy=Policy(retry_delay_seconds=5)), SUSPENDED],
        then=[
            told.received(SUSPENDED),
            BatchJobSuspended(at=WHEN),
            told.cancelled(DecisionKind.RETRY, cause="the job is Suspended"),
        ],
        pending={},
    ),
)
def test_suspension(row: Row) -> None:
    check(row)


def test_a_resumed_job_says_since_when_it_is() -> None:
    story = (*running(), manifest(20, generation=2, suspend=True))
    assert play(story).state.suspension_changed_at == after(20)
    resumed = play([*story, manifest(40, generation=3)])
    assert resumed.state.suspension_changed_at == after(40)
