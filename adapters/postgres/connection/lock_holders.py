"""Finds the sessions that hold the ledger's advisory locks.

What only the owner or a table guards needs no such lock (decision 0018). Where one is left, it is
waited for within bounds, and whoever holds it is named: an administrator can end that session.
"""

from sqlalchemy import Connection, text

_HOLDER = text("""
    SELECT l.pid, coalesce(a.usename::text, '?') AS "user",
        coalesce(a.application_name, '') AS application
    FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.granted AND l.classid = CAST(:first AS oid)
        AND l.objid::bigint = CAST(:second AS bigint) & 4294967295
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    LIMIT 1
""")

_SCHEMA_NUMBER = text("SELECT hashtext(CAST(current_schema() AS text))")


def told_holder(connection: Connection, first: int, second: int | None = None) -> str:
    """Return who holds the lock of two numbers, and how to end that; the schema's, without one."""
    if second is None:
        second = connection.execute(_SCHEMA_NUMBER).scalar_one()
    asked = {"first": first, "second": second}
    held = connection.execute(_HOLDER, asked).mappings().one_or_none()
    if held is None:
        return "it has just been given back; try again"
    who = f"user {held['user']}"
    if held["application"]:
        who += f", application {held['application']}"
    return (
        f"its lock is held by session {held['pid']} ({who}); if that is none of Jobledger's, an "
        f"administrator ends it with SELECT pg_terminate_backend({held['pid']})"
    )
