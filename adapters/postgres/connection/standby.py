"""Says how old the news of a standby are: it answers by what it has taken over of its primary."""

from datetime import timedelta

from sqlalchemy import Connection, Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.core.values.instants import Instant

LATE = timedelta(minutes=1)
"""A service that works commits several times a minute, so a standby that follows is not older."""

_TAKEN_OVER = text("""
    SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_xact_replay_timestamp() END AS taken_over,
        clock_timestamp() AS now
""")


def stale_since(connection: Connection) -> Instant | None:
    """Return when what a standby tells was true, if that is not just now.

    It is when its primary committed what it took over last; if it was idle since, nothing is
    missing. None for a primary, a standby that follows, and one that does not say.
    """
    found = connection.execute(_TAKEN_OVER).one()
    taken_over: Instant | None = found.taken_over
    if taken_over is None or found.now - taken_over < LATE:
        return None
    return taken_over


def ledger_stale_since(engine: Engine) -> Instant | None:
    """Ask `stale_since` on a connection of its own; raises `LedgerUnavailable`."""
    with ledger_errors(engine.url), engine.connect() as connection:
        return stale_since(connection)
