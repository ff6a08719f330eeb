"""The reporting tables computed anew from the log: compared with what is there, or put in place.

Readers see the old rows until the new ones are complete: these go into twins of the tables, and one
transaction swaps them. The projector goes on meanwhile; after the swap it goes on from there.
"""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from sqlalchemy import Connection, Engine, Row, select, text
from sqlalchemy.exc import DBAPIError

from adapters.postgres.engine import APP_ROLE, EngineOptions, open_engine
from adapters.postgres.errors import ledger_errors
from adapters.postgres.orphans import in_no_stream
from adapters.postgres.report_dimensions import mend_dimensions, wrong_dimensions
from adapters.postgres.report_projector import folded_from
from adapters.postgres.report_rows import as_columns, events_of, fill_twins, read_checkpoint
from adapters.postgres.report_tables import FACTS
from adapters.postgres.tables import event, metadata
from adapters.postgres.tables import stream as heads
from core.errors import LedgerUnavailable
from core.projections.differences import Difference, differences
from core.projections.reporting.fold import TABLES, Folded, Rows, Rules, rows_of
from core.values.ids import StreamId

SHARE_JOBS = 100
"""Jobs that are read and written at once."""

PROCESS_JOBS = 2_000
"""A process of its own is worth its start from so many jobs on."""

TRIES_MAX = 5
"""How often the log is caught up with before the tables may turn back a little."""

_LOCK = text("SELECT pg_try_advisory_lock(1246708300, 9)")
_AHEAD = text(
    "SELECT c.position, h.position AS head FROM report_checkpoint c CROSS JOIN log_head h"
    " WHERE c.position > h.position"
)
_SWAP = text("SELECT swap_reports_v1(:upto, :recorded_at, :turn_back)")

_LOCKED = frozenset({"55P03", "40P01"})
"""SQLSTATEs of a lock that did not come in time, and of a deadlock: a reader holds the tables."""

Told = Callable[[int, int], None]
"""Is told how many jobs are done, and of how many."""


def rebuild_reports(
    engine: Engine,
    rules: Rules,
    told: Told = lambda _done, _all: None,
    processes: int = 1,
    owner: Engine | None = None,
) -> int:
    """Put newly computed rows in place of all rows of the reporting tables; return how many jobs.

    Many jobs are shared by several processes: folding is Python, which keeps one core busy.
    Dimensions that were changed are put right by `owner`; the service's role may only add some.

    Raises:
        LedgerUnavailable: another rebuild is under way, or a reader held the tables for too long.
    """
    with ledger_errors(engine.url), engine.connect() as connection:
        try:
            if not connection.execute(_LOCK).scalar_one():
                raise LedgerUnavailable("another rebuild of the reports is under way")
            connection.execute(text("SELECT prepare_reports_v1()"))
            upto = _last_position(connection)  # first: a job that begins now is caught up with
            streams = connection.execute(select(heads.c.stream_id)).scalars().all()
            _fill_all(engine, connection, streams, upto, rules, told, processes)
            _swap(connection, upto, rules)
            if owner is not None and any(wrong_dimensions(engine, rules)):
                mend_dimensions(owner, rules)
            return len(streams)
        finally:
            connection.invalidate()  # with the session the lock goes, whatever happened


def check_reports(
    engine: Engine, rules: Rules, told: Told = lambda _done, _all: None
) -> Iterator[Difference]:
    """Yield every column of the tables that is not what the log up to their checkpoint says.

    Each share of the jobs is read in one snapshot, so that a projector at work disturbs nothing.
    """
    with ledger_errors(engine.url), engine.connect() as connection:
        streams = connection.execute(select(heads.c.stream_id)).scalars().all()
    snapshot = engine.execution_options(isolation_level="REPEATABLE READ")
    for at in range(0, len(streams), SHARE_JOBS):
        share = streams[at : at + SHARE_JOBS]
        with ledger_errors(engine.url), snapshot.connect() as connection, connection.begin():
            yield from _differences(connection, share, rules)
        told(min(at + SHARE_JOBS, len(streams)), len(streams))
    yield from _orphans(engine)
    yield from wrong_dimensions(engine, rules)
    yield from _ahead(engine)


def _orphans(engine: Engine) -> Iterator[Difference]:
    """Yield, of each table, the streams that have facts in it and are not in the log."""
    for table in FACTS:
        query = text(
            f"SELECT DISTINCT f.stream_id FROM {table} f WHERE NOT EXISTS"  # noqa: S608  # a name of ours
            " (SELECT FROM stream s WHERE s.stream_id = f.stream_id) ORDER BY 1"
        )
        with ledger_errors(engine.url), engine.connect() as connection:
            streams = connection.execute(query).scalars().all()
        yield from in_no_stream(table, streams)


def _ahead(engine: Engine) -> Iterator[Difference]:
    """Yield a checkpoint beyond the end of the log: the next events would never be reported."""
    with ledger_errors(engine.url), engine.connect() as connection:
        row = connection.execute(_AHEAD).one_or_none()
    if row is not None:
        yield Difference(
            table="report_checkpoint",
            key="true",
            column="position",
            found=str(row.position),
            expected=f"at most {row.head}",
        )


def _fill_all(  # noqa: PLR0913, PLR0917 handed on as they are
    engine: Engine,
    connection: Connection,
    streams: Sequence[StreamId],
    upto: int,
    rules: Rules,
    told: Told,
    processes: int,
) -> None:
    processes = min(processes, len(streams) // PROCESS_JOBS)
    if processes <= 1:
        _fill(connection, streams, upto, rules, told)
        return
    url, done = engine.url.render_as_string(hide_password=False), 0
    shares = [streams[at : at + SHARE_JOBS] for at in range(0, len(streams), SHARE_JOBS)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        for jobs in pool.map(partial(_fill_apart, url, upto, rules), shares, chunksize=4):
            done += jobs
            told(done, len(streams))


def _fill_apart(url: str, upto: int, rules: Rules, streams: Sequence[StreamId]) -> int:
    """Fill the twins with a share of the jobs, in a process of its own."""
    engine = open_engine(url, EngineOptions(role=APP_ROLE, pool_size=1))
    try:
        with ledger_errors(engine.url), engine.connect() as connection:
            _fill(connection, streams, upto, rules, lambda _done, _all: None)
    finally:
        engine.dispose()
    return len(streams)


def _fill(
    connection: Connection, streams: Sequence[StreamId], upto: int, rules: Rules, told: Told
) -> None:
    for at in range(0, len(streams), SHARE_JOBS):
        share = streams[at : at + SHARE_JOBS]
        fill_twins(connection, list(_folded(connection, share, upto, rules)))
        told(min(at + SHARE_JOBS, len(streams)), len(streams))


def _swap(connection: Connection, upto: int, rules: Rules) -> None:
    """Catch up with what came meanwhile, and swap; the tables may turn back a little in the end."""
    for remaining in reversed(range(TRIES_MAX)):
        last = _last_position(connection)
        came = select(event.c.stream_id).distinct().where(event.c.position > upto)
        streams = connection.execute(came.where(event.c.position <= last)).scalars().all()
        _fill(connection, streams, last, rules, lambda _done, _all: None)
        upto = last
        asked = {
            "upto": upto,
            "recorded_at": _recorded_at(connection, upto),
            "turn_back": remaining == 0,
        }
        try:
            if connection.execute(_SWAP, asked).scalar_one():
                return
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) not in _LOCKED or remaining == 0:
                raise


def _last_position(connection: Connection) -> int:
    last: int = connection.execute(text("SELECT position FROM log_head")).scalar_one()
    return last


def _recorded_at(connection: Connection, position: int) -> object:
    query = select(event.c.recorded_at).where(event.c.position == position)
    return connection.execute(query).scalar_one_or_none()


def _folded(
    connection: Connection, streams: Sequence[StreamId], upto: int, rules: Rules
) -> Iterator[Rows]:
    for events in events_of(connection, streams, upto).values():
        folded = folded_from(Folded(), events, rules) if events else None
        if folded is not None:
            yield rows_of(folded)


def _differences(
    connection: Connection, streams: Sequence[StreamId], rules: Rules
) -> Iterator[Difference]:
    upto = read_checkpoint(connection).position
    expected = {
        (table, _key(table, columns)): columns
        for rows in _folded(connection, streams, upto, rules)
        for table, columns in as_columns(rows)
    }
    found = {
        (table, _key(table, row._mapping)): dict(row._mapping)  # noqa: SLF001 its documented name
        for table in TABLES
        for row in _stored(connection, table, streams)
    }
    return differences(found, expected)


def _stored(
    connection: Connection, table: str, streams: Sequence[StreamId]
) -> Sequence[Row[tuple[object, ...]]]:
    columns = metadata.tables[table].c
    return connection.execute(
        select(metadata.tables[table]).where(columns.stream_id.in_(streams))
    ).all()


def _key(table: str, row: object) -> str:
    """Return the primary key of a row, for people."""
    assert hasattr(row, "__getitem__")
    return " ".join(str(row[column.name]) for column in metadata.tables[table].primary_key.columns)
