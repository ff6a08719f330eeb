"""Replays every job of a ledger, in several processes where there are many."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from sqlalchemy import Engine

from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.adapters.postgres.log.history import PostgresHistory
from jobledger.adapters.postgres.refolding.processes import shared_among
from jobledger.core.forensics.replay.replay import Replayed, replay
from jobledger.core.values.ids import StreamId

READ_AT_ONCE = 50
"""Jobs whose events are read by one query."""


def replay_all(
    engine: Engine, progress: Callable[[int, int], None], processes: int = 1
) -> Iterator[tuple[StreamId, Replayed]]:
    """Yield each job with what deciding it again has shown, by the order of streams.

    `progress` is told how many jobs were decided, of how many.

    Raises as `core.forensics.replay.replay.turns` does.
    """
    streams = PostgresHistory(engine).streams()
    for decided in shared_among(engine, streams, _decide, progress, processes):
        yield from decided


def _decide(engine: Engine, streams: Sequence[StreamId]) -> list[tuple[StreamId, Replayed]]:
    store = PostgresEventStore(engine, lambda: datetime.now(UTC))
    return [
        (stream, replay(item.record for item in events))
        for at in range(0, len(streams), READ_AT_ONCE)
        for stream, events in store.read_streams(streams[at : at + READ_AT_ONCE]).items()
    ]
