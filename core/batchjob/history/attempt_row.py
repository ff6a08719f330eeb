"""Projection `attempt` for Jobs: `(row, event) -> row`."""

from msgspec.structs import replace

from jobledger.core.batchjob import events
from jobledger.core.batchjob.state import BatchJobState
from jobledger.core.jobs.history.told_end import in_whole_seconds
from jobledger.core.jobs.rows import AttemptRow, begun_row
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant


def begun(stream: StreamId, state: BatchJobState) -> AttemptRow:
    """Return the row of an attempt that has just begun; one that was found may run already."""
    attempt = state.attempt
    assert attempt is not None, "it has begun"
    at_work = attempt.job is not None and attempt.job.pods.active > 0
    return begun_row(stream, attempt, running=at_work)


def end_told(state: BatchJobState) -> Instant | None:
    """Return when the current Job ended at the latest by its condition; None: it has none."""
    job = state.attempt.job if state.attempt is not None else None
    return in_whole_seconds(job.end.ended_at) if job is not None and job.end is not None else None


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
