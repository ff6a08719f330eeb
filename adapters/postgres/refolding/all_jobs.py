"""Compares or replaces the rows of all jobs of a ledger, in several processes if there are many."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar
from uuid import UUID

from sqlalchemy import Connection, Engine, Table, select

from jobledger.adapters.postgres.connection.engine import APP_ROLE
from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import driver_rows
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.adapters.postgres.log.history import PostgresHistory
from jobledger.adapters.postgres.log.projections import PostgresProjections
from jobledger.adapters.postgres.refolding.processes import shared_among
from jobledger.adapters.postgres.refolding.rebuilding import (
    TRIES_MAX,
    Row,
    by_key,
    by_key_of,
    compare,
    fold_rows,
    replace,
)
from jobledger.adapters.postgres.schema.stored_events import StoredPayload, is_of, payloads_of
from jobledger.adapters.postgres.schema.tables import attempt, decision, effect, job
from jobledger.adapters.postgres.verifying.instants import no_instants
from jobledger.adapters.postgres.verifying.orphans import KEYS
from jobledger.core.catalogue import event_of
from jobledger.core.errors import BrokenChain, UnknownEventType
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow
from jobledger.core.projections.differences import Difference, Key
from jobledger.core.projections.view import View, advance
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
    unread = list(no_instants(engine, KEYS))
    yield from (found.difference for found in unread)
    streams = PostgresHistory(engine).streams()
    if unread:
        beyond = {found.stream for found in unread if found.stream is not None}
        if not check:
            _replace_unread(engine, beyond)
        else:
            streams = [stream for stream in streams if stream not in beyond]
    work = partial(_rebuilt, check=check)
    for found in shared_among(engine, streams, work, progress, processes, role=APP_ROLE):
        yield from found


def _replace_unread(engine: Engine, streams: Collection[UUID]) -> None:
    """Replace the rows of jobs, of which some cannot be read to be compared first."""
    store = PostgresEventStore(engine, lambda: datetime.now(UTC))
    for stream in sorted(streams):
        for _ in range(TRIES_MAX):
            rows = fold_rows(store, StreamId(stream))
            if rows is None or PostgresProjections(engine).replace_rows(StreamId(stream), *rows):
                break


def _rebuilt(engine: Engine, streams: Sequence[StreamId], *, check: bool) -> list[Difference]:
    store = PostgresEventStore(engine, lambda: datetime.now(UTC))
    ledger = _Ledger(store, PostgresHistory(engine), PostgresProjections(engine))
    work = compare if check else replace
    return [item for stream in unequal(engine, streams) for item in work(ledger, stream)]


READ_AT_ONCE = 50
"""Jobs whose events and rows are read by one query each."""

_Row = TypeVar("_Row", JobRow, AttemptRow, DecisionRow, EffectRow)


def unequal(engine: Engine, streams: Sequence[StreamId]) -> list[StreamId]:
    """Return the jobs whose rows are not the fold of the log, or whose events cannot be read.

    Events and rows of many jobs are read in one snapshot and compared as values. Only what is
    unequal here is looked at more closely, and reported, by `rebuilding`.
    """
    found = list[StreamId]()
    for at in range(0, len(streams), READ_AT_ONCE):
        found += _unequal(engine, streams[at : at + READ_AT_ONCE])
    return found


def _unequal(engine: Engine, streams: Sequence[StreamId]) -> Iterator[StreamId]:
    with ledger_errors(engine.url), engine.connect() as pooled:
        connection = pooled.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            events = payloads_of(connection, streams)
            jobs = _of_table(connection, streams, job, JobRow)
            attempts = _of_table(connection, streams, attempt, AttemptRow)
            decisions = _of_table(connection, streams, decision, DecisionRow)
            effects = _of_table(connection, streams, effect, EffectRow)
    for one in streams:
        stored = by_key(jobs[one], attempts[one], decisions[one], effects[one])
        if _folded(events[one]) != stored:
            yield one


def _of_table(
    connection: Connection, streams: Sequence[StreamId], table: Table, kind: type[_Row]
) -> Mapping[StreamId, list[_Row]]:
    found: dict[StreamId, list[_Row]] = {stream: [] for stream in streams}
    names = table.columns.keys()
    for stored in driver_rows(connection, select(table).where(is_of(table, streams))):
        row = kind(**dict(zip(names, stored, strict=True)))
        found[row.stream_id].append(row)
    return found


def _folded(events: Sequence[StoredPayload]) -> Mapping[Key, Row] | None:
    """Return the rows that follow from events; None if an event cannot be read."""
    if not events:
        return {}
    try:
        _, rows = advance(View(), [event_of(*stored) for stored in events])
    except (BrokenChain, UnknownEventType):
        return None
    return by_key_of(rows)
