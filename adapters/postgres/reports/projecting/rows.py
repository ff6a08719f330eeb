"""Reads and writes the rows of the reporting tables."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec
import psycopg
from msgspec.structs import asdict
from sqlalchemy import Connection, text
from sqlalchemy.exc import DataError

from jobledger.adapters.postgres.schema.stored_events import EVENTS, events_of, is_of
from jobledger.adapters.postgres.schema.tables import event
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.projections.reporting.fold import TABLES, Rows, key_of
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

Told = TypeVar("Told")

_PUT = text(
    "SELECT put_report_rows_v1(:expected, :upto, :recorded_at, CAST(:dimensions AS json),"
    " CAST(:facts AS json))"
)
_FILL = text("SELECT put_report_facts_v1('_next', CAST(:dimensions AS json), CAST(:facts AS json))")
_ONE = "(SELECT count(*) FROM json_populate_recordset(NULL::{0}, %(facts)s::json -> '{0}'))"
_READ = f"SELECT {', '.join(_ONE.format(table) for table in TABLES)}".encode()
"""Has Postgres read every value of some facts, and changes nothing. It must not be prepared: it
would know the tables' types after a rebuild has put others in their place."""


def put_rows(
    connection: Connection,
    expected: int,
    upto: int,
    recorded_at: Instant | None,
    rows: Sequence[Rows],
) -> bool:
    """Put rows and move the checkpoint in one transaction; False if it was elsewhere.

    Without `recorded_at` that of the checkpoint stays.
    """
    answer: bool = connection.execute(
        _PUT,
        {
            "expected": expected,
            "upto": upto,
            "recorded_at": recorded_at,
            "dimensions": _dimensions(rows),
            "facts": _facts(rows),
        },
    ).scalar_one()
    return answer


def fill_twins(connection: Connection, rows: Sequence[Rows]) -> None:
    """Put rows into the twins that a rebuild fills, but those of jobs that the tables cannot hold.

    The connection is in no transaction.
    """

    def fill(these: Sequence[Rows]) -> None:
        connection.execute(_FILL, {"dimensions": _dimensions(these), "facts": _facts(these)})

    put_holdable(connection, rows, fill)


def put_holdable(
    connection: Connection, rows: Sequence[Rows], put: Callable[[Sequence[Rows]], Told]
) -> tuple[Told, Sequence[Rows]]:
    """Put rows, but those of jobs that the tables cannot hold; return what `put` said, and these.

    The connection is in no transaction.
    """
    try:
        return put(rows), rows
    except DataError:
        fit = holdable(connection, rows)
        if len(fit) == len(rows):
            raise
        return put(fit), fit


def holdable(connection: Connection, rows: Iterable[Rows]) -> list[Rows]:
    """Return the rows of the jobs that the tables can hold; the log is told of each other job.

    A value that is beyond its column's type is one that somebody's job made up: it must not keep
    the facts of all others away. The connection is in no transaction.
    """
    held = []
    raw = connection.connection.driver_connection
    assert isinstance(raw, psycopg.Connection), "the engine's driver"
    for one in rows:
        try:
            raw.execute(_READ, {"facts": _facts([one])}, prepare=False)
        except psycopg.DataError as error:
            stream, problem = str(one.stream_id), str(error).splitlines()[0]
            log.warning("job_not_reported", stream=stream, error=problem)
        else:
            held.append(one)
    return held


def events_upto(
    connection: Connection, streams: Sequence[StreamId], upto: int
) -> dict[StreamId, list[StoredEvent]]:
    """Return the events of streams up to a position of the log, each stream in order."""
    query = EVENTS.where(is_of(event, streams), event.c.position <= upto)
    return events_of(connection, streams, query)


def as_columns(rows: Rows) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield the table and the columns of each fact of a job."""
    dimension = key_of(rows)
    for table, facts in rows.facts.items():
        for fact in facts:
            told = {"stream_id": rows.stream_id, "dimension_id": dimension, **asdict(fact)}
            for name, value in told.items():
                if type(value) is tuple:  # as its column is read again: records are JSON
                    told[name] = [asdict(one) for one in value]
            yield table, told


def _dimensions(rows: Sequence[Rows]) -> str:
    told = {key_of(one): {"dimension_id": key_of(one), **asdict(one.dimension)} for one in rows}
    return msgspec.json.encode([told[key] for key in sorted(told)]).decode()


def _facts(rows: Sequence[Rows]) -> str:
    tables: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
    for one in rows:
        for table, columns in as_columns(one):
            tables[table].append(columns)
    return msgspec.json.encode({name: told for name, told in tables.items() if told}).decode()
