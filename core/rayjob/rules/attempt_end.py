"""The end of an attempt: its events and its outcome.

What the retry rule makes of it. The reasons and messages are upstream's, literally.
Source: KubeRay's rayjob_controller.go and rayjob_types.go (JobFailedReason).
"""

from datetime import timedelta

from msgspec.structs import replace

from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.job_deadline import passed_message
from jobledger.core.jobs.retries.retry import (
    NEVER_RETRIED,
    UNCLEAR,
    UNCLEAR_DEADLINE,
    Blame,
    delay,
    judge,
)
from jobledger.core.rayjob.ending import job_deadline
from jobledger.core.rayjob.events.lifecycle import (
    AttemptFailed,
    FailureNoticed,
    JobCompleted,
    JobFailed,
    RayJobEvent,
    RetryGranted,
    RetryRefused,
)
from jobledger.core.rayjob.observations.ray_job import UNKNOWN_TO_ITS_HEAD
from jobledger.core.rayjob.phases import JobStatus, Phase
from jobledger.core.rayjob.rules.failure_class import by_evidence, by_reason, cause_in, of_submitter
from jobledger.core.rayjob.rules.left_alone import LEFT_ALONE_MESSAGE, is_left_alone
from jobledger.core.rayjob.rules.same_cluster import why_new_cluster
from jobledger.core.rayjob.state import (
    Attempt,
    Failing,
    KnownManifest,
    KnownSubmitter,
    RayJobState,
    awaits_submitter,
    is_sidecar,
    standing,
    submitter_of,
)
from jobledger.core.values.instants import Instant, go_date_time, go_time

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
HEAD_GONE_MESSAGE = "Ray head pod not found."
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


def fail(  # noqa: PLR0913  # what is optional is named
    state: RayJobState,
    at: Instant,
    reason: str,
    message: str,
    job_status: JobStatus | None = None,
    *,
    failure: FailureClass | None = None,
    since: Instant | None = None,
) -> tuple[RayJobEvent, ...]:
    """Return the end of the attempt in failure, and the verdict on another.

    Where a retry policy needs evidence, the verdict waits for a look at the Pods. `failure` is the
    class where more is known of it than the reason says, `since` when it failed, where the caller
    knows. Whatever fails after a deadline, the attempt's or the job's, has exceeded it, and is not
    retried.
    """
    assert state.attempt is not None, "only a job with an attempt can fail"
    assert state.manifest is not None, "an attempt has a manifest"
    passed = passed_deadline(state, since or _failed_at(state, at))
    if reason != DEADLINE_EXCEEDED and passed:
        reason, message, failure = DEADLINE_EXCEEDED, passed, None
    failing = Failing(
        reason=reason,
        message=message,
        job_status=state.entrypoint.status if job_status is None else job_status,
        failure=by_reason(reason) if failure is None else failure,
        since=at,
    )
    if not state.manifest.options.rules or reason in NEVER_RETRIED:
        return _judged(state, failing, at)
    return (
        FailureNoticed(
            at=at,
            attempt=state.attempt.number,
            reason=reason,
            message=message,
            job_status=failing.job_status,
            failure=failing.failure,
        ),
    )


def passed_deadline(state: RayJobState, instant: Instant | None) -> str:
    """Return what is said of the deadline that was over by then; empty: none was, or it is unknown.

    That is the attempt's own or the one over all attempts.
    """
    if state.attempt is None or state.manifest is None or instant is None:
        return ""
    seconds, began = state.manifest.spec.active_deadline_seconds, state.attempt.started_at
    if seconds is not None and instant > began + timedelta(seconds=seconds):
        return deadline_message(began, seconds)
    due = job_deadline(state)
    return job_deadline_message(state) if due is not None and instant > due else ""


def job_deadline_message(state: RayJobState) -> str:
    """Return what is said of a deadline over all attempts that has passed."""
    options = state.manifest.options if state.manifest is not None else None
    seconds = options.job_deadline_seconds if options is not None else None
    assert state.deadline_from is not None, "a deadline counts from an attempt"
    return passed_message("RayJob", state.deadline_from, seconds or 0)


def overtaken(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    """Return the end of a job between two attempts, whose deadline over all of them has passed."""
    assert state.attempt is not None, "only a job with an attempt has such a deadline"
    return (
        JobFailed(
            at=at,
            attempt=state.attempt.number,
            reason=DEADLINE_EXCEEDED,
            message=job_deadline_message(state),
        ),
    )


def _failed_at(state: RayJobState, at: Instant) -> Instant | None:
    """Return when a failure that is seen now came about, None where nobody said so.

    What Ray says comes first, then what the submitter's end says of a Ray job that never ran.
    """
    entrypoint, submitter = state.entrypoint, submitter_of(state)
    if entrypoint.has_ended:
        return entrypoint.ended_at
    has_run = entrypoint.status is not JobStatus.NEW
    if submitter is not None and submitter.outcome == "Failed" and not has_run:
        return submitter.finished_at or at
    return at


def judge_failing(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    """Return the verdict on a failure that waited for evidence; nothing while it still does."""
    failing = state.attempt.failing if state.attempt is not None else None
    if failing is None or not failing.looked:
        return ()
    return _judged(state, failing, at)


def _judged(state: RayJobState, failing: Failing, at: Instant) -> tuple[RayJobEvent, ...]:
    """Return the failure, what the retry rule says to it, and what it was judged by."""
    attempt, manifest, identity = state.attempt, state.manifest, state.identity
    assert attempt is not None, "only a job with an attempt can fail"
    assert manifest is not None, "an attempt has a manifest"
    options, exit_code = manifest.options, state.entrypoint.exit_code
    failure, evidence = by_evidence(
        failing.failure,
        exit_code,
        failing.pods,
        attempt.head_taken,
        is_named=options.speaks_of(exit_code),
    )
    verdict = judge(
        failing.reason,
        state.failed + 1,
        manifest.spec.backoff_limit,
        blame=Blame(failure, exit_code, cause_in(failure, state, failing)),
        uncounted=state.uncounted,
        options=options,
    )
    number, reason = attempt.number, failing.reason
    message = failing.message
    if verdict.rule in (UNCLEAR, UNCLEAR_DEADLINE):
        message = f"{message} (not retried: {verdict.rule})".strip()
    failed = AttemptFailed(
        at=at,
        attempt=number,
        reason=reason,
        message=message,
        failed=verdict.failed,
        job_status=failing.job_status,
    )
    refused = RetryRefused(
        at=at,
        attempt=number,
        backoff_limit=verdict.backoff_limit,
        failed=verdict.failed,
        reason=reason,
        rule=verdict.rule,
        failure=failure,
        exit_code=exit_code,
        evidence=evidence or failing.trouble,
        uncounted=verdict.uncounted,
        uncounted_max=options.uncounted_max if options.rules else 0,
    )
    if not verdict.granted:
        ended = JobFailed(at=at, attempt=number, reason=reason, message=message)
        return failed, refused, ended
    seed = f"{identity.uid if identity is not None else ''}/{number}"
    pause = delay(manifest.policy, verdict.failed + verdict.uncounted, options, seed)
    granted = _granted(refused, at + pause, counted=verdict.counted)
    if options.same_cluster:
        why = why_new_cluster(state, failing.reason)
        granted = replace(granted, keeps_cluster=not why, new_cluster_because=why)
    return failed, granted


def _granted(judged: RetryRefused, due_at: Instant, *, counted: bool) -> RetryGranted:
    """Return a grant judged by the same numbers."""
    return RetryGranted(
        at=judged.at,
        attempt=judged.attempt,
        backoff_limit=judged.backoff_limit,
        failed=judged.failed,
        reason=judged.reason,
        rule=judged.rule,
        due_at=due_at,
        counted=counted,
        failure=judged.failure,
        exit_code=judged.exit_code,
        evidence=judged.evidence,
        uncounted=judged.uncounted,
        uncounted_max=judged.uncounted_max,
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
    if state.entrypoint.status is not JobStatus.FAILED:
        return complete(state, at)
    return fail(state, at, APP_FAILED, state.entrypoint.message)


def conclude(state: RayJobState, at: Instant) -> tuple[RayJobEvent, ...]:
    """Return the end of a running attempt, if what is known of it amounts to one."""
    attempt, manifest = state.attempt, state.manifest
    if attempt is None or manifest is None or not _may_end(state, attempt):
        return ()
    if attempt.submit_refused:
        message = submission_failed_message("Refused", attempt.submit_refused)
        return fail(state, at, SUBMISSION_FAILED, message)
    submitter = submitter_of(state)
    if submitter is not None and submitter.outcome == "Failed":
        return _by_failed_submitter(state, submitter, at)
    if state.entrypoint.has_ended:
        submitter_ended = not is_sidecar(state) if submitter is None else submitter.outcome != ""
        lost = attempt.cluster_lost or attempt.head_lost or not awaits_submitter(state)
        return by_ray_status(state, at) if submitter_ended or lost else ()
    return _by_loss(state, attempt, manifest, submitter, at)


def _may_end(state: RayJobState, attempt: Attempt) -> bool:
    """Return whether the attempt can end: it is running, or waits on a cluster that was lost."""
    phase, lost = standing(state), attempt.cluster_lost or attempt.head_lost
    return phase is Phase.RUNNING or (phase is Phase.WAITING and lost)


def _by_failed_submitter(
    state: RayJobState, submitter: KnownSubmitter, at: Instant
) -> tuple[RayJobEvent, ...]:
    """Return the failure that a failed submitter is, once the Ray job was asked a last time."""
    attempt, entrypoint = state.attempt, state.entrypoint
    lost = attempt is not None and (attempt.cluster_lost or attempt.head_lost)
    waiting = attempt is not None and attempt.look_wanted and not lost
    if waiting and not entrypoint.has_ended:
        return ()
    forgiving = state.manifest is not None and state.manifest.spec.ray_success_wins
    if forgiving and entrypoint.status is JobStatus.SUCCEEDED:
        return complete(state, at)
    if entrypoint.status is JobStatus.FAILED:
        return fail(state, at, APP_FAILED, entrypoint.message)
    told = submission_failed_message(submitter.reason, submitter.message)
    message = submitter.message if is_sidecar(state) else told
    return fail(state, at, SUBMISSION_FAILED, message, failure=of_submitter(state))


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
        return fail(state, at, APP_FAILED, message, failure=FailureClass.HEAD_LOST)
    if attempt.head_restarted:
        name = attempt.cluster_name or manifest.spec.cluster_selector
        message = (
            f"The head of RayCluster {name} was restarted ({attempt.head_restarted}) and has lost "
            "its jobs."
        )
        return fail(state, at, APP_FAILED, message, failure=FailureClass.HEAD_LOST)
    if attempt.head_lost:
        return fail(state, at, APP_FAILED, HEAD_GONE_MESSAGE, failure=FailureClass.HEAD_LOST)
    if not state.entrypoint.missed:
        return ()
    if submitter is not None and submitter.outcome != "":
        failure = (
            FailureClass.HEAD_LOST
            if state.entrypoint.status is not JobStatus.NEW
            else FailureClass.SUBMISSION
        )
        return fail(state, at, APP_FAILED, NOT_FOUND_MESSAGE, failure=failure)
    if is_left_alone(state):
        return fail(state, at, APP_FAILED, LEFT_ALONE_MESSAGE, failure=FailureClass.SUBMISSION)
    known = state.entrypoint.status is not JobStatus.NEW or attempt.submitted
    if known and not manifest.spec.recovers_lost_heads:
        message = (
            f"Ray job {attempt.job_id} is no longer known to the head of RayCluster "
            f"{attempt.cluster_name or manifest.spec.cluster_selector}: {_why_unknown(state)}."
        )
        return fail(state, at, APP_FAILED, message, failure=FailureClass.HEAD_LOST)
    return ()


def _why_unknown(state: RayJobState) -> str:
    """Return what is concluded from a head that does not know a job it had."""
    if state.entrypoint.trouble == UNKNOWN_TO_ITS_HEAD:
        return "its Pod is the same, but its Ray processes have lost their jobs"
    return "the head was restarted and has lost its jobs"
