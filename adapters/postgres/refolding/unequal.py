"""Finds quickly which jobs may have rows that are not what the log says.

Events and rows of many jobs are read in one snapshot and compared as values. Only what is unequal
here is looked at more closely, and reported, by `rebuilding`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import ARRAY, Connection, Engine, Table, Uuid, any_, literal, select

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.schema.stored_events import EVENTS, stored_events
from jobledger.adapters.postgres.schema.tables import attempt, decision, effect, event, job
from jobledger.core.catalogue import read_event
from jobledger.core.errors import BrokenChain, UnknownEventType
from jobledger.core.jobs.rows import AttemptRow, DecisionRow, EffectRow, JobRow, RowChanges
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.projections.view import View, advance
from jobledger.core.values.ids import StreamId

READ_AT_ONCE = 50
"""Jobs whose events and rows are read by one query each."""

Row = TypeVar("Row", JobRow, AttemptRow, DecisionRow, EffectRow)
_Rows = tuple[dict[Any, JobRow | AttemptRow | DecisionRow | EffectRow], ...]
"""Rows of a job in the four tables, each by what tells it from the others of that job."""


def unequal(engine: Engine, streams: Sequence[StreamId]) -> list[StreamId]:
    """Return the jobs whose rows are not the fold of the log, or whose events cannot be read."""
    found = list[StreamId]()
    for at in range(0, len(streams), READ_AT_ONCE):
        found += _unequal(engine, streams[at : at + READ_AT_ONCE])
    return found


def _unequal(engine: Engine, streams: Sequence[StreamId]) -> Iterator[StreamId]:
    with ledger_errors(engine.url), engine.connect() as pooled:
        connection = pooled.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            events = _events(connection, streams)
            tables = (
                _of_table(connection, streams, job, JobRow, "stream_id"),
                _of_table(connection, streams, attempt, AttemptRow, "number"),
                _of_table(connection, streams, decision, DecisionRow, "decision_id"),
                _of_table(connection, streams, effect, EffectRow, "effect_id"),
            )
    for stream in streams:
        stored = tuple(rows.get(stream, {}) for rows in tables)
        if _folded(events.get(stream, [])) != stored:
            yield stream


def _events(
    connection: Connection, streams: Sequence[StreamId]
) -> Mapping[StreamId, list[StoredEvent]]:
    found: dict[StreamId, list[StoredEvent]] = {}
    query = EVENTS.where(_is_of(event, streams)).order_by(event.c.stream_id, event.c.version)
    for stored in stored_events(connection, query):
        found.setdefault(stored.record.stream_id, []).append(stored)
    return found


def _of_table(
    connection: Connection, streams: Sequence[StreamId], table: Table, kind: type[Row], key: str
) -> Mapping[StreamId, dict[Any, Row]]:
    found: dict[StreamId, dict[Any, Row]] = {}
    for stored in connection.execute(select(table).where(_is_of(table, streams))).mappings():
        row = kind(**stored)
        found.setdefault(row.stream_id, {})[stored[key]] = row
    return found


def _is_of(table: Table, streams: Sequence[StreamId]) -> Any:  # noqa: ANN401  # SQLAlchemy's
    return table.c.stream_id == any_(literal(list(streams), ARRAY(Uuid)))


def _folded(events: Sequence[StoredEvent]) -> _Rows | None:
    """Return the rows that follow from events; None if an event cannot be read."""
    if not events:
        return {}, {}, {}, {}
    try:
        _, rows = advance(View(), (read_event(item.record) for item in events))
    except (BrokenChain, UnknownEventType):
        return None
    return _by_key(rows)


def _by_key(rows: RowChanges) -> _Rows:
    return (
        {rows.job.stream_id: rows.job},
        {row.number: row for row in rows.attempts},
        {row.decision_id: row for row in rows.decisions},
        {row.effect_id: row for row in rows.effects},
    )
