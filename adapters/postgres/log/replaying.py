"""Replays every job of a ledger, in several processes where there are many.

Deciding is Python and nothing else, so a process keeps one core busy and more cores need more
processes. A job stands for itself: how the work is shared shows in no answer.
"""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import TypeAlias

from sqlalchemy import Engine

from jobledger.adapters.postgres.connection.engine import EngineOptions, open_engine
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.adapters.postgres.log.history import PostgresHistory
from jobledger.core.errors import BrokenChain, UnknownEventType
from jobledger.core.forensics.replay.replay import Replayed, replay
from jobledger.core.values.ids import StreamId

PROCESS_JOBS = 1_000
"""A process of its own is worth its start from so many jobs on."""

SHARE_JOBS = 200
"""Jobs that are handed to a process at once."""

READ_AT_ONCE = 50
"""Jobs whose events are read by one query."""

_Decided: TypeAlias = list[tuple[StreamId, Replayed | None]]
"""None: a job that cannot be read; whoever asked reads it once more and meets the error."""


def replay_all(
    engine: Engine, progress: Callable[[int, int], None], processes: int = 1
) -> Iterator[tuple[StreamId, Replayed]]:
    """Yield each job with what deciding it again has shown, by the order of streams.

    `progress` is told how many jobs were decided, of how many.

    Raises as `core.forensics.replay.replay.turns` does.
    """
    streams = PostgresHistory(engine).streams()
    shares = [streams[at : at + SHARE_JOBS] for at in range(0, len(streams), SHARE_JOBS)]
    done = 0
    for decided in _decided(engine, shares, min(processes, len(streams) // PROCESS_JOBS)):
        for stream, found in decided:
            yield stream, found if found is not None else _replayed(engine, stream)
        done += len(decided)
        progress(done, len(streams))


def _decided(
    engine: Engine, shares: Sequence[Sequence[StreamId]], processes: int
) -> Iterator[_Decided]:
    if processes <= 1:
        yield from map(partial(_decide, engine), shares)
        return
    url = engine.url.render_as_string(hide_password=False)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        yield from pool.map(partial(_decide_apart, url), shares)


def _decide_apart(url: str, streams: Sequence[StreamId]) -> _Decided:
    """Decide a share in a process of its own."""
    engine = open_engine(url, EngineOptions(pool_size=1))
    try:
        return _decide(engine, streams)
    finally:
        engine.dispose()


def _decide(engine: Engine, streams: Sequence[StreamId]) -> _Decided:
    store, decided = _store(engine), list[tuple[StreamId, Replayed | None]]()
    for at in range(0, len(streams), READ_AT_ONCE):
        for stream, events in store.read_streams(streams[at : at + READ_AT_ONCE]).items():
            try:
                decided.append((stream, replay(item.record for item in events)))
            except (BrokenChain, UnknownEventType):
                decided.append((stream, None))
    return decided


def _replayed(engine: Engine, stream: StreamId) -> Replayed:
    return replay(item.record for item in _store(engine).read_stream(stream))


def _store(engine: Engine) -> PostgresEventStore:
    return PostgresEventStore(engine, lambda: datetime.now(UTC))
