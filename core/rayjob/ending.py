"""How an attempt ends.

What the retry rule makes of it. The reasons and messages are upstream's, literally.

Source: KubeRay's rayjob_controller.go and rayjob_types.go (JobFailedReason).
"""

from datetime import timedelta

from core.jobs.retry import delay, judge
from core.rayjob.events import (
    AttemptFailed,
    JobCompleted,
    JobFailed,
    RayJobEvent,
    RetryGranted,
    RetryRefused,
)
from core.rayjob.phases import JobStatus, Phase
from core.rayjob.state import (
    Attempt,
    KnownManifest,
    KnownSubmitter,
    RayJobState,
    has_submitter,
    standing,
)
from core.values.instants import Instant, go_date_time, go_time

APP_FAILED = "AppFailed"
SUBMISSION_FAILED = "SubmissionFailed"
DEADLINE_EXCEEDED = "DeadlineExceeded"
PRE_RUNNING_DEADLINE_EXCEEDED = "PreRunningDeadlineExceeded"
GRACE_PERIOD_EXCEEDED = "JobDeploymentStatusTransitionGracePeriodExceeded"
STATUS_CHECK_TIMEOUT_EXCEEDED = "JobStatusCheckTimeoutExceeded"

GRACE_PERIOD_MESSAGE = (
    "JobDeploymentStatus does not transition to Complete or Failed within the grace period "
    "after JobStatus reaches a terminal state."
)
NOT_FOUND_MESSAGE = "Submitter completed but Ray job not found in RayCluster."


def deadline_message(started_at: Instant, seconds: int) -> str:
    """Return upstream's text for a passed active deadline."""
    return (
        f"The RayJob has passed the activeDeadlineSeconds. StartTime: {go_time(started_at)}. "
        f"ActiveDeadlineSeconds: {seconds}"
    )


def pre_running_deadline_message(started_at: Instant, seconds: int) -> str:
    """Return upstream's text for a passed pre-running deadline."""
    return (
        f"The RayJob has passed the preRunningDeadlineSeconds. StartTime: {go_time(started_at)}. "
        f"PreRunningDeadlineSeconds: {seconds}"
    )


def submitter_timeout_message(finished_at: Instant, timeout: timedelta) -> str:
    """Return upstream's text for a Ray job that outlived its submitter."""
    return (
        f"The RayJob submitter finished at {go_date_time(finished_at)} but the ray job did not "
        f"reach terminal state within {int(timeout.total_seconds())}s"
    )


def status_check_message(since: Instant, timeout: timedelta) -> str:
    """Return upstream's text for a head that stayed silent."""
    return (
        f"Job status checks have been failing since {go_date_time(since)}; "
        f"exceeded timeout of {int(timeout.total_seconds())}s"
    )


def submission_failed_message(reason: str, message: str) -> str:
    """Return upstream's text for a submitter that failed."""
    return f"Job submission has failed. Reason: {reason}. Message: {message}"


def fail(
    state: RayJobState,
    at: Instant,
    reason: str,
    message: str,
    job_status: JobStatus | None = None,
) -> tuple[RayJobEvent, ...]:
    """Return the end of the attempt in failure, and the verdict on another."""
    attempt, manifest = state.attempt, state.manifest
    assert attempt is not None, "only a job with an attempt can fail"
    assert manifest is not None, "an attempt has a manifest"
    verdict = judge(reason, state.failed + 1, manifest.spec.backoff_limit)
    failed = AttemptFailed(
        at=at,
        attempt=attempt.number,
        reason=reason,
        message=message,
        failed=verdict.failed,
        job_status=state.entrypoint.status if job_status is None else job_status,
    )
    numbers = {"attempt": attempt.number, "backoff_limit": verdict.backoff_limit}
    if verdict.granted:
        due_at = at + delay(manifest.policy, verdict.failed)
        granted = RetryGranted(
            at=at,
            **numbers,
            failed=verdict.failed,
            reason=reason,
            rule=verdict.rule,
            due_at=due_at,
        )
        return failed, granted
    refused = RetryRefused(
        at=at, **numbers, failed=verdict.failed, reason=reason, rule=verdict.rule
    )
    return (
        failed,
        refused,
        JobFailed(at=at, attempt=attempt.number, reason=reason, message=message),
    )


def complete(
    state: RayJobState, at: Instant, reason: str = "", message: str | None = None
) -> tuple[RayJobEvent, ...]:
    """Return the end of the job without failure (succeeded, or stopped by somebody)."""
    assert state.attempt is not None, "only a job with an attempt can complete"
    return (
        JobCompleted(
            at=at,
            attempt=state.attempt.number,
            job_status=state.entrypoint.status,
            reason=reason,
            message=state.entrypoint.message if message is None else message,
        ),
    )


def by_ray_status(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    """Return the end that Ray's own account calls for."""
    entrypoint, attempt, manifest = state.entrypoint, state.attempt, state.manifest
    if entrypoint.status is not JobStatus.FAILED:
        return complete(state, at)
    if attempt is not None and manifest is not None:
        seconds = manifest.spec.active_deadline_seconds
        ended_at = entrypoint.ended_at
        if seconds is not None and ended_at is not None:
            due_at = attempt.started_at + timedelta(seconds=seconds)
            if ended_at > due_at:
                message = deadline_message(attempt.started_at, seconds)
                return fail(state, at, DEADLINE_EXCEEDED, message)
    return fail(state, at, APP_FAILED, entrypoint.message)


def conclude(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    """Return the end of a running attempt, if what is known of it amounts to one."""
    attempt, manifest = state.attempt, state.manifest
    if attempt is None or manifest is None or not _may_end(state, attempt):
        return ()
    if attempt.submit_refused:
        message = submission_failed_message("Refused", attempt.submit_refused)
        return fail(state, at, SUBMISSION_FAILED, message)
    submitter = state.submitter if has_submitter(state) else None
    if submitter is not None and submitter.outcome == "Failed":
        return _by_failed_submitter(state, submitter, at)
    if state.entrypoint.has_ended:
        submitter_ended = submitter is None or submitter.outcome != ""
        lost = attempt.cluster_lost or not has_submitter(state)
        return by_ray_status(state, at) if submitter_ended or lost else ()
    return _by_loss(state, attempt, manifest, submitter, at)


def _may_end(state: RayJobState, attempt: Attempt) -> bool:
    """Return whether the attempt can end: it is running, or waits on a cluster that was lost."""
    phase = standing(state)
    return phase is Phase.RUNNING or (phase is Phase.WAITING and attempt.cluster_lost)


def _by_failed_submitter(
    state: RayJobState, submitter: KnownSubmitter, at: Instant
) -> tuple[RayJobEvent, ...]:
    """Return the failure that a failed submitter is, once the Ray job was asked a last time."""
    attempt, entrypoint = state.attempt, state.entrypoint
    waiting = attempt is not None and attempt.look_wanted and not attempt.cluster_lost
    if waiting and not entrypoint.has_ended:
        return ()
    if entrypoint.status is JobStatus.FAILED:
        return fail(state, at, APP_FAILED, entrypoint.message)
    message = submission_failed_message(submitter.reason, submitter.message)
    return fail(state, at, SUBMISSION_FAILED, message)


def _by_loss(
    state: RayJobState,
    attempt: Attempt,
    manifest: KnownManifest,
    submitter: KnownSubmitter | None,
    at: Instant,
) -> tuple[RayJobEvent, ...]:
    """Return the failure that the loss of the RayCluster or of the Ray job is."""
    if attempt.cluster_lost:
        message = f"RayCluster {attempt.cluster_name} was deleted while the job was running on it."
        return fail(state, at, APP_FAILED, message)
    if not state.entrypoint.missed:
        return ()
    if submitter is not None and submitter.outcome != "":
        return fail(state, at, APP_FAILED, NOT_FOUND_MESSAGE)
    if state.entrypoint.status is not JobStatus.NEW or attempt.submitted:
        message = (
            f"Ray job {attempt.job_id} is no longer known to the head of RayCluster "
            f"{attempt.cluster_name or manifest.spec.cluster_selector}: the head was restarted "
            "and has lost its jobs."
        )
        return fail(state, at, APP_FAILED, message)
    return ()
