"""Compares or replaces the rows of all jobs of a ledger, in several processes if there are many."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Engine

from jobledger.adapters.postgres.connection.engine import APP_ROLE
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.adapters.postgres.log.history import PostgresHistory
from jobledger.adapters.postgres.log.projections import PostgresProjections
from jobledger.adapters.postgres.refolding.processes import shared_among
from jobledger.adapters.postgres.refolding.rebuilding import compare, replace
from jobledger.adapters.postgres.refolding.unequal import unequal
from jobledger.core.projections.differences import Difference
from jobledger.core.values.ids import StreamId


@dataclass(frozen=True, slots=True)
class _Ledger:
    """What rebuilding needs of a ledger."""

    store: PostgresEventStore
    history: PostgresHistory
    projections: PostgresProjections


def rebuild_all(
    engine: Engine, progress: Callable[[int, int], None], processes: int = 1, *, check: bool
) -> Iterator[Difference]:
    """Yield what is not the fold of the log, by the order of streams; replace it unless `check`.

    `progress` is told how many jobs are done, of how many.

    Raises as `core.catalogue.read_event` does, for the first job that cannot be read.
    """
    streams = PostgresHistory(engine).streams()
    work = partial(_rebuilt, check=check)
    for found in shared_among(engine, streams, work, progress, processes, role=APP_ROLE):
        yield from found


def _rebuilt(engine: Engine, streams: Sequence[StreamId], *, check: bool) -> list[Difference]:
    store = PostgresEventStore(engine, lambda: datetime.now(UTC))
    ledger = _Ledger(store, PostgresHistory(engine), PostgresProjections(engine))
    work = compare if check else replace
    return [item for stream in unequal(engine, streams) for item in work(ledger, stream)]
