"""Tells whether a pooler stands between us and Postgres, and what works through one.

Behind pgBouncer in transaction mode the next statement may be another server process': what a
session has set, prepared or locked is gone, or is somebody else's. So through a pooler nothing is
set for a session: the login itself has to bring what the ledger relies on.
"""

from typing import Any

import psycopg
from sqlalchemy import Connection

from jobledger.core.errors import LedgerMisconfigured

_HAS_OWN_SESSION = "_jobledger_has_own_session"

_SESSION = """
    SELECT pg_backend_pid(), current_user::text, session_user::text,
        current_setting('TimeZone'), current_setting('default_transaction_isolation'),
        current_setting('DateStyle'), current_setting('IntervalStyle'),
        CAST(current_setting('extra_float_digits') AS integer),
        current_setting('synchronous_commit') <> 'off', current_setting('lock_timeout') = '0',
        current_setting('row_security') = 'off' OR NOT EXISTS (
            SELECT FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
            WHERE n.nspname = current_schema() AND row_security_active(t.oid)
        )
"""

_UTC = frozenset({"UTC", "Etc/UTC", "GMT", "Etc/GMT"})
_ISOLATION = "read committed"
_DATES, _INTERVALS = "ISO", "postgres"
"""The only forms in which the driver reads instants and intervals."""

DIRECTLY = (
    "it needs a session of its own, and a pooler is before this address: run it with the address "
    "of Postgres itself in DATABASE_URL"
)
"""What is said of commands that do not work through a pooler."""


def look(connection: psycopg.Connection[Any], role: str) -> bool:
    """Return whether a connection has a session of its own; note it for `has_own_session`.

    A pooler tells its clients the number of no process. Source: PostgreSQL documentation,
    Frontend/Backend Protocol, BackendKeyData; pgBouncer makes one up for each client.

    Raises:
        LedgerMisconfigured: there is a pooler, and the login does not bring what `role` needs.
    """
    found = connection.execute(_SESSION).fetchone()
    assert found is not None, "a query without a condition"
    process, user, login, zone, isolation, dates, intervals, digits, *others = found
    is_durable, waits_for_locks, sees_all_rows = others
    owns = process == connection.info.backend_pid
    setattr(connection, _HAS_OWN_SESSION, owns)
    if owns:
        return True
    lacking = {
        "role": f'"{role}"' if role and user != role else "",
        "timezone": "'UTC'" if zone not in _UTC else "",
        "default_transaction_isolation": f"'{_ISOLATION}'" if isolation != _ISOLATION else "",
        "datestyle": f"'{_DATES}'" if not dates.startswith(_DATES) else "",
        "intervalstyle": f"'{_INTERVALS}'" if intervals != _INTERVALS else "",
        "extra_float_digits": "1" if digits < 1 else "",
        "synchronous_commit": "on" if not is_durable else "",
        "lock_timeout": "0" if not waits_for_locks else "",
        "row_security": "off" if not sees_all_rows else "",
    }
    statements = [
        f'ALTER ROLE "{login}" SET {name} = {value}' for name, value in lacking.items() if value
    ]
    if statements:
        raise LedgerMisconfigured(
            "a pooler is before this address, where nothing can be set for a session. For the "
            f"service's login, as an administrator: {'; '.join(statements)}; then RECONNECT in "
            "pgBouncer. All else (upgrades, archives, reports under a role of their own) needs the "
            "address of Postgres itself"
        )
    connection.prepare_threshold = None  # what it prepares is another server process' later
    return False


def has_own_session(connection: psycopg.Connection[Any]) -> bool:
    """Return whether statements of a connection are all of one server process."""
    return bool(getattr(connection, _HAS_OWN_SESSION, True))


def owns_session(connection: Connection) -> bool:
    """Return the same of a connection of an engine."""
    raw: Any = connection.connection.driver_connection
    return has_own_session(raw)


def require_own_session(connection: Connection, what: str) -> None:
    """Raise `LedgerMisconfigured` if a pooler is in between; `what` does not work so."""
    if not owns_session(connection):
        raise LedgerMisconfigured(f"{what}: {DIRECTLY}")
