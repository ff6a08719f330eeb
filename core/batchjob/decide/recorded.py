"""Infers the life of a Job that is only recorded, or held: nothing is decided or done.

That an attempt has begun or ended is told by its Job; that the job is over is what its status
shows. What follows so is marked as inferred.
"""

from msgspec.structs import replace

from jobledger.core.batchjob.decide.on_lost_history import begun_unseen
from jobledger.core.batchjob.events import (
    BatchAttemptEnded,
    BatchJobCompleted,
    BatchJobEvent,
    BatchJobFailed,
    BatchJobFailing,
)
from jobledger.core.batchjob.evolve.evolve import evolve
from jobledger.core.batchjob.observations import JobEnd
from jobledger.core.batchjob.rules.rules import end_of_attempt
from jobledger.core.batchjob.state import BatchJobState, is_final
from jobledger.core.decider import Decided
from jobledger.core.jobs.reconcile import fixpoint
from jobledger.core.values.instants import Instant


def infer(state: BatchJobState, at: Instant) -> Decided[BatchJobState, BatchJobEvent]:
    """Return everything that the status shown last, and the attempts' Jobs, let conclude."""
    return fixpoint(state, evolve, lambda now: _next(now, at))


def _next(state: BatchJobState, at: Instant) -> tuple[BatchJobEvent, ...]:
    if state.recorded is None or state.deleted_at is not None or is_final(state):
        return ()
    if state.unknown_job is not None:
        begun = begun_unseen(state, state.unknown_job.attempt, at)
        if begun:
            return begun
    if ended := end_of_attempt(state, at):
        return tuple(replace(one, inferred=True) for one in ended)
    shown = state.recorded.shown
    if shown is None:
        return ()
    if shown.end is not None:
        return _ended(state, shown.end, at)
    if shown.failing is not None and state.failing is None:
        why = shown.failing
        return (BatchJobFailing(at=at, reason=why.reason, message=why.message),)
    return ()


def _ended(state: BatchJobState, end: JobEnd, at: Instant) -> tuple[BatchJobEvent, ...]:
    attempt = state.attempt
    over: tuple[BatchJobEvent, ...] = ()
    if attempt is not None and not attempt.is_over:
        over = (
            BatchAttemptEnded(
                at=at,
                attempt=attempt.number,
                outcome="succeeded" if end.completed else "failed",
                reason=end.reason,
                message=end.message,
                inferred=True,
            ),
        )
    reason, message = end.reason, end.message
    if not end.completed:
        return *over, BatchJobFailed(at=at, reason=reason, message=message, inferred=True)
    completed = BatchJobCompleted(
        at=at, reason=reason, message=message, ended_at=min(end.ended_at, at), inferred=True
    )
    return *over, completed
