"""Projection `attempt` for TrainJobs: `(row, event) -> row`."""

from msgspec.structs import replace

from jobledger.core.jobs.history.told_end import in_whole_seconds
from jobledger.core.jobs.rows import AttemptRow, begun_row
from jobledger.core.trainjob import events
from jobledger.core.trainjob.state import TrainJobState, is_active
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant


def begun(stream: StreamId, state: TrainJobState) -> AttemptRow:
    """Return the row of an execution that has just begun.

    It runs at once if the look that told of it has shown its Jobs at work.
    """
    attempt = state.attempt
    assert attempt is not None, "it has begun"
    at_work = state.jobset is not None and state.jobset.observed and is_active(state)
    return begun_row(stream, attempt, running=at_work)


def end_told(state: TrainJobState) -> Instant | None:
    """Return when the JobSet ended at the latest by its condition; None: it has none."""
    end = state.jobset.end if state.jobset is not None else None
    return in_whole_seconds(end.ended_at) if end is not None else None


def project_attempt(row: AttemptRow, event: events.TrainJobEvent) -> AttemptRow:
    """Return the row after an event; the same row if the event does not concern it."""
    if isinstance(event, events.JobSetObserved):
        at_work = any(item.active or item.ready for item in event.jobs)
        if row.running_at is None and row.ended_at is None and at_work:
            return replace(row, running_at=event.at)
    elif isinstance(event, events.TrainAttemptEnded) and event.attempt == row.number:
        return replace(
            row,
            ended_at=event.at,
            outcome=event.outcome,
            reason=event.reason,
            message=event.message,
            retried=event.reason == "JobSetRestarted",
        )
    elif isinstance(event, events.TrainJobDeleted) and row.ended_at is None:
        return replace(row, ended_at=event.at, outcome="deleted")
    return row
