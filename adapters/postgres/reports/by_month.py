"""Streams the rows of reporting views, and the events, month by month, for files that others read.

The month is that of the creation of the job, as for the partitions of the log: a job is whole in
one month. All is read in one snapshot, so that views and events agree.
"""

import uuid
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.log.partitions import created_at
from jobledger.adapters.postgres.report_v1.model import BIGINT, INSTANT, INTEGER, JSON, TEXT, UUID
from jobledger.adapters.postgres.report_v1.views import VIEWS, quoted, schema_of_views
from jobledger.core.values.ids import StreamId, first_stream_at
from jobledger.core.values.instants import Instant

BATCH_ROWS = 20_000
"""Rows that are held at a time."""

_BATCH_BYTES = 64 * 2**20
"""Fewer are held if they weigh more than that."""

DELIMITER, QUOTE = "\x02", "\x01"
"""Of the CSV: characters that hardly a field has, so that few fields have to be quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthlyTable:
    """A view, or the log, as files have it."""

    name: str
    columns: Mapping[str, str]
    """Name -> type, as Postgres prints it; a document is JSON in a text."""
    meanings: Mapping[str, str]
    clock: str = ""
    """The column that tells the month of a row that is of no job; empty: its job does."""


EVENTS = MonthlyTable(
    name="events",
    columns={
        "position": BIGINT,
        "stream_id": UUID,
        "version": INTEGER,
        "event_id": UUID,
        "type": TEXT,
        "schema_version": INTEGER,
        "occurred_at": INSTANT,
        "recorded_at": INSTANT,
        "actor": TEXT,
        "epoch": BIGINT,
        "causation_id": UUID,
        "correlation_id": UUID,
        "data": JSON,
    },
    meanings={},
)
"""The log, as its table is explained; without hashes."""

TABLES: Mapping[str, MonthlyTable] = {
    EVENTS.name: EVENTS,
    **{
        view.name: MonthlyTable(
            name=view.name,
            columns={field.name: field.kind for field in view.fields},
            meanings={field.name: field.comment for field in view.fields},
            clock="" if any(field.name == "stream_id" for field in view.fields) else view.order,
        )
        for view in VIEWS
        if view.order
    },
}
"""By name: all reporting views that tell of a time, and the events."""


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """Yield a connection that sees the ledger as it is now, whatever is written meanwhile."""
    unchanging = engine.execution_options(isolation_level="REPEATABLE READ")
    with ledger_errors(engine.url), unchanging.connect() as connection, connection.begin():
        yield connection


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedThen:
    """What had left the log for an archive when a snapshot was taken."""

    last: int
    """Number of the newest record; 0 if there is none."""
    still_here: frozenset[uuid.UUID]
    """Streams that a record speaks of and that are in the log: whoever archived was interrupted."""


def archived_then(connection: Connection) -> ArchivedThen:
    """Return what had left the log as a snapshot has it."""
    last = connection.execute(text("SELECT coalesce(max(number), 0) FROM archive")).scalar_one()
    both = "SELECT a.stream_id FROM archived_stream a JOIN stream s USING (stream_id)"
    streams = connection.execute(text(both)).scalars()
    return ArchivedThen(last=last, still_here=frozenset(streams))


def months(connection: Connection) -> Sequence[Instant]:
    """Return the first instant of each month from that of the oldest job on, the latest last."""
    jobs = _place(connection, TABLES["jobs"])
    found = connection.execute(  # facts stay of jobs whose streams have left with an archive
        text(
            "SELECT min(one::text), max(one::text) FROM (SELECT stream_id FROM stream"  # noqa: S608 a name of ours
            f" UNION ALL SELECT stream_id FROM {jobs}) AS known (one)"
        )
    ).one()
    if found[0] is None:
        return ()
    first, last = (created_at(StreamId(uuid.UUID(one))) for one in found)
    steps = [_first_of(first)]
    while (following := month_after(steps[-1])) <= last:
        steps.append(following)
    return steps


def batches(
    connection: Connection, table: MonthlyTable, month: Instant
) -> Generator[bytes, None, None]:
    """Yield the rows of one month as CSV, some at a time, without an order. To be closed.

    Fields are parted by `DELIMITER` and quoted by `QUOTE`; what is null is empty and not quoted.
    """
    ends = month_after(month)
    where = table.clock or "stream_id"
    bounds: tuple[object, object] = (month, ends)
    if not table.clock:
        bounds = (first_stream_at(month), first_stream_at(ends))
    statement = (
        f"COPY (SELECT {', '.join(table.columns)} FROM {_place(connection, table)}"  # noqa: S608 names of ours
        f" WHERE {where} >= %s AND {where} < %s)"
        f" TO STDOUT (FORMAT csv, DELIMITER '{DELIMITER}', QUOTE '{QUOTE}')"
    )
    driver: Any = connection.connection.dbapi_connection
    with driver.cursor() as cursor, cursor.copy(statement, bounds) as rows:
        yield from in_batches(map(bytes, rows))


def in_batches(rows: Iterable[bytes]) -> Iterator[bytes]:
    """Yield rows that are lines of CSV together, some at a time."""
    held: list[bytes] = []
    weight = 0
    for row in rows:
        held.append(row)
        weight += len(row)
        if len(held) >= BATCH_ROWS or weight >= _BATCH_BYTES:
            yield b"".join(held)
            held, weight = [], 0
    if held:
        yield b"".join(held)


def month_after(month: Instant) -> Instant:
    """Return the first instant of the month after that of an instant."""
    return _first_of(_first_of(month) + timedelta(days=31))


def _first_of(instant: Instant) -> Instant:
    return datetime(instant.year, instant.month, 1, tzinfo=UTC)


def _place(connection: Connection, table: MonthlyTable) -> str:
    if table is EVENTS:
        return "event"
    schema: str = connection.execute(text("SELECT current_schema()")).scalar_one()
    return f"{quoted(schema_of_views(schema))}.{table.name}"
