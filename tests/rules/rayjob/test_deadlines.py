"""The two deadlines of an attempt (trace T4; scenario e), and the look before a verdict."""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import JobCompleted
from jobledger.core.rayjob.phases import JobStatus
from tests.support.rayjob_builders import (
    HTTP,
    INTERACTIVE,
    cluster_of,
    due,
    manifest,
    poll,
    silence,
    submitter,
)
from tests.support.rayjob_events import (
    asked,
    cancelled,
    dropped,
    failed_for_good,
    failed_to_retry,
    fired,
    ray_says,
    received,
    scheduled,
)
from tests.support.rayjob_stories import failed_attempts, initializing, running, seen, working
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, table

ACTIVE, PRE_RUNNING = DecisionKind.ACTIVE_DEADLINE, DecisionKind.PRE_RUNNING_DEADLINE
PASSED = (
    "The RayJob has passed the activeDeadlineSeconds. "
    "StartTime: 2026-11-21 12:00:00 +0000 UTC. ActiveDeadlineSeconds: 60"
)
PASSED_PRE_RUNNING = (
    "The RayJob has passed the preRunningDeadlineSeconds. "
    "StartTime: 2026-11-21 12:00:00 +0000 UTC. PreRunningDeadlineSeconds: 20"
)
NEVER = "DeadlineExceeded is never retried"
MINUTE = "activeDeadlineSeconds 60 of this attempt"
LATE = working(active_deadline_seconds=60, submission_mode=HTTP)
EDITED = manifest(50, generation=2, active_deadline_seconds=90, finalizer=True)


@table(
    Row(
        rule="a running job that passes its active deadline fails, whatever its limit (T4)",
        given=working(active_deadline_seconds=60, backoff_limit=2),
        when=due(ACTIVE),
        then=(
            fired(ACTIVE, 60),
            *failed_for_good("DeadlineExceeded", PASSED, NEVER, status="RUNNING", backoff_limit=2),
        ),
    ),
    Row(
        rule="a deadline in Initializing needs no look, there is no Ray job yet (scenario e)",
        given=initializing(active_deadline_seconds=60, backoff_limit=3),
        when=due(ACTIVE, looked=False),
        then=(
            fired(ACTIVE, 60),
            *failed_for_good("DeadlineExceeded", PASSED, NEVER, backoff_limit=3),
        ),
    ),
    Row(
        rule="a cluster that is being created when the deadline passes may exist: it is not leaked",
        given=seen(active_deadline_seconds=60, shutdown_after_job_finishes=True),
        when=due(ACTIVE, looked=False),
        then=(
            fired(ACTIVE, 60),
            *failed_for_good("DeadlineExceeded", PASSED, NEVER),
            dropped(EffectKind.CREATE_CLUSTER, cluster_of()),
            scheduled(DecisionKind.TTL_SHUTDOWN, 60, "ttlSecondsAfterFinished 0"),
        ),
    ),
    Row(
        rule="the pre-running deadline is a failure like others: it is retried within the limit",
        given=initializing(pre_running_deadline_seconds=20, backoff_limit=1),
        when=due(PRE_RUNNING, looked=False),
        then=(
            fired(PRE_RUNNING, 20),
            *failed_to_retry(
                "PreRunningDeadlineExceeded", PASSED_PRE_RUNNING, backoff_limit=1, due_at=20
            ),
            asked(EffectKind.DELETE_CLUSTER, cluster_of(), uid="cluster-1"),
            scheduled(DecisionKind.RETRY, 20, "attempt 1 failed (PreRunningDeadlineExceeded)"),
        ),
    ),
    Row(
        rule="without a limit the pre-running deadline ends the job",
        given=initializing(pre_running_deadline_seconds=20),
        when=due(PRE_RUNNING, looked=False),
        then=(
            fired(PRE_RUNNING, 20),
            *failed_for_good("PreRunningDeadlineExceeded", PASSED_PRE_RUNNING, "backoffLimit is 0"),
        ),
    ),
    Row(
        rule="a firing before its instant is none",
        given=working(active_deadline_seconds=60),
        when=due(ACTIVE, 59.9),
    ),
    Row(
        rule="a firing that would end an attempt without a look is ignored",
        given=working(active_deadline_seconds=60),
        when=due(ACTIVE, looked=False),
    ),
    Row(
        rule="a job that succeeded before its deadline and is seen late completes",
        given=LATE,
        when=poll("SUCCEEDED", 5000, started_at=25, ended_at=59),
        then=(
            ray_says("SUCCEEDED", started_at=25, ended_at=59),
            JobCompleted(at=WHEN, attempt=1, job_status=JobStatus.SUCCEEDED),
            cancelled(ACTIVE, "attempt 1 has ended"),
        ),
    ),
    Row(
        rule="a job that failed before its deadline and is seen late is the application's failure",
        given=LATE,
        when=poll("FAILED", 5000, ended_at=59, message="boom"),
        then=(
            ray_says("FAILED", ended_at=59, message="boom"),
            *failed_for_good("AppFailed", "boom", "backoffLimit is 0", status="FAILED"),
            cancelled(ACTIVE, "attempt 1 has ended"),
        ),
    ),
    Row(
        rule="a job that failed after its deadline and is seen late has passed its deadline",
        given=LATE,
        when=poll("FAILED", 5000, ended_at=61, message="boom"),
        then=(
            ray_says("FAILED", ended_at=61, message="boom"),
            *failed_for_good("DeadlineExceeded", PASSED, NEVER, status="FAILED"),
            cancelled(ACTIVE, "attempt 1 has ended"),
        ),
    ),
    Row(
        rule="an edit of activeDeadlineSeconds reschedules the deadline of this attempt",
        given=working(active_deadline_seconds=60),
        when=EDITED,
        then=(
            received(EDITED),
            cancelled(ACTIVE, "its instant has changed"),
            scheduled(ACTIVE, 90, "activeDeadlineSeconds 90 of this attempt"),
        ),
    ),
    Row(
        rule="a deadline that is taken away is cancelled",
        given=working(active_deadline_seconds=60),
        when=manifest(50, generation=2, finalizer=True),
        then=(
            received(manifest(50, generation=2, finalizer=True)),
            cancelled(ACTIVE, "the job is Running, Ray says RUNNING"),
        ),
    ),
    Row(
        rule="once Ray's account has ended, the active deadline has nothing to end any more",
        given=working(active_deadline_seconds=60),
        when=poll("SUCCEEDED", 58, ended_at=57),
        then=(
            ray_says("SUCCEEDED", ended_at=57),
            cancelled(ACTIVE, "the job is Running, Ray says SUCCEEDED"),
            scheduled(
                DecisionKind.TRANSITION_GRACE,
                357,
                "the Ray job is SUCCEEDED, its submitter has not ended",
            ),
        ),
    ),
)
def test_deadlines(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="the pre-running deadline ends with Running",
        story=running(pre_running_deadline_seconds=20, active_deadline_seconds=60),
        pending={"active_deadline": 60},
    ),
    Outlook(
        rule="both deadlines bound an interactive job that waits for its user",
        story=running(
            submission_mode=INTERACTIVE,
            pre_running_deadline_seconds=20,
            active_deadline_seconds=60,
        ),
        status={"jobDeploymentStatus": "Waiting"},
        pending={"active_deadline": 60, "pre_running_deadline": 20},
    ),
    Outlook(
        rule="a deadline after ordinary failures ends the job with all of them counted",
        story=(
            *failed_attempts(1, backoff_limit=5, active_deadline_seconds=90),
            due(ACTIVE, looked=False),
        ),
        status={"jobDeploymentStatus": "Failed", "reason": "DeadlineExceeded", "failed": 2},
    ),
    Outlook(
        rule="a silent head does not save a job from its deadline",
        story=(*working(active_deadline_seconds=60), silence(61), due(ACTIVE, 62)),
        status={"jobDeploymentStatus": "Failed", "reason": "DeadlineExceeded"},
    ),
    Outlook(
        rule="an ended Ray job whose submitter goes on past the deadline still completes",
        story=(
            *working(active_deadline_seconds=60),
            poll("SUCCEEDED", 58, ended_at=57),
            submitter("Complete", 65),
        ),
        status={"jobDeploymentStatus": "Complete"},
        pending={},
    ),
    Outlook(
        rule="a deadline of a running attempt leaves its cluster for the shutdown",
        story=(
            *working(active_deadline_seconds=60, shutdown_after_job_finishes=True),
            due(ACTIVE, 61),
        ),
        under_way=[],
        pending={"ttl_shutdown": 61},
    ),
)
def test_what_deadlines_bound(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
