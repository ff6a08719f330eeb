"""Who may write for which shard: the port `core.ports.leases` over the table `shard_lease`."""

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy import Engine, Executable, select, text

from adapters.postgres.errors import ledger_errors
from adapters.postgres.tables import shard_lease
from core.ports.leases import Lease
from core.values.ids import SHARDS

_ACQUIRE = text("SELECT * FROM acquire_shards_v1(:owner, :duration, :wanted, :shards)")
_RELEASE = text("SELECT release_shards_v1(:owner)")


class PostgresLeases:
    """Leases by the clock of the database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def acquire(self, owner: str, duration: timedelta, wanted: int) -> Mapping[int, Lease]:
        """See `core.ports.leases.Leases.acquire`."""
        return self._leases(
            _ACQUIRE.bindparams(owner=owner, duration=duration, wanted=wanted, shards=SHARDS)
        )

    def release(self, owner: str) -> None:
        """See `core.ports.leases.Leases.release`."""
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            connection.execute(_RELEASE, {"owner": owner})

    def current(self) -> Mapping[int, Lease]:
        """See `core.ports.leases.Leases.current`."""
        return self._leases(select(shard_lease).order_by(shard_lease.c.shard))

    def _leases(self, query: Executable) -> Mapping[int, Lease]:
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
        return {row["shard"]: Lease(**row) for row in rows}
