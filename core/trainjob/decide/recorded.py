"""The decider of a TrainJob that another controller drives.

Nothing is decided here and nothing done: no effect is asked for, no decision is pending. The
executions are told by the JobSet, as of any TrainJob; that the job is suspended, resumed or over
is what the other controller wrote. What follows so is marked as inferred.
"""

from typing import assert_never

from msgspec.structs import replace

from jobledger.core.decider import Decided
from jobledger.core.jobs import observations as shared
from jobledger.core.jobs.reconcile import fixpoint
from jobledger.core.trainjob import observations as seen
from jobledger.core.trainjob.conditions import Condition, found, is_true
from jobledger.core.trainjob.decide.on_objects import (
    on_jobset_gone,
    on_jobset_seen,
    on_progress_seen,
    on_trainjob_gone,
)
from jobledger.core.trainjob.events import (
    JobSetVanished,
    TrainAttemptEnded,
    TrainAttemptStarted,
    TrainJobCompleted,
    TrainJobEvent,
    TrainJobFailed,
    TrainJobResumed,
    TrainJobSuspended,
)
from jobledger.core.trainjob.evolve.evolve import evolve
from jobledger.core.trainjob.phases import COMPLETE, DEADLINE_EXCEEDED, FAILED, SUSPENDED
from jobledger.core.trainjob.rules.rules import execution
from jobledger.core.trainjob.state import TrainJobState, is_final
from jobledger.core.values.instants import EPOCH, Instant

News = tuple[TrainJobEvent, ...]


def recorded_facts(
    state: TrainJobState, observation: seen.TrainJobOwn | shared.EffectEnded | shared.DecisionDue
) -> News:
    """Return the facts that an observation brings; not those of the TrainJob itself."""
    as_any = replace(state, recorded=None)
    match observation:
        case seen.JobSetSeen():
            return on_jobset_seen(as_any, observation)
        case seen.JobSetGone():
            return tuple(_explained(state, one) for one in on_jobset_gone(as_any, observation))
        case seen.TrainJobGone():
            return on_trainjob_gone(state, observation)
        case seen.ProgressSeen():
            return on_progress_seen(state, observation)
        case shared.EffectEnded() | shared.DecisionDue():
            return ()  # what was under way was dropped when the job was released
        case seen.RuntimeSeen() | seen.DependentGone() | seen.TrainJobSeen():
            return ()  # nothing is built here
        case seen.PluginConditionsSeen():
            return ()  # the status is another controller's
        case _:
            assert_never(observation)


def _explained(state: TrainJobState, event: TrainJobEvent) -> TrainJobEvent:
    if not isinstance(event, JobSetVanished):
        return event
    if is_final(state) and state.reason == DEADLINE_EXCEEDED:
        return replace(event, asked=True, inferred=DEADLINE_EXCEEDED)
    return event


def infer(state: TrainJobState, at: Instant) -> Decided[TrainJobState, TrainJobEvent]:
    """Return everything that the status shown last, and the JobSet, let conclude, in order."""
    return fixpoint(state, evolve, lambda now: _next(now, at))


def _next(state: TrainJobState, at: Instant) -> News:
    shown = state.recorded.shown if state.recorded is not None else None
    if state.deleted_at is not None or is_final(state):
        return ()
    by_type = {item.type: item for item in shown.conditions} if shown is not None else {}
    for kind in (COMPLETE, FAILED):
        if (end := by_type.get(kind)) is not None and end.is_true:
            return _ended(state, end, at)
    if (wish := by_type.get(SUSPENDED)) is not None:
        if wish.is_true and not is_true(state.conditions, SUSPENDED):
            return (TrainJobSuspended(at=_when(wish, at), inferred=True),)
        known = found(state.conditions, SUSPENDED)
        since = _when(wish, at)
        if not wish.is_true and known is not None and not known.is_true and since > known.since:
            return (TrainJobSuspended(at=since, inferred=True),)  # and resumed, both unseen
        if not wish.is_true and (known is None or known.is_true):
            return (TrainJobResumed(at=since, inferred=True),)
    return _executions(state, at)


def _ended(state: TrainJobState, end: Condition, at: Instant) -> News:
    ended_at, completed = _when(end, at), end.type == COMPLETE
    attempt = state.attempt
    over: News = ()
    if attempt is not None and not attempt.is_over:
        outcome = "succeeded" if completed else "failed"
        over = (
            TrainAttemptEnded(
                at=at,
                attempt=attempt.number,
                outcome=outcome,
                reason=end.reason,
                message=end.message,
                inferred=True,
            ),
        )
    cls = TrainJobCompleted if completed else TrainJobFailed
    told = cls(at=at, reason=end.reason, message=end.message, ended_at=ended_at, inferred=True)
    return *over, told


def _when(condition: Condition, at: Instant) -> Instant:
    """Return when a condition came to be, by who wrote it; never later than it was seen."""
    return at if condition.since == EPOCH else min(condition.since, at)


def _executions(state: TrainJobState, at: Instant) -> News:
    """Return what the JobSet tells of executions.

    That it is gone tells nothing yet: its end, or the next one, is still to be seen.
    """
    if state.jobset is None:
        return ()
    return tuple(
        replace(one, inferred=True)
        if isinstance(one, TrainAttemptStarted | TrainAttemptEnded)
        else one
        for one in execution(state, at)
    )
