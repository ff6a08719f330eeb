"""Measures the database: sizes, dead rows, partitions, roles, lag.

One reading, for `jobledger db status` and for the checks of `jobledger doctor`. Rows of tables are
Postgres' own estimates; nothing here counts a large table.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, Row, text
from sqlalchemy.exc import DBAPIError

from jobledger.adapters.postgres.connection.errors import ends_unknown, ledger_errors
from jobledger.adapters.postgres.schema.guards import own_tables
from jobledger.adapters.postgres.verifying.seals import PostgresSeals
from jobledger.core.values.instants import Instant

MILLION = 1_000_000

MONTHS_AHEAD = 2
"""As many months after this one should have their partition; the service makes them."""

_DATABASE = text("""
    SELECT current_user AS "user", current_setting('server_version') AS server,
        current_setting('autovacuum') = 'on' AS autovacuum,
        current_setting('transaction_read_only') = 'on' AS only_reads,
        pg_is_in_recovery() AS standby,
        (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'event'::regclass) AS owner,
        pg_has_role(
            (SELECT relowner FROM pg_class WHERE oid = 'event'::regclass), 'MEMBER'
        ) AS is_owner,
        EXISTS (SELECT FROM pg_roles WHERE rolname = 'jobledger_app') AS app_role,
        EXISTS (SELECT FROM pg_roles WHERE rolname = 'jobledger_report') AS report_role,
        clock_timestamp() AS now,
        (SELECT position FROM log_head WHERE single) AS last_position,
        (SELECT count(*) FROM archive) AS archives,
        (SELECT coalesce(sum(jobs), 0)::bigint FROM archive) AS archived_jobs,
        (SELECT coalesce(sum(events), 0)::bigint FROM archive) AS archived_events,
        (SELECT count(*) FROM archived_stream JOIN stream USING (stream_id)) AS archived_still_here,
        (SELECT coalesce(max(last_position), 0) FROM seal) AS sealed_to,
        (SELECT position FROM report_checkpoint WHERE single) AS reported_to,
        (SELECT e.recorded_at FROM event e, report_checkpoint c
            WHERE c.single AND e.position > c.position
            ORDER BY e.position LIMIT 1) AS unreported_since,
        (SELECT count(*) FROM job WHERE open) AS open_jobs
""")

_OLDEST = text("""
    SELECT cluster, kind, namespace, name, phase, created_at, last_event_at
    FROM job WHERE open ORDER BY stream_id LIMIT 1
""")

_TABLES = text("""
    SELECT t.relname AS "table", greatest(t.n_live_tup, c.reltuples::bigint, 0) AS rows,
        t.n_dead_tup AS dead_rows, pg_total_relation_size(c.oid) AS bytes,
        greatest(t.last_vacuum, t.last_autovacuum) AS vacuumed_at,
        greatest(t.last_analyze, t.last_autoanalyze) AS analyzed_at,
        c.relispartition AS is_partition
    FROM pg_stat_user_tables t JOIN pg_class c ON c.oid = t.relid
    WHERE t.schemaname = current_schema() AND c.relkind = 'r' AND c.oid = ANY (CAST(:own AS oid[]))
    ORDER BY t.relname
""")

SERVICE_FUNCTIONS = (
    "append_v1",
    "rebuild_stream_v1",
    "slot_of_v1",
    "acquire_shards_v1",
    "release_shards_v1",
    "ensure_partitions_v1",
    "add_seal_v1",
    "put_evidence_v1",
    "keep_import_v1",
    "put_report_rows_v1",
    "analyze_grown_v1",
    "beat_v1",
    "leave_v1",
    "give_shards_v1",
    "put_notifications_v1",
    "take_notifications_v1",
    "settle_notification_v1",
    "clear_dead_notifications_v1",
)
"""What the service calls: its role may execute it."""

_RIGHTS = text("""
    SELECT 'EXECUTE ON FUNCTION ' || f AS lacking, NULL AS beyond
    FROM unnest(CAST(:functions AS text[])) f
    WHERE NOT EXISTS (
        SELECT FROM pg_proc p
        WHERE p.proname = f AND p.pronamespace = to_regnamespace(quote_ident(current_schema()))
            AND has_function_privilege('jobledger_app', p.oid, 'EXECUTE')
    )
    UNION ALL
    SELECT 'SELECT ON ' || c.relname, NULL FROM pg_class c
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
        AND c.oid = ANY (CAST(:own AS oid[]))
        AND NOT c.relispartition AND NOT has_table_privilege('jobledger_app', c.oid, 'SELECT')
    UNION ALL
    SELECT NULL, what || ' ON ' || c.relname
    FROM pg_class c, unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS what
    WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
        AND c.oid = ANY (CAST(:own AS oid[]))
        AND has_table_privilege('jobledger_app', c.oid, what)
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCondition:
    """One table, or one partition of the log."""

    table: str
    rows: int
    """About."""
    dead_rows: int
    """Rows that were changed or removed and take up room until a vacuum."""
    bytes: int
    """With its indexes."""
    vacuumed_at: Instant | None
    analyzed_at: Instant | None
    is_partition: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The database at one moment."""

    user: str
    server: str
    autovacuum: bool
    only_reads: bool
    """Whether it refuses every write."""
    standby: bool
    """Whether it follows another server."""
    lacks_room: str
    """What Postgres says if its disk is full; empty if it is not."""
    owner: str
    """Who owns the tables."""
    is_owner: bool
    """Whether this user may act as the owner: archive, upgrade."""
    app_role: bool
    report_role: bool
    now: Instant
    """By the clock of the database."""
    last_position: int
    archives: int
    archived_jobs: int
    archived_events: int
    archived_still_here: int
    """Jobs of which a record speaks and that are still in the log."""
    sealed_to: int
    seals_fault: str | None
    """What shows that a seal is gone, was put in or moved; None if nothing does."""
    reported_to: int
    """Position up to which the reporting tables are."""
    unreported_since: Instant | None
    """When the oldest event that they lack was written down; None if they lack none."""
    open_jobs: int
    rights_lacking: tuple[str, ...]
    """What the service's role may not do and has to."""
    rights_beyond: tuple[str, ...]
    """What it may do past the functions, and must not."""
    oldest_open: dict[str, Any] | None
    tables: tuple[TableCondition, ...]

    @property
    def partitions(self) -> tuple[TableCondition, ...]:
        """Return the partitions of the log, the oldest first."""
        return tuple(table for table in self.tables if table.is_partition)

    @property
    def events(self) -> int:
        """Return how many events are in the log."""
        return self.last_position - self.archived_events

    @property
    def bytes(self) -> int:
        """Return the size of all tables with their indexes."""
        return sum(table.bytes for table in self.tables)

    @property
    def bytes_per_million_events(self) -> int | None:
        """Return the size of everything for each million events; None for an empty log."""
        return self.bytes * MILLION // self.events if self.events > 0 else None

    @property
    def log_bytes_per_million_events(self) -> int | None:
        """Return the size of the log alone for each million events; None for an empty log."""
        size = sum(table.bytes for table in self.partitions)
        return size * MILLION // self.events if self.events > 0 else None

    @property
    def months_missing(self) -> tuple[str, ...]:
        """Return the partitions of this month and the next ones that are not there."""
        there = {table.table for table in self.partitions}
        return tuple(name for name in _wanted(self.now) if name not in there)


def condition(engine: Engine) -> Condition:
    """Return the condition of a ledger whose schema is the newest; changes nothing.

    Raises:
        LedgerMisconfigured: nothing tells where the log ends, or how far the reports are.
    """
    with ledger_errors(engine.url), engine.connect() as connection:
        found = dict(connection.execute(_DATABASE).mappings().one())
        if found["last_position"] is None or found["reported_to"] is None:
            raise ends_unknown(engine.url)
        oldest = connection.execute(_OLDEST).mappings().one_or_none()
        rows = connection.execute(_TABLES, {"own": own_tables(connection)}).mappings()
        tables = tuple(TableCondition(**row) for row in rows)
        rights = _rights(connection) if found["app_role"] else ()
    return Condition(
        **found,
        lacks_room=lacks_room(engine),
        seals_fault=PostgresSeals(engine).fault_of_seals(),
        rights_lacking=tuple(row.lacking for row in rights if row.lacking is not None),
        rights_beyond=tuple(row.beyond for row in rights if row.beyond is not None),
        oldest_open=None if oldest is None else dict(oldest),
        tables=tables,
    )


def rights_lacking(engine: Engine) -> tuple[str, ...]:
    """Return what the service's role has to be allowed and is not, as GRANT has it."""
    with ledger_errors(engine.url), engine.connect() as connection:
        return tuple(row.lacking for row in _rights(connection) if row.lacking is not None)


def _rights(connection: Connection) -> Sequence[Row[Any]]:
    asked = {"own": own_tables(connection), "functions": list(SERVICE_FUNCTIONS)}
    return connection.execute(_RIGHTS, asked).all()


def _wanted(now: Instant) -> Sequence[str]:
    months = [now.replace(day=1)]
    for _ in range(MONTHS_AHEAD):
        months.append((months[-1] + timedelta(days=32)).replace(day=1))
    return [f"event_y{month.year:04}m{month.month:02}" for month in months]


_OF_OWN_DISK = text("SET LOCAL temp_tablespaces TO ''")
_IN_LITTLE_MEMORY = text("SET LOCAL work_mem TO '64kB'")
_SORT = text("""
    SELECT count(*) FROM (
        SELECT n FROM generate_series(1, 8192) n
        ORDER BY md5(n::text) || repeat('x', 1000) OFFSET 0
    ) sorted
""")
"""Sorts 8 MB that have no room in memory: they are written beside the tables, and removed."""

_DISK_FULL = "53100"


def lacks_room(engine: Engine) -> str:
    """Return what Postgres says if nothing more can be written to its disk; empty if it can.

    Raises:
        LedgerError: the database does not answer.
    """
    one_transaction = engine.execution_options(isolation_level="READ COMMITTED")
    with ledger_errors(engine.url), one_transaction.begin() as connection:
        connection.execute(_OF_OWN_DISK)
        connection.execute(_IN_LITTLE_MEMORY)
        try:
            connection.execute(_SORT)
        except DBAPIError as problem:
            error = problem.orig
            if not isinstance(error, psycopg.Error) or error.sqlstate is None:
                raise  # it went away
            if error.sqlstate == _DISK_FULL:
                return error.diag.message_primary or str(error)
            # Any other state, a limit on such files say, tells nothing of the disk.
    return ""
