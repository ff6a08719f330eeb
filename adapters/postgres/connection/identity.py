"""Identifies the database: a copied, restored or promoted one has another identity."""

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors

_IDENTITY = text("""
    SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()),
        left(pg_walfile_name(pg_current_wal_lsn()), 8),
        (SELECT oid FROM pg_database WHERE datname = current_database()), current_schema())
""")


def database_identity(engine: Engine) -> str:
    """Return cluster of databases, timeline, database and schema.

    A promotion begins a new timeline, a restore from a dump has another of the others. Files that
    were copied and started without recovery are the only copy that looks the same.

    Raises:
        LedgerError: the database does not answer.
    """
    with ledger_errors(engine.url), engine.connect() as connection:
        found: str = connection.execute(_IDENTITY).scalar_one()
    return found
