"""Finds the jobs that have had the most events lately."""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import Connection, Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import end_of_log
from jobledger.core.values.instants import Instant

_NOW = text("SELECT clock_timestamp()")
_RECORDED = text(
    "SELECT recorded_at FROM event WHERE position >= :position ORDER BY position LIMIT 1"
)
_COUNTED = text("""
    SELECT j.kind, j.namespace, j.name, e.events FROM (
        SELECT stream_id, count(*) AS events FROM event
        WHERE position >= :position AND recorded_at >= :since
        GROUP BY stream_id HAVING count(*) >= :least
    ) e JOIN job j USING (stream_id) ORDER BY e.events DESC, j.namespace, j.name
""")


class Busy(NamedTuple):
    """One job, and how many events it has had."""

    kind: str
    namespace: str
    name: str
    events: int


def busy_jobs(engine: Engine, within: timedelta, least: int) -> Sequence[Busy]:
    """Return the jobs with so many events lately, most first; reads only the end of the log.

    Raises:
        LedgerError: the database does not answer, or nothing tells where the log ends.
    """
    with ledger_errors(engine.url), engine.connect() as connection:
        newest, now = end_of_log(connection), connection.execute(_NOW).scalar_one()
        since: Instant = now - within
        begin = _position_at(connection, newest, since)
        wanted = {"position": begin, "since": since, "least": least}
        return [Busy(*row) for row in connection.execute(_COUNTED, wanted)]


def _position_at(connection: Connection, newest: int, since: Instant) -> int:
    """Return a position before which nothing is younger: twice as far back each time."""
    back = 1024
    while (position := newest - back) > 0:
        recorded = connection.execute(_RECORDED, {"position": position}).scalar_one_or_none()
        if recorded is not None and recorded < since:
            return position
        back *= 2
    return 0
