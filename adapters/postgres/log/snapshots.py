"""The port `core.ports.projections` over the table `snapshot`, which is no part of the log."""

from collections.abc import Collection, Sequence

from sqlalchemy import ARRAY, Engine, Uuid, and_, any_, literal, select, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import driver_rows, one_value
from jobledger.adapters.postgres.schema.tables import event, snapshot
from jobledger.core.ports.projections import Snapshot
from jobledger.core.values.ids import StreamId

_BORNE_OUT = snapshot.join(
    event,
    and_(
        event.c.stream_id == snapshot.c.stream_id,
        event.c.version == snapshot.c.version,
        event.c.chain == snapshot.c.chain,
    ),
)
_FIELDS = Snapshot.__struct_fields__
_PUT = text(
    "SELECT put_snapshots_v1(:streams ::uuid[], :versions ::integer[], :chains ::bytea[], "
    ":code ::bytea, :contents ::bytea[], :seals ::bytea[])"
)
_SWEEP = text("SELECT sweep_snapshots_v1()")


class PostgresSnapshots:
    """Snapshots of the folds of open jobs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def read(self, streams: Collection[StreamId], folded_by: bytes) -> Sequence[Snapshot]:
        """See `core.ports.projections.Snapshots.read`."""
        wanted = snapshot.c.stream_id == any_(literal(list(streams), ARRAY(Uuid)))
        query = select(*(snapshot.c[name] for name in _FIELDS)).select_from(_BORNE_OUT)
        query = query.where(wanted, snapshot.c.folded_by == folded_by)
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            found = driver_rows(connection, query)
        return [Snapshot(**dict(zip(_FIELDS, row, strict=True))) for row in found]

    def write(self, snapshots: Sequence[Snapshot]) -> None:
        """See `core.ports.projections.Snapshots.write`."""
        if not snapshots:
            return
        values = {
            "streams": [one.stream_id for one in snapshots],
            "versions": [one.version for one in snapshots],
            "chains": [one.chain for one in snapshots],
            "code": snapshots[0].folded_by,
            "contents": [one.content for one in snapshots],
            "seals": [one.seal for one in snapshots],
        }
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            connection.execute(_PUT, values)

    def sweep(self) -> int:
        """See `core.ports.projections.Snapshots.sweep`."""
        removed: int = one_value(self._engine, _SWEEP)
        return removed
