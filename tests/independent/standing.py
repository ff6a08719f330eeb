"""RayClusters left standing, of which the made-up platform has none."""

import psycopg

from bench.population.life import RULES
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.reports.projecting.rebuild import rebuild_reports

EVERY = 25
"""One of so many RayJobs that are over has nothing after its end."""

_CUT = """
    WITH ended AS (
      SELECT stream_id, min(version) AS version FROM event
       WHERE type IN ('JobCompleted', 'JobFailed') GROUP BY stream_id
    ), chosen AS (
      SELECT * FROM (SELECT *, row_number() OVER (ORDER BY stream_id) AS place FROM ended) e
       WHERE mod(place, %(every)s) = 0
    )
    DELETE FROM event e USING chosen c WHERE e.stream_id = c.stream_id AND e.version > c.version
"""


def leave_standing(url: str) -> int:
    """Take what followed on their ends from some jobs, and compute reports anew; return events."""
    with psycopg.connect(url.replace("+psycopg", "", 1)) as connection:
        connection.execute("SET session_replication_role = replica")  # past the triggers
        gone = connection.execute(_CUT, {"every": EVERY}).rowcount
    engine = open_engine(url)
    try:
        rebuild_reports(engine, RULES)
    finally:
        engine.dispose()
    return gone
