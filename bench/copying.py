"""COPY and single rows: what the same rows cost in identical indexed tables without our function.

COPY writes each projection row once, in its last form; the appends have written the rows that were
changed again and again. So COPY has the lighter work: the share says how far from the bare minimum
an append is.
"""

import time
from typing import Any

import psycopg
from psycopg import sql

from bench.figures import Report
from bench.machine import cpu_seconds
from bench.throwaway import Cost, Server

TABLES = ("event", "stream", "job", "attempt", "decision", "effect")
TWIN, ALONE = "twin", "alone"

ROWS_ALONE = 1_500
"""How many single rows are inserted."""


def measure(report: Report, server: Server, database: str) -> Cost:
    """Copy the ledger into a twin, all tables; return what an event costs."""
    server.database(TWIN)
    with server.admin(database) as source, server.admin(TWIN) as target:
        events = _count(source, "event")
        _same_partitions(source, target)
        report.say(f"copying {events} events and the rows of their projections")
        server.checkpoint()
        costs = {table: _copy(server, source, target, table) for table in TABLES}
        alone = costs["event"]
        report.figure("COPY, events alone: backend CPU", alone.cpu / events, "µs per event")
        report.figure("COPY, events alone: wall", alone.wall / events, "µs per event")
        total = Cost(
            cpu=sum(cost.cpu for cost in costs.values()) / events,
            wall=sum(cost.wall for cost in costs.values()) / events,
            wal=sum(cost.wal for cost in costs.values()) / events,
        )
        report.figure("COPY, with projections: backend CPU", total.cpu, "µs per event")
        report.figure("COPY, with projections: wall", total.wall, "µs per event")
        report.figure("COPY, with projections: WAL", total.wal, "bytes per event")
    return total


def insert_one_by_one(report: Report, server: Server, database: str) -> Cost:
    """Insert some events, each in a transaction of its own, without projections."""
    server.database(ALONE)
    report.say(f"inserting {ROWS_ALONE} events one by one")
    with server.admin(database) as source, server.admin(ALONE) as target:
        _same_partitions(source, target)
        query = sql.SQL("SELECT * FROM event ORDER BY position LIMIT {}").format(ROWS_ALONE)
        return _insert(report, server, target, source.execute(query).fetchall())


def _count(connection: psycopg.Connection[Any], table: str) -> int:
    row = connection.execute(
        sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
    ).fetchone()
    assert row is not None, "a query of one row"
    return int(row[0])


def _same_partitions(source: psycopg.Connection[Any], target: psycopg.Connection[Any]) -> None:
    names = source.execute(
        "SELECT relname FROM pg_class WHERE relname ~ '^event_y[0-9]+m[0-9]+$' AND relkind = 'r'"
    ).fetchall()
    for (name,) in names:
        year, _, month = name.removeprefix("event_y").partition("m")
        first = f"{year}-{month}-01T00:00:00Z"
        target.execute(
            "SELECT * FROM ensure_partitions_v1(%s::timestamptz, %s::timestamptz)", (first, first)
        )


def _copy(
    server: Server,
    source: psycopg.Connection[Any],
    target: psycopg.Connection[Any],
    table: str,
) -> Cost:
    """Copy a table in binary form; return what all of it cost, reading left out."""
    name = sql.Identifier(table)
    order = sql.SQL(" ORDER BY position") if table == "event" else sql.SQL("")
    with source.cursor().copy(
        sql.SQL("COPY (SELECT * FROM {}{}) TO STDOUT (FORMAT binary)").format(name, order)
    ) as reading:
        blob = b"".join(bytes(chunk) for chunk in reading)
    pid = target.info.backend_pid
    cpu, wal, wall = cpu_seconds([pid]), server.wal_bytes(), time.monotonic()
    with target.cursor().copy(
        sql.SQL("COPY {} FROM STDIN (FORMAT binary)").format(name)
    ) as writing:
        writing.write(blob)
    wall = time.monotonic() - wall
    return Cost(
        cpu=(cpu_seconds([pid]) - cpu) * 1e6,
        wall=wall * 1e6,
        wal=server.wal_bytes() - wal,
    )


def _insert(
    report: Report, server: Server, target: psycopg.Connection[Any], rows: list[tuple[Any, ...]]
) -> Cost:
    """Insert events, a transaction each, prepared; no projections."""
    columns = len(rows[0])
    types = target.execute(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
        " WHERE attrelid = 'event'::regclass AND attnum > 0 ORDER BY attnum"
    ).fetchall()
    places = ", ".join(f"%s::{kind}" for (kind,) in types[:columns])
    statement = f"INSERT INTO event VALUES ({places})"
    json_at = [kind for (kind,) in types].index("jsonb")
    values = [
        (*row[:json_at], psycopg.types.json.Jsonb(row[json_at]), *row[json_at + 1 :])
        for row in rows
    ]
    with server.meter(ALONE) as meter:
        for value in values:
            target.execute(statement, value, prepare=True)
    cost = meter.cost(len(values))
    report.figure("single-row inserts, events alone: backend CPU", cost.cpu, "µs per event")
    report.figure("single-row inserts, events alone: wall", cost.wall, "µs per event")
    report.figure("single-row inserts, events alone: WAL", cost.wal, "bytes per event")
    return cost
