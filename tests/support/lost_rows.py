"""Rows of a job that is not in the log, as somebody may leave behind who writes to the tables."""

from uuid import UUID

from psycopg import Connection, sql

NOBODY = UUID("01900000-0000-7000-8000-00000000dead")
"""A stream that is in no log."""

PROJECTIONS = ("job", "attempt", "decision", "effect")
OWN_KEYS = {"decision": "decision_id", "effect": "effect_id"}


def leave_rows(connection: Connection, table: str) -> None:
    """Copy a row of a table as one of a job that is not in the log."""
    changed = {"stream_id": NOBODY} | ({OWN_KEYS[table]: NOBODY} if table in OWN_KEYS else {})
    said = sql.SQL(", ").join(
        sql.SQL("{}, {}").format(sql.Literal(name), sql.Literal(str(value)))
        for name, value in changed.items()
    )
    query = sql.SQL(
        "INSERT INTO {table} SELECT (jsonb_populate_record(t, jsonb_build_object({said}))).*"
        " FROM {table} t LIMIT 1"
    )
    done = connection.execute(query.format(table=sql.Identifier(table), said=said))
    assert done.rowcount == 1, f"there is no row of {table} to copy"
