"""Reads the time of the database's clock."""

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.core.values.instants import Instant

_NOW = text("SELECT clock_timestamp()")


def database_now(engine: Engine) -> Instant:
    """Return the instant.

    Raises:
        LedgerError: the database does not answer.
    """
    with ledger_errors(engine.url), engine.connect() as connection:
        now: Instant = connection.execute(_NOW).scalar_one()
    return now
