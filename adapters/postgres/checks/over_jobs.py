"""Lists jobs that have ended and whose RayCluster was deleted, by the ledger."""

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.errors import ledger_errors

_OVER = text("""
    SELECT j.uid, j.kind || ' ' || j.namespace || '/' || j.name AS name FROM job j
    WHERE j.cluster = :cluster AND NOT j.open AND j.deleted_at IS NULL AND EXISTS (
        SELECT FROM effect e
        WHERE e.stream_id = j.stream_id AND e.attempt = j.attempt AND e.state = 'succeeded'
            AND e.kind IN ('delete_cluster', 'delete_jobset')
    )
""")


def over_jobs(engine: Engine, cluster: str) -> dict[str, str]:
    """Return the UIDs of jobs that are over, still there, and should have nothing left, by name."""
    with ledger_errors(engine.url), engine.connect() as connection:
        return {row.uid: row.name for row in connection.execute(_OVER, {"cluster": cluster})}
