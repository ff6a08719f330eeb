"""The port `core.ports.projections`: recomputes the rows of one stream."""

from sqlalchemy import Engine, text

from jobledger.adapters.postgres.connection.codec import row_arguments
from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.core.jobs.rows import RowChanges
from jobledger.core.values.ids import StreamId

_REBUILD = text(
    "SELECT rebuild_stream_v1(:stream, :version, CAST(:jobs AS json), CAST(:attempts AS json), "
    "CAST(:decisions AS json), CAST(:effects AS json))"
)


class PostgresProjections:
    """The inline projections, to be replaced stream by stream while the service runs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def replace_rows(self, stream: StreamId, version: int, rows: RowChanges) -> bool:
        """See `core.ports.projections.Projections.replace_rows`."""
        jobs, attempts, decisions, effects = row_arguments([rows])
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            replaced: bool = connection.execute(
                _REBUILD,
                {
                    "stream": stream,
                    "version": version,
                    "jobs": jobs,
                    "attempts": attempts,
                    "decisions": decisions,
                    "effects": effects,
                },
            ).scalar_one()
        return replaced
