"""The port `core.ports.leases` over the table `shard_lease`.

Every cluster on a ledger has shards of its own. In the table the shards of a cluster follow those
of the cluster before (`slot_of_v1`); here they are numbered from 0, whichever cluster it is.
"""

from collections.abc import Collection, Mapping
from datetime import timedelta

from sqlalchemy import Engine, Executable, select, text

from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import all_mappings, one_value
from jobledger.adapters.postgres.schema.tables import shard_lease
from jobledger.core.ports.leases import Lease
from jobledger.core.values.ids import SHARDS

_SLOT = text("SELECT slot_of_v1(:cluster)")
_ACQUIRE = text("SELECT * FROM acquire_shards_v1(:owner, :duration, :wanted, :shards, :slot)")
_RELEASE = text("SELECT release_shards_v1(:owner)")
_GIVE = text("SELECT give_shards_v1(:owner, :shards)")


class PostgresLeases:
    """Leases by the clock of the database."""

    def __init__(self, engine: Engine, cluster: str = "") -> None:
        """Take the cluster whose shards these are; empty: the first one on the ledger."""
        self._engine = engine
        self._cluster = cluster
        self._known_slot: int | None = None if cluster else 0

    def acquire(self, owner: str, duration: timedelta, wanted: int) -> Mapping[int, Lease]:
        """See `core.ports.leases.Leases.acquire`."""
        asked = {"owner": owner, "duration": duration, "wanted": wanted}
        return self._leases(_ACQUIRE.bindparams(**asked, shards=SHARDS, slot=self._slot()))

    def release(self, owner: str, shards: Collection[int] | None = None) -> None:
        """See `core.ports.leases.Leases.release`."""
        first = self._slot() * SHARDS
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            if shards is None:
                connection.execute(_RELEASE, {"owner": owner})
            else:
                given = [first + shard for shard in sorted(shards)]
                connection.execute(_GIVE, {"owner": owner, "shards": given})

    def current(self) -> Mapping[int, Lease]:
        """See `core.ports.leases.Leases.current`."""
        first = self._slot() * SHARDS
        ours = shard_lease.c.shard.between(first, first + SHARDS - 1)
        return self._leases(select(shard_lease).where(ours).order_by(shard_lease.c.shard))

    def _slot(self) -> int:
        """Return the number of the cluster, which it is given at the first time."""
        if self._known_slot is None:
            slot = one_value(self._engine, _SLOT, {"cluster": self._cluster})
            self._known_slot = int(slot)
        return self._known_slot

    def _leases(self, query: Executable) -> Mapping[int, Lease]:
        rows = all_mappings(self._engine, query)
        leases = [Lease(**{**row, "shard": row["shard"] % SHARDS}) for row in rows]
        return {lease.shard: lease for lease in leases}
