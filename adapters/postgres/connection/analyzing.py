"""Runs ANALYZE on grown tables; autovacuum never does so for a partitioned table."""

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors

_ANALYZE = text("SELECT * FROM analyze_grown_v1()")


def analyze_grown(engine: Engine) -> list[str]:
    """Analyze every table that has changed by a tenth since; return their names.

    Raises `LedgerError` if the function is not there, may not be called, or waits for a lock.
    """
    with ledger_errors(engine.url), engine.connect() as connection:
        return [name for (name,) in connection.execute(_ANALYZE)]
