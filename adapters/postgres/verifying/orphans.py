"""Finds rows that belong to no stream of the log.

Archived jobs have none: their rows leave with their events, in one transaction.
"""

from collections.abc import Iterable, Mapping
from uuid import UUID

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import may_change
from jobledger.core.projections.differences import Difference, whole_row

KEYS: Mapping[str, str] = {
    "job": "t.stream_id::text",
    "attempt": "t.stream_id || ' ' || t.number",
    "decision": "t.decision_id::text",
    "effect": "t.effect_id::text",
}
"""The tables, and the primary key of each as people read it."""

_NOWHERE = "NOT EXISTS (SELECT FROM stream s WHERE s.stream_id = t.stream_id)"
_NO_EVENT = "NOT EXISTS (SELECT FROM event e WHERE e.stream_id = t.stream_id)"

_APPEND_LOCK = text("LOCK TABLE append_lock IN EXCLUSIVE MODE")


def orphans(engine: Engine) -> list[Difference]:
    """Return every row of job, attempt, decision and effect whose stream is not in the log."""
    found = []
    for table, key in KEYS.items():
        query = text(f"SELECT {key} FROM {table} t WHERE {_NOWHERE} ORDER BY 1")  # noqa: S608  # words of this file
        with ledger_errors(engine.url), engine.connect() as connection:
            found += in_no_stream(table, connection.execute(query).scalars())
    return found


def in_no_stream(table: str, keys: Iterable[object]) -> list[Difference]:
    """Return what to say of rows that should not be there."""
    return [whole_row(table, str(key), is_there=True) for key in keys]


def remove_orphans(engine: Engine) -> bool:
    """Remove those rows; False, and nothing is removed, if the user may not remove any.

    A row stays while the log has events of its stream: then the stream was lost, not the job.
    """
    if not may_change(engine, KEYS):
        return False
    streams: set[UUID] = set()
    with ledger_errors(engine.url), engine.connect() as pooled:
        for table in KEYS:
            query = text(f"SELECT DISTINCT stream_id FROM {table} t WHERE {_NOWHERE}")  # noqa: S608  # words of this file
            streams.update(pooled.execute(query).scalars())
    lost = {"streams": sorted(streams)}
    with ledger_errors(engine.url), engine.connect() as pooled:
        connection = pooled.execution_options(isolation_level="READ COMMITTED")
        with connection.begin():
            connection.execute(_APPEND_LOCK)  # no job of such a stream begins meanwhile
            for table in KEYS:
                remove = (
                    f"DELETE FROM {table} t WHERE t.stream_id = ANY (:streams)"  # noqa: S608  # words of this file
                    f" AND {_NOWHERE} AND {_NO_EVENT}"
                )
                connection.execute(text(remove), lost)
    return True
