"""The effects and decisions that a Job's state calls for."""

from collections.abc import Iterator

from jobledger.core.batchjob.phases import FINAL, Phase
from jobledger.core.batchjob.state import BatchAttempt, BatchJobState, is_to_be_suspended
from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.pending.decisions import DecisionKind, DesiredDecision
from jobledger.core.jobs.pending.effects import DesiredEffect, EffectKind
from jobledger.core.jobs.reconcile import tries
from jobledger.core.jobs.retries.job_deadline import cause, due_at


def called_for(state: BatchJobState) -> tuple[DesiredEffect, ...]:
    """Return every effect that the state calls for, whether it has to wait or not.

    At most one at a time about the present attempt, and one for each Job of an earlier one that is
    there again. What a Job under deletion owns goes with it.
    """
    attempt = state.attempt
    if is_dormant(state) or is_leaving(state) or attempt is None:
        return ()
    late_jobs = tuple(
        DesiredEffect(kind=EffectKind.DELETE_ATTEMPT_JOB, name=late.name, uid=late.uid)
        for late in state.late_jobs
        if not late.delete_asked
    )
    kind = _desired_of(state, attempt)
    if kind is None:
        return late_jobs
    uid = attempt.job.uid if attempt.job is not None else ""
    return (*late_jobs, DesiredEffect(kind=kind, name=attempt.job_name, uid=uid))


def _desired_of(state: BatchJobState, attempt: BatchAttempt) -> EffectKind | None:
    """Return what is to be done about the Job of the present attempt; None: nothing.

    The Job of a failed attempt that is followed by another goes, and so does one that is still at
    work when the job fails, or comes to light only then. That of the last attempt stays: its Pods
    have the logs.
    """
    job, goes_on = attempt.job, state.failing is None and state.phase not in FINAL
    if job is None:
        missing = goes_on and not (attempt.is_over or attempt.is_lost or state.late_jobs)
        return EffectKind.CREATE_ATTEMPT_JOB if missing and not is_to_be_suspended(state) else None
    if goes_on and not attempt.is_over:
        return _suspension(state, attempt)
    is_followed = goes_on and attempt.retry_at is not None
    is_in_vain = state.failing is not None and job.end is None
    if (is_followed or is_in_vain) and not (job.deleting or job.delete_asked):
        return EffectKind.DELETE_ATTEMPT_JOB
    return None


def _suspension(state: BatchJobState, attempt: BatchAttempt) -> EffectKind | None:
    """Return what makes the attempt's Job as suspended as the user's; one that goes is left."""
    job, suspend = attempt.job, is_to_be_suspended(state)
    if job is None or job.deleting or job.end is not None or job.suspend is suspend:
        return None
    return EffectKind.SUSPEND_ATTEMPT_JOB if suspend else EffectKind.RESUME_ATTEMPT_JOB


def desired_decisions(state: BatchJobState) -> tuple[DesiredDecision, ...]:
    """Return every decision that should be pending now."""
    manifest = state.manifest
    if is_dormant(state) or is_leaving(state) or manifest is None:
        return ()
    return (
        *tries(state, called_for, manifest.policy.effect_retry_seconds),
        *_deadline(state),
        *_retry(state),
    )


def _deadline(state: BatchJobState) -> Iterator[DesiredDecision]:
    """Yield the deadline over all attempts, which bounds the pauses between them as well."""
    seconds = state.manifest.spec.options.job_deadline_seconds if state.manifest is not None else 0
    if not seconds or state.deadline_from is None:
        return
    if state.phase in (Phase.RUNNING, Phase.RETRYING):
        due = due_at(state.deadline_from, seconds)
        yield DesiredDecision(kind=DecisionKind.JOB_DEADLINE, due_at=due, cause=cause(seconds))


def _retry(state: BatchJobState) -> Iterator[DesiredDecision]:
    attempt = state.attempt
    if state.phase is not Phase.RETRYING or attempt is None or attempt.retry_at is None:
        return
    if not attempt.retry_due:
        why = f"attempt {attempt.number} failed ({attempt.reason})"
        yield DesiredDecision(kind=DecisionKind.RETRY, due_at=attempt.retry_at, cause=why)
