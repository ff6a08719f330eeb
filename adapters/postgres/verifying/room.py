"""Tells whether the disk of the database takes another few megabytes, without a change to it."""

import psycopg
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from jobledger.adapters.postgres.connection.errors import ledger_errors

_OF_OWN_DISK = text("SET LOCAL temp_tablespaces TO ''")
_IN_LITTLE_MEMORY = text("SET LOCAL work_mem TO '64kB'")
_SORT = text("""
    SELECT count(*) FROM (
        SELECT n FROM generate_series(1, 8192) n
        ORDER BY md5(n::text) || repeat('x', 1000) OFFSET 0
    ) sorted
""")
"""Sorts 8 MB that have no room in memory: they are written beside the tables, and removed."""

DISK_FULL = "53100"


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
            if error.sqlstate == DISK_FULL:
                return error.diag.message_primary or str(error)
            # Any other state, a limit on such files say, tells nothing of the disk.
    return ""
