"""Projection `attempt` for Jobs: `(row, event) -> row`."""

from msgspec.structs import replace

from jobledger.core.batchjob import events
from jobledger.core.batchjob.state import BatchAttempt, BatchJobState
from jobledger.core.jobs.rows import AttemptRow, begun_row
from jobledger.core.values.ids import StreamId


def attempt_row(
    row: AttemptRow | None, state: BatchJobState, event: events.BatchJobEvent, stream: StreamId
) -> AttemptRow | None:
    """Return the row of the current or last attempt after an event; None before the first."""
    if state.attempt is None:
        return None
    if row is None or row.number != state.attempt.number:
        row = begun(stream, state.attempt)
    return project_attempt(row, event)


def begun(stream: StreamId, attempt: BatchAttempt) -> AttemptRow:
    """Return the row of an attempt that has just begun; one that was found may run already."""
    at_work = attempt.job is not None and attempt.job.pods.active > 0
    return begun_row(stream, attempt, running=at_work)


def project_attempt(row: AttemptRow, event: events.BatchJobEvent) -> AttemptRow:
    """Return the row after an event; the same row if the event does not concern it."""
    if isinstance(event, events.AttemptJobObserved) and event.attempt == row.number:
        if row.running_at is None and row.ended_at is None and event.pods.active:
            return replace(row, running_at=event.at)
    elif isinstance(event, events.BatchAttemptEnded) and event.attempt == row.number:
        return replace(
            row,
            ended_at=event.at,
            outcome=event.outcome,
            reason=event.reason,
            message=event.message,
        )
    elif isinstance(event, events.BatchRetryGranted) and event.attempt == row.number:
        return replace(row, retried=True)
    elif isinstance(event, events.BatchJobDeleted) and row.ended_at is None:
        return replace(row, ended_at=event.at, outcome="deleted")
    return row
