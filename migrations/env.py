"""Run migrations: over the connection that the program hands in, or over DATABASE_URL."""

import os

from alembic import context
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.sql.schema import SchemaItem

from jobledger.adapters.postgres.connection.engine import EngineOptions, open_engine
from jobledger.adapters.postgres.connection.lock_holders import told_holder
from jobledger.adapters.postgres.schema.tables import PARTITION_PREFIX, metadata
from jobledger.core.errors import LedgerMisconfigured, LedgerUnavailable

LOCK = (1246708300, 3)
LOCK_NOT_AVAILABLE = "55P03"

WAIT_SECONDS = 300
"""How long the other migrator, or whoever else holds its lock, is waited for."""


def is_ours(_item: SchemaItem, name: str | None, kind: str, *_: object) -> bool:
    """Leave out the partitions, which come and go, and foreign tables in the same schema."""
    if kind != "table" or name is None:
        return True
    return name in metadata.tables and not name.startswith(PARTITION_PREFIX)


def migrate(connection: Connection) -> None:
    """Run what is to be run in one transaction; a second migrator waits for the first.

    Raises `LedgerUnavailable` if the first one, or whoever else holds the lock, does not end.
    """
    context.configure(
        connection=connection,
        target_metadata=metadata,
        include_object=is_ours,
        compare_server_default=True,
    )
    with context.begin_transaction():
        _wait_for_turn(connection)
        context.run_migrations()


def _wait_for_turn(connection: Connection) -> None:
    """Take the lock of migrations, which any login may hold, within a time that is bounded."""
    seconds = context.config.attributes.get("wait_seconds", WAIT_SECONDS)
    try:
        with connection.begin_nested():
            connection.execute(text(f"SET LOCAL lock_timeout = '{seconds}s'"))
            connection.execute(text(f"SELECT pg_advisory_xact_lock{LOCK}"))
            connection.execute(text("SET LOCAL lock_timeout = DEFAULT"))
    except OperationalError as error:
        if getattr(error.orig, "sqlstate", None) != LOCK_NOT_AVAILABLE:
            raise
        told = told_holder(connection, *LOCK)
        what = f"no migration for {seconds} s, as another one seems to be under way: {told}"
        raise LedgerUnavailable(what) from error


def migrate_database_url() -> None:
    """Run over the database that DATABASE_URL names."""
    url = os.environ.get("DATABASE_URL")
    if not url:
        raise LedgerMisconfigured("DATABASE_URL is not set; migrations need to know where")
    engine = open_engine(url, EngineOptions(pool_size=1, statement_timeout_seconds=0))
    try:
        with engine.connect().execution_options(isolation_level="READ COMMITTED") as connection:
            migrate(connection)
    finally:
        engine.dispose()


handed_in = context.config.attributes.get("connection")
if handed_in is None:
    migrate_database_url()
else:
    migrate(handed_in)
