"""Recomputes the reporting tables from the log, to compare or to replace them.

Readers see the old rows until the new ones are complete: these go into twins of the tables, and one
transaction swaps them. The projector goes on meanwhile; after the swap it goes on from there.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine, Row, select, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from jobledger.adapters.postgres.connection.engine import APP_ROLE
from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.lock_holders import told_holder
from jobledger.adapters.postgres.connection.pooler import require_own_session
from jobledger.adapters.postgres.connection.statements import end_of_log, one_column
from jobledger.adapters.postgres.refolding.processes import shared_among
from jobledger.adapters.postgres.reports.projecting.archived import ArchivedJobs, archived_rows
from jobledger.adapters.postgres.reports.projecting.checkpoint import (
    GONE,
    mend_checkpoint,
    read_checkpoint,
    wrong_checkpoint,
)
from jobledger.adapters.postgres.reports.projecting.dimensions import (
    mend_dimensions,
    wrong_dimensions,
)
from jobledger.adapters.postgres.reports.projecting.projector import folded_from
from jobledger.adapters.postgres.reports.projecting.rows import (
    as_columns,
    events_upto,
    fill_twins,
    holdable,
)
from jobledger.adapters.postgres.schema.report_tables import FACTS
from jobledger.adapters.postgres.schema.stored_events import is_of
from jobledger.adapters.postgres.schema.tables import event, metadata
from jobledger.adapters.postgres.schema.tables import stream as heads
from jobledger.adapters.postgres.verifying.instants import keys_of, no_instants
from jobledger.adapters.postgres.verifying.orphans import in_no_stream
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.projections.differences import Difference, differences
from jobledger.core.projections.reporting.fold import TABLES, Folded, Rows, Rules, rows_of
from jobledger.core.values.ids import StreamId

SHARE_JOBS = 100
"""Jobs that are read and written at once."""

TRIES_MAX = 5
"""How often the log is caught up with before the tables may turn back a little."""

PAUSES_SECONDS = (0.5, 1, 2, 4, 8, 15, *([30] * 10))
"""How long each transaction that holds the tables is given: five and a half minutes in all."""

_NUMBER = 1246708309
_LOCK = text(f"SELECT pg_try_advisory_lock({_NUMBER}, hashtext(CAST(current_schema() AS text)))")
"""One for each schema: a database may hold several ledgers."""

_HOLDERS = text(
    "SELECT DISTINCT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND relation = ANY (CAST(CAST(:tables AS text[]) AS regclass[]))"
    " AND pid <> pg_backend_pid() AND mode <> 'ShareUpdateExclusiveLock'"
)
"""Transactions that hold the tables. A vacuum has that mode: the server ends it for a swap."""

_SWAP = text("SELECT swap_reports_v1(:upto, :recorded_at, :turn_back)")

_LOCKED = frozenset({"55P03", "40P01"})
"""SQLSTATEs of a lock that did not come in time, and of a deadlock: a reader holds the tables."""

_ByKey: TypeAlias = dict[tuple[str, str], dict[str, Any]]
"""Table and primary key -> the columns of the row."""

_Item = TypeVar("_Item")

Told = Callable[[int, int], None]
"""Is told how many jobs are done, and of how many."""


def rebuild_reports(
    engine: Engine,
    rules: Rules,
    told: Told = lambda _done, _all: None,
    processes: int = 1,
    owner: Engine | None = None,
    archived: ArchivedJobs = (),
) -> int:
    """Put newly computed rows in place of all rows of the reporting tables; return how many jobs.

    Rows of archived jobs stay as they are, but of those in `archived`, which are computed too.
    Many jobs are shared by several processes: folding is Python, which keeps one core busy.
    A checkpoint that is gone and dimensions that were changed are put right by `owner`: the role of
    the service may not.

    Raises:
        LedgerMisconfigured: the checkpoint is gone, and there is no owner who may put it back.
        LedgerUnavailable: another rebuild is under way, or a reader held the tables for too long.
    """
    with ledger_errors(engine.url), engine.connect() as connection:
        require_own_session(connection, "a rebuild of the reports")
        try:
            if not connection.execute(_LOCK).scalar_one():
                who = told_holder(connection, _NUMBER)
                raise LedgerUnavailable(f"another rebuild of the reports is under way: {who}")
            if owner is not None:
                mend_checkpoint(owner)
            read_checkpoint(connection)  # without it no swap can come about
            connection.execute(text("SELECT prepare_reports_v1()"))
            upto = end_of_log(connection)  # first: a job that begins now is caught up with
            streams = connection.execute(select(heads.c.stream_id)).scalars().all()
            try:
                fill = partial(_fill_share, upto, rules)
                for _ in shared_among(engine, streams, fill, told, processes, role=APP_ROLE):
                    pass
                for share in _batched(archived_rows(archived, set(streams), rules)):
                    fill_twins(connection, share)
                _swap(connection, upto, rules)
            except Exception:
                with suppress(SQLAlchemyError):  # the twins keep no room; the next rebuild has them
                    connection.execute(text("SELECT prepare_reports_v1()"))
                raise
            if owner is not None and any(wrong_dimensions(engine, rules)):
                mend_dimensions(owner, rules)
            return len(streams)
        finally:
            connection.invalidate()  # with the session the lock goes, whatever happened


def check_reports(
    engine: Engine,
    rules: Rules,
    told: Told = lambda _done, _all: None,
    archived: ArchivedJobs = (),
    processes: int = 1,
) -> Iterator[Difference]:
    """Yield every column of the tables that is not what the log up to their checkpoint says.

    Rows of archived jobs are held against the events in `archived`. Each share of the jobs is read
    in one snapshot, so that a projector at work disturbs nothing.
    """
    unread = [found.difference for found in no_instants(engine, keys_of(TABLES))]
    wrong = list(wrong_checkpoint(engine))
    yield from [*unread, *wrong]
    if unread:  # what cannot be read is not compared
        return
    if GONE in wrong:  # up to where the tables should be like the log, nobody knows
        return
    streams = one_column(engine, select(heads.c.stream_id))
    check = partial(_differences_of, rules)
    for differing in shared_among(engine, streams, check, told, processes, role=APP_ROLE):
        yield from differing
    for rows in _batched(archived_rows(archived, set(streams), rules)):
        with ledger_errors(engine.url), engine.connect() as connection:
            found = _found(connection, [one.stream_id for one in rows])
        yield from _different(engine, found, rows)
    yield from _orphans(engine)
    yield from wrong_dimensions(engine, rules)


def _differences_of(rules: Rules, engine: Engine, streams: Sequence[StreamId]) -> list[Difference]:
    differing = list[Difference]()
    snapshot = engine.execution_options(isolation_level="REPEATABLE READ")
    for share in _batched(streams):
        with ledger_errors(engine.url), snapshot.connect() as connection, connection.begin():
            found, expected = _compared(connection, share, rules)
        differing += _different(engine, found, expected)
    return differing


def _batched(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Yield as many as are read and written at once."""
    rest = iter(items)
    while share := list(islice(rest, SHARE_JOBS)):
        yield share


def _different(engine: Engine, found: _ByKey, expected: list[Rows]) -> Iterator[Difference]:
    """Yield what differs, but for jobs that the tables cannot hold."""
    if any(differences(found, _by_key(expected))):
        with ledger_errors(engine.url), engine.connect() as connection:
            expected = holdable(connection, expected)
    yield from differences(found, _by_key(expected))


def _orphans(engine: Engine) -> Iterator[Difference]:
    """Yield, of each table, the streams that have facts in it and were never in the log."""
    for table in FACTS:
        query = text(
            f"SELECT DISTINCT f.stream_id FROM {table} f WHERE NOT EXISTS"  # noqa: S608  # a name of ours
            " (SELECT FROM stream s WHERE s.stream_id = f.stream_id) AND NOT EXISTS"
            " (SELECT FROM archived_stream a WHERE a.stream_id = f.stream_id) ORDER BY 1"
        )
        streams = one_column(engine, query)
        yield from in_no_stream(table, streams)


def _fill_share(upto: int, rules: Rules, engine: Engine, streams: Sequence[StreamId]) -> None:
    with ledger_errors(engine.url), engine.connect() as connection:
        _fill(connection, streams, upto, rules)


def _fill(connection: Connection, streams: Sequence[StreamId], upto: int, rules: Rules) -> None:
    for share in _batched(streams):
        fill_twins(connection, list(_folded(connection, share, upto, rules)))


def _swap(connection: Connection, upto: int, rules: Rules) -> None:
    """Catch up with what came meanwhile, and swap; the tables may turn back a little in the end.

    Whoever wants to read waits behind a swap that waits: so transactions that hold the tables for
    long are waited for here. Raises `LedgerUnavailable` if that takes too long.
    """
    tries = 0
    for pause in PAUSES_SECONDS:
        if _is_held(connection, pause):
            continue
        tries += 1
        last = end_of_log(connection)
        came = select(event.c.stream_id).distinct().where(event.c.position > upto)
        streams = connection.execute(came.where(event.c.position <= last)).scalars().all()
        _fill(connection, streams, last, rules)
        upto = last
        if _swapped(connection, upto, turn_back=tries >= TRIES_MAX):
            return
    raise LedgerUnavailable(
        "a report or another transaction held the reporting tables for too long; they are as they "
        "were: run this again when it has ended (pg_locks says which it is)"
    )


def _is_held(connection: Connection, pause: float) -> bool:
    """Return whether a transaction holds the tables now and after a pause."""
    before = _holders(connection)
    if not before:
        return False
    time.sleep(pause)
    return not before.isdisjoint(_holders(connection))


def _holders(connection: Connection) -> frozenset[str]:
    return frozenset(connection.execute(_HOLDERS, {"tables": list(FACTS)}).scalars())


def _swapped(connection: Connection, upto: int, *, turn_back: bool) -> bool:
    """Return whether the swap came about: neither a projector is ahead nor a reader in its way."""
    recorded_at = _recorded_at(connection, upto)
    asked = {"upto": upto, "recorded_at": recorded_at, "turn_back": turn_back}
    try:
        return bool(connection.execute(_SWAP, asked).scalar_one())
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) not in _LOCKED:
            raise
        return False


def _recorded_at(connection: Connection, position: int) -> object:
    query = select(event.c.recorded_at).where(event.c.position == position)
    return connection.execute(query).scalar_one_or_none()


def _folded(
    connection: Connection, streams: Sequence[StreamId], upto: int, rules: Rules
) -> Iterator[Rows]:
    for events in events_upto(connection, streams, upto).values():
        folded = folded_from(Folded(), events, rules) if events else None
        if folded is not None:
            yield rows_of(folded)


def _compared(
    connection: Connection, streams: Sequence[StreamId], rules: Rules
) -> tuple[_ByKey, list[Rows]]:
    """Return what is in the tables, and what should be; of jobs that were archived meanwhile none.

    Facts of these stay, and their events are in a file.
    """
    upto = read_checkpoint(connection).position
    here = connection.execute(select(heads.c.stream_id).where(is_of(heads, streams))).scalars()
    there = list(here)
    return _found(connection, there), list(_folded(connection, there, upto, rules))


def _found(connection: Connection, streams: Sequence[StreamId]) -> _ByKey:
    return {
        (table, _key(table, row._mapping)): dict(row._mapping)  # noqa: SLF001 its documented name
        for table in TABLES
        for row in _stored(connection, table, streams)
    }


def _by_key(rows: Iterable[Rows]) -> _ByKey:
    return {
        (table, _key(table, columns)): columns for one in rows for table, columns in as_columns(one)
    }


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
