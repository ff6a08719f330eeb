"""Projection `decision`: `(row, event) -> row`."""

from msgspec.structs import replace

from jobledger.core.jobs.events import DecisionCancelled, DecisionFired, DecisionScheduled
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.values.ids import StreamId, shard_of


def scheduled(stream: StreamId, event: DecisionScheduled) -> DecisionRow:
    """Return the row of a decision that has just been scheduled."""
    return DecisionRow(
        decision_id=event.decision_id,
        stream_id=stream,
        shard=shard_of(stream),
        attempt=event.attempt,
        kind=event.kind.value,
        state="pending",
        due_at=event.due_at,
        scheduled_at=event.at,
        resolved_at=None,
        cause=event.cause,
        resolution="",
    )


def resolved(row: DecisionRow, event: DecisionFired | DecisionCancelled) -> DecisionRow:
    """Return the row of a decision that has ended."""
    if isinstance(event, DecisionFired):
        return replace(row, state="fired", resolved_at=event.at, resolution="carried out")
    return replace(row, state="cancelled", resolved_at=event.at, resolution=event.cause)
