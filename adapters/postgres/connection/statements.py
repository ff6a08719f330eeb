"""Runs one statement by itself, and those that ask of the database as a whole.

They raise `LedgerError`, also for a database that does not answer.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, Executable, Select, text

from jobledger.adapters.postgres.connection.engine import IN_BINARY
from jobledger.adapters.postgres.connection.errors import ends_unknown, ledger_errors
from jobledger.core.errors import LedgerMisconfigured
from jobledger.core.values.instants import Instant

_IDENTITY = text("""
    SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
        left(pg_walfile_name(pg_current_wal_lsn()), 8),
        (SELECT oid FROM pg_database WHERE datname = current_database()), current_schema())
""")
_END_OF_LOG = text("SELECT position FROM log_head WHERE single")
_MAY_CHANGE = text(
    "SELECT bool_and(has_table_privilege(name, 'UPDATE') AND has_table_privilege(name, 'DELETE'))"
    " FROM unnest(CAST(:tables AS text[])) name"
)

Values = Mapping[str, Any]


def all_rows(engine: Engine, statement: Executable, values: Values | None = None) -> Sequence[Any]:
    """Return the rows of a statement."""
    with ledger_errors(engine.url), engine.connect() as connection:
        return connection.execute(statement, values).all()


def all_mappings(
    engine: Engine, statement: Executable, values: Values | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a statement by the names of their columns."""
    with ledger_errors(engine.url), engine.connect() as connection:
        return [dict(row) for row in connection.execute(statement, values).mappings()]


def one_column(
    engine: Engine, statement: Executable, values: Values | None = None
) -> Sequence[Any]:
    """Return the values of a statement that has one column."""
    with ledger_errors(engine.url), engine.connect() as connection:
        return connection.execute(statement, values).scalars().all()


def one_value(engine: Engine, statement: Executable, values: Values | None = None) -> Any:  # noqa: ANN401 of any column
    """Return the value of a statement that has one."""
    with ledger_errors(engine.url), engine.connect() as connection:
        return connection.execute(statement, values).scalar_one()


def database_now(engine: Engine) -> Instant:
    """Return the instant by the clock of the database."""
    now: Instant = one_value(engine, text("SELECT clock_timestamp()"))
    return now


def end_of_log(connection: Connection) -> int:
    """Return the position of the last event.

    Raises:
        LedgerMisconfigured: nothing tells it.
    """
    last: int | None = connection.execute(_END_OF_LOG).scalar_one_or_none()
    if last is None:
        raise ends_unknown(connection.engine.url)
    return last


def database_identity(engine: Engine) -> str:
    """Return cluster of databases, timeline, database and schema.

    A promotion begins a new timeline, a restore from a dump has another of the others. Files that
    were copied and started without recovery are the only copy that looks the same.
    """
    return str(one_value(engine, _IDENTITY))


def analyze_grown(engine: Engine) -> Sequence[str]:
    """Analyze every table that has changed by a tenth since; return their names.

    Autovacuum never does so for a partitioned table. Raises also if the function is not there, may
    not be called, or waits for a lock.
    """
    return one_column(engine, text("SELECT * FROM analyze_grown_v1()"))


def may_change(engine: Engine, tables: Collection[str]) -> bool:
    """Return whether the user of an engine may change and remove rows of all these tables."""
    try:
        return bool(one_value(engine, _MAY_CHANGE, {"tables": list(tables)}))
    except LedgerMisconfigured:  # without the service's role he does not even see them
        return False


def driver_rows(connection: Connection, query: Select[Any]) -> Sequence[Sequence[Any]]:
    """Return many rows, from the driver's cursor and in the form in which Postgres keeps values.

    That is a tenth less CPU than by way of SQLAlchemy's rows, and half of what values as texts
    take. Raises as the driver does.
    """
    with connection.execute(query, execution_options=IN_BINARY) as result:
        assert result.cursor is not None, "a SELECT has rows"
        return result.cursor.fetchall()
