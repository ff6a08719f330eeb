"""Events that follow from the controller's own effects, due decisions, status writes and gaps."""

from jobledger.core.jobs.evolve.open_work import effect_of
from jobledger.core.jobs.observations import DecisionDue, EffectEnded
from jobledger.core.jobs.outcomes import due_decision, firing_of, outcome_of
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect, Outcome
from jobledger.core.jobs.retries.job_deadline import passed_message
from jobledger.core.trainjob.building.outcomes import ApplyOutcome, read_outcome
from jobledger.core.trainjob.events import (
    JobsBuildFailed,
    JobsCreationFailed,
    ObjectsApplied,
    TrainAttemptEnded,
    TrainJobEvent,
    TrainJobFailed,
)
from jobledger.core.trainjob.phases import DEADLINE_EXCEEDED, DEADLINE_MESSAGE
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.instants import Instant

News = tuple[TrainJobEvent, ...]


def on_effect_ended(state: TrainJobState, ended: EffectEnded) -> News:
    """Return the outcome, and what it says of building and creating; nothing if it is not open."""
    effect = effect_of(state.effects, ended.effect_id)
    if effect is None:
        return ()
    told = outcome_of(effect, ended)
    if effect.desired.kind is not EffectKind.APPLY_OBJECTS:
        return told
    if ended.outcome is Outcome.SUCCEEDED:
        return *told, _applied(effect, ended)
    if ended.outcome is Outcome.FAILED:
        return *told, _refused(effect, ended)
    return told


def _applied(effect: OpenEffect, ended: EffectEnded) -> ObjectsApplied:
    outcome = read_outcome(ended.details)
    return ObjectsApplied(
        at=ended.at,
        generation=effect.generation,
        digest=effect.digest,
        runtime=outcome.runtime,
        jobset_uid=outcome.jobset_uid,
        jobset_generation=outcome.jobset_generation,
        jobset_suspend=outcome.jobset_suspend,
        names=outcome.names,
        snapshot=outcome.snapshot,
    )


def _refused(effect: OpenEffect, ended: EffectEnded) -> JobsBuildFailed | JobsCreationFailed:
    outcome: ApplyOutcome = read_outcome(ended.details)
    if outcome.failed_building:
        return JobsBuildFailed(
            at=ended.at,
            generation=effect.generation,
            digest=effect.digest,
            runtime=outcome.runtime,
            cause=ended.trouble,
            may_pass=outcome.may_pass,
            builder=outcome.builder,
        )
    return JobsCreationFailed(
        at=ended.at,
        generation=effect.generation,
        digest=effect.digest,
        runtime=outcome.runtime,
        cause=ended.trouble,
        may_pass=outcome.may_pass,
    )


def on_decision_due(state: TrainJobState, due: DecisionDue) -> News:
    """Return the firing of a pending decision; a firing before its instant is none."""
    decision = due_decision(state.decisions, due)
    if decision is None:
        return ()
    fired = firing_of(decision, due.at)
    if decision.kind is DecisionKind.ACTIVE_DEADLINE:
        return fired, *_deadline(state, due.at, DEADLINE_MESSAGE)
    if decision.kind is DecisionKind.JOB_DEADLINE:
        return fired, *_deadline(state, due.at, _over_all_attempts(state))
    return (fired,)


def _over_all_attempts(state: TrainJobState) -> str:
    """Return what is said of a deadline over all attempts that has passed."""
    assert state.deadline_from is not None, "it counts from an attempt"
    seconds = state.manifest.spec.job_deadline_seconds if state.manifest is not None else 0
    return passed_message("TrainJob", state.deadline_from, seconds)


def _deadline(state: TrainJobState, at: Instant, message: str) -> News:
    """Return the failure; that it still holds need not be asked: else it had been cancelled."""
    news: list[TrainJobEvent] = []
    attempt = state.attempt
    reason = DEADLINE_EXCEEDED
    if attempt is not None and not attempt.is_over:
        ended = TrainAttemptEnded(
            at=at, attempt=attempt.number, outcome="failed", reason=reason, message=message
        )
        news.append(ended)
    return *news, TrainJobFailed(at=at, ended_at=at, reason=reason, message=message)
