"""Events that follow from the controller's own effects, due decisions, status writes and gaps."""

from jobledger.core.batchjob.events import BatchJobEvent, BatchJobFailing
from jobledger.core.batchjob.phases import DEADLINE_EXCEEDED
from jobledger.core.batchjob.rules.rules import attempt_ended
from jobledger.core.batchjob.state import BatchJobState
from jobledger.core.jobs.evolve.open_work import effect_of
from jobledger.core.jobs.observations import DecisionDue, EffectEnded
from jobledger.core.jobs.outcomes import due_decision, firing_of, outcome_of
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.retries.job_deadline import passed_message
from jobledger.core.values.instants import Instant

News = tuple[BatchJobEvent, ...]


def on_effect_ended(state: BatchJobState, ended: EffectEnded) -> News:
    """Return the outcome of an open effect; of any other nothing."""
    effect = effect_of(state.effects, ended.effect_id)
    return outcome_of(effect, ended) if effect is not None else ()


def on_decision_due(state: BatchJobState, due: DecisionDue) -> News:
    """Return the firing of a pending decision; a firing before its instant is none."""
    decision = due_decision(state.decisions, due)
    if decision is None:
        return ()
    fired = firing_of(decision, due.at)
    if decision.kind is DecisionKind.JOB_DEADLINE:
        return fired, *_deadline(state, due.at)
    return (fired,)


def _deadline(state: BatchJobState, at: Instant) -> News:
    """Return the end of the attempt, which is never retried; of a pause between two that it is one.

    That the deadline still holds need not be asked: else it had been cancelled.
    """
    attempt, manifest = state.attempt, state.manifest
    assert attempt is not None, "it counts from an attempt"
    assert state.deadline_from is not None, "it counts from an attempt"
    seconds = manifest.spec.options.job_deadline_seconds if manifest is not None else 0
    message = passed_message("Job", state.deadline_from, seconds or 0)
    if attempt.is_over:
        return (BatchJobFailing(at=at, reason=DEADLINE_EXCEEDED, message=message),)
    return attempt_ended(attempt, at, False, DEADLINE_EXCEEDED, message)  # noqa: FBT003
