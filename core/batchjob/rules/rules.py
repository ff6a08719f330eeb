"""The rules of a Job: what follows from its state by itself.

They are asked in their order until none has anything to say; then effects and decisions are
compared with what the state calls for.
"""

from collections.abc import Callable
from typing import TypeAlias

from jobledger.core.batchjob.events import (
    BatchAttemptEnded,
    BatchAttemptStarted,
    BatchJobCompleted,
    BatchJobEvent,
    BatchJobFailed,
    BatchJobFailing,
    BatchJobResumed,
    BatchJobSuspended,
    BatchRetryGranted,
    BatchRetryRefused,
)
from jobledger.core.batchjob.evolve.evolve import evolve
from jobledger.core.batchjob.phases import JOB_DELETED, JOB_DELETED_MESSAGE
from jobledger.core.batchjob.rules.desired import called_for, desired_decisions
from jobledger.core.batchjob.state import (
    BatchAttempt,
    BatchJobState,
    is_at_work,
    is_creating,
    is_final,
    is_to_be_suspended,
    name_for,
)
from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.pending.decisions import PendingDecision
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect
from jobledger.core.jobs.reconcile import ReconcileRules
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.retry import UNCLEAR, UNCLEAR_DEADLINE, Blame, delay, judge
from jobledger.core.values.instants import Instant, later

Rule: TypeAlias = Callable[[BatchJobState, Instant], tuple[BatchJobEvent, ...]]

BY_REASON = {JOB_DELETED: FailureClass.HEAD_LOST}
"""Reason -> class of the failure: what runs the attempt went. Of any other the reason says all."""


def failure_class(reason: str) -> FailureClass:
    """Return the class that a reason speaks of."""
    return BY_REASON.get(reason, FailureClass.OTHER)


def end_of_attempt(state: BatchJobState, at: Instant) -> tuple[BatchAttemptEnded, ...]:
    """An attempt ends as its Job does, and fails if that goes before; the first end wins."""
    attempt = state.attempt
    if is_final(state) or attempt is None or attempt.is_over:
        return ()
    if attempt.job is not None and attempt.job.end is not None:
        end = attempt.job.end
        return attempt_ended(attempt, at, end.completed, end.reason, end.message)
    if attempt.is_lost and not is_leaving(state):
        return attempt_ended(attempt, at, False, JOB_DELETED, JOB_DELETED_MESSAGE)  # noqa: FBT003
    return ()


def attempt_ended(
    attempt: BatchAttempt,
    at: Instant,
    completed: bool,  # noqa: FBT001 the end's own value
    reason: str,
    message: str,
) -> tuple[BatchAttemptEnded, ...]:
    """Return the end of an attempt."""
    outcome = "succeeded" if completed else "failed"
    failure = FailureClass.OTHER if completed else failure_class(reason)
    return (
        BatchAttemptEnded(
            at=at,
            attempt=attempt.number,
            outcome=outcome,
            reason=reason,
            message=message,
            failure=failure,
        ),
    )


def _conclusion(state: BatchJobState, at: Instant) -> tuple[BatchJobEvent, ...]:
    """A succeeded attempt completes the job; of a failed one it is judged whether it is retried."""
    attempt = state.attempt
    if is_final(state) or state.failing is not None or attempt is None:
        return ()
    if attempt.outcome == "succeeded":
        end = attempt.job.end if attempt.job is not None else None
        ended_at = end.ended_at if end is not None else at
        reason, message = attempt.reason, attempt.message
        return (BatchJobCompleted(at=at, reason=reason, message=message, ended_at=ended_at),)
    if attempt.outcome == "failed" and attempt.retry_at is None:
        return _judged(state, attempt, at)
    return ()


def _judged(state: BatchJobState, attempt: BatchAttempt, at: Instant) -> tuple[BatchJobEvent, ...]:
    manifest, identity = state.manifest, state.identity
    assert manifest is not None, "an attempt has a manifest"
    assert identity is not None, "a stream begins with who the job is"
    options, failure = manifest.spec.options, failure_class(attempt.reason)
    verdict = judge(
        attempt.reason,
        state.failed,
        manifest.spec.backoff_limit,
        blame=Blame(failure),
        options=options,
    )
    if not verdict.granted:
        message = attempt.message
        if verdict.rule in (UNCLEAR, UNCLEAR_DEADLINE):
            message = f"{message} (not retried: {verdict.rule})".strip()
        refused = BatchRetryRefused(
            at=at,
            attempt=attempt.number,
            backoff_limit=verdict.backoff_limit,
            failed=verdict.failed,
            reason=attempt.reason,
            rule=verdict.rule,
            failure=failure,
        )
        return refused, BatchJobFailing(at=at, reason=attempt.reason, message=message)
    pause = delay(manifest.policy, verdict.failed, options, f"{identity.uid}/{attempt.number}")
    return (
        BatchRetryGranted(
            at=at,
            attempt=attempt.number,
            backoff_limit=verdict.backoff_limit,
            failed=verdict.failed,
            reason=attempt.reason,
            rule=verdict.rule,
            due_at=later(at, pause),
            failure=failure,
        ),
    )


def _failed(state: BatchJobState, at: Instant) -> tuple[BatchJobEvent, ...]:
    """A job that is to fail has failed once nothing of it is at work."""
    if is_final(state) or state.failing is None or is_at_work(state):
        return ()
    return (BatchJobFailed(at=at, reason=state.failing.reason, message=state.failing.message),)


def _suspension(state: BatchJobState, at: Instant) -> tuple[BatchJobEvent, ...]:
    """A job that has not ended says that it is suspended as its specification asks for it."""
    if is_final(state) or state.failing is not None:
        return ()
    if is_to_be_suspended(state):
        return () if state.suspended else (BatchJobSuspended(at=at),)
    return (BatchJobResumed(at=at),) if state.suspended else ()


def _next_attempt(state: BatchJobState, at: Instant) -> tuple[BatchJobEvent, ...]:
    """The first attempt begins at once; another once it is due, and the last one's Job is gone."""
    attempt, manifest = state.attempt, state.manifest
    if is_final(state) or state.failing is not None or is_leaving(state) or manifest is None:
        return ()
    if manifest.spec.suspend:
        return ()
    if attempt is not None:
        is_cleared = attempt.job is None and not is_creating(state)
        if not (attempt.retry_due and is_cleared):
            return ()
    number = attempt.number + 1 if attempt is not None else 1
    return (
        BatchAttemptStarted(
            at=at,
            attempt=number,
            generation=manifest.generation,
            job_name=name_for(state, number),
        ),
    )


RULES: tuple[Rule, ...] = (end_of_attempt, _conclusion, _failed, _suspension, _next_attempt)
"""In order of priority. What is known to have ended has ended, even if it is to be suspended."""


_SUSPEND = {EffectKind.SUSPEND_ATTEMPT_JOB: True, EffectKind.RESUME_ATTEMPT_JOB: False}


def _is_awaited(state: BatchJobState, effect: OpenEffect) -> bool:
    """Return whether an open effect's outcome is still to be heard, though it is not wanted.

    A creation is not dropped while the job goes on: it may have been sent, and no other is asked
    for before it is known what became of that. A deletion is never taken back. What the watch
    shows as done already is waited for.
    """
    if is_dormant(state) or is_leaving(state):
        return False
    kind = effect.desired.kind
    if kind is EffectKind.CREATE_ATTEMPT_JOB:
        return state.failing is None and not is_final(state)
    if kind not in _SUSPEND:
        return True
    job = state.attempt.job if state.attempt is not None else None
    return job is not None and job.suspend is _SUSPEND[kind] is is_to_be_suspended(state)


def _why_cancelled(state: BatchJobState, decision: PendingDecision) -> str:
    del decision
    if state.deleted_at is not None or is_leaving(state):
        return "the Job is being deleted"
    return f"the job is {state.phase.value or 'new'}"


reconcile = ReconcileRules(
    evolve=evolve,
    rules=RULES,
    called_for=called_for,
    desired_decisions=desired_decisions,
    is_awaited=_is_awaited,
    why_cancelled=_why_cancelled,
).reconcile
