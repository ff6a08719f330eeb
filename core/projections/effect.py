"""Projection `effect`: `(row, event) -> row`."""

from msgspec.structs import replace

from jobledger.core.jobs.events import (
    EffectFailed,
    EffectFaltered,
    EffectRequested,
    EffectSucceeded,
    EffectSuperseded,
)
from jobledger.core.jobs.rows import EffectRow
from jobledger.core.values.ids import StreamId, shard_of


def requested(stream: StreamId, event: EffectRequested) -> EffectRow:
    """Return the row of an effect that has just been asked for."""
    return EffectRow(
        effect_id=event.effect_id,
        stream_id=stream,
        shard=shard_of(stream),
        attempt=event.attempt,
        kind=event.kind.value,
        target=f"{event.name} at {event.address}" if event.address else event.name,
        state="requested",
        requested_at=event.at,
        ended_at=None,
        trouble="",
    )


def progressed(
    row: EffectRow, event: EffectSucceeded | EffectFaltered | EffectFailed | EffectSuperseded
) -> EffectRow:
    """Return the row after news of the effect."""
    if isinstance(event, EffectFaltered):
        return replace(row, trouble=event.trouble)
    if isinstance(event, EffectSucceeded):
        return replace(row, state="succeeded", ended_at=event.at)
    if isinstance(event, EffectFailed):
        return replace(row, state="failed", ended_at=event.at, trouble=event.trouble)
    return replace(row, state="superseded", ended_at=event.at, trouble=event.cause)
