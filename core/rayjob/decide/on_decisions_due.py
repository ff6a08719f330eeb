"""Events that follow when a decision falls due."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias, assert_never

from jobledger.core.jobs.outcomes import firing_of
from jobledger.core.jobs.pending.decisions import DecisionKind, PendingDecision
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.rules.attempt_end import (
    DEADLINE_EXCEEDED,
    GRACE_PERIOD_EXCEEDED,
    GRACE_PERIOD_MESSAGE,
    PRE_RUNNING_DEADLINE_EXCEEDED,
    STATUS_CHECK_TIMEOUT_EXCEEDED,
    complete,
    deadline_message,
    fail,
    job_deadline_message,
    overtaken,
    pre_running_deadline_message,
    status_check_message,
    submitter_timeout_message,
)
from jobledger.core.rayjob.rules.desired_decisions import ACTIVE
from jobledger.core.rayjob.state import RayJobState, standing, submitter_of
from jobledger.core.values.instants import Instant

Consequence: TypeAlias = Callable[[RayJobState, PendingDecision, Instant], tuple[RayJobEvent, ...]]


def fire(state: RayJobState, decision: PendingDecision, at: Instant) -> tuple[RayJobEvent, ...]:
    """Return the firing and what follows from it.

    That the decision still holds need not be asked here: a state that no longer calls for it has
    cancelled it.
    """
    fired = firing_of(decision, at)
    return fired, *_consequence(decision.kind)(state, decision, at)


def _consequence(kind: DecisionKind) -> Consequence:
    match kind:
        case DecisionKind.ACTIVE_DEADLINE:
            return _active_deadline
        case DecisionKind.JOB_DEADLINE:
            return _job_deadline
        case DecisionKind.PRE_RUNNING_DEADLINE:
            return _pre_running_deadline
        case DecisionKind.TRANSITION_GRACE:
            return _transition_grace
        case DecisionKind.SUBMITTER_FINISHED:
            return _submitter_finished
        case DecisionKind.STATUS_CHECK:
            return _status_check
        case (
            DecisionKind.RETRY
            | DecisionKind.TTL_SHUTDOWN
            | DecisionKind.DELETION_RULE
            | DecisionKind.EVIDENCE
            | DecisionKind.EFFECT_RETRY
        ):
            return _nothing_at_once
        case _:
            assert_never(kind)


def _nothing_at_once(
    state: RayJobState, decision: PendingDecision, at: Instant
) -> tuple[RayJobEvent, ...]:
    """Return nothing: the firing itself changes the state, and the rules go on from there."""
    del state, decision, at
    return ()


def _active_deadline(
    state: RayJobState, decision: PendingDecision, at: Instant
) -> tuple[RayJobEvent, ...]:
    del decision
    if state.attempt is None or state.manifest is None:
        return ()
    seconds = state.manifest.spec.active_deadline_seconds or 0
    message = deadline_message(state.attempt.started_at, seconds)
    return fail(state, at, DEADLINE_EXCEEDED, message)


def _job_deadline(
    state: RayJobState, decision: PendingDecision, at: Instant
) -> tuple[RayJobEvent, ...]:
    """Return the end of the job: of its attempt, or between two of them without another."""
    del decision
    if standing(state) not in ACTIVE:
        return overtaken(state, at)
    return fail(state, at, DEADLINE_EXCEEDED, job_deadline_message(state))


def _pre_running_deadline(
    state: RayJobState, decision: PendingDecision, at: Instant
) -> tuple[RayJobEvent, ...]:
    """Return the end by this deadline; where both are due at once, the active one goes first."""
    if state.attempt is None or state.manifest is None:
        return ()
    spec = state.manifest.spec
    seconds = spec.pre_running_deadline_seconds or 0
    if spec.active_deadline_seconds is not None and spec.active_deadline_seconds <= seconds:
        return _active_deadline(state, decision, at)
    message = pre_running_deadline_message(state.attempt.started_at, seconds)
    return fail(state, at, PRE_RUNNING_DEADLINE_EXCEEDED, message, since=decision.due_at)


def _transition_grace(
    state: RayJobState, decision: PendingDecision, at: Instant
) -> tuple[RayJobEvent, ...]:
    del decision
    if state.entrypoint.status is JobStatus.FAILED:
        return fail(state, at, GRACE_PERIOD_EXCEEDED, GRACE_PERIOD_MESSAGE)
    return complete(state, at, GRACE_PERIOD_EXCEEDED, GRACE_PERIOD_MESSAGE)


def _submitter_finished(
    state: RayJobState, decision: PendingDecision, at: Instant
) -> tuple[RayJobEvent, ...]:
    submitter = submitter_of(state)
    if submitter is None or state.manifest is None:
        return ()
    timeout: timedelta = state.manifest.policy.submitter_finished_timeout
    message = submitter_timeout_message(submitter.finished_at or at, timeout)
    due_at = decision.due_at
    return fail(state, at, GRACE_PERIOD_EXCEEDED, message, JobStatus.FAILED, since=due_at)


def _status_check(
    state: RayJobState, decision: PendingDecision, at: Instant
) -> tuple[RayJobEvent, ...]:
    if state.manifest is None:
        return ()
    since = state.entrypoint.silent_since or at
    message = status_check_message(since, state.manifest.policy.status_check_timeout)
    return fail(state, at, STATUS_CHECK_TIMEOUT_EXCEEDED, message, since=decision.due_at)
