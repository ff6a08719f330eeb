"""In-memory leases on shards with the same fencing: the port `core.ports.leases`."""

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import timedelta

from jobledger.core.ports.leases import Lease
from jobledger.core.values.ids import SHARDS
from jobledger.core.values.instants import Instant


class MemoryLeases:
    """A table of leases. `now` is the clock of the table, as Postgres has one of its own.

    `lock` is the append lock: the event store holds it too, so hands change between two appends.
    """

    def __init__(self, now: Callable[[], Instant]) -> None:
        self._now = now
        self._leases: dict[int, Lease] = {}
        self.lock = threading.RLock()

    def acquire(self, owner: str, duration: timedelta, wanted: int) -> Mapping[int, Lease]:
        """See `core.ports.leases.Leases.acquire`."""
        with self.lock:
            now = self._now()
            until = now + duration
            self._cut(owner, now, duration)
            held = [lease for lease in self._leases.values() if lease.owner == owner]
            for lease in held:
                self._leases[lease.shard] = Lease(
                    shard=lease.shard, epoch=lease.epoch, owner=owner, until=until
                )
            free = [shard for shard in range(SHARDS) if self._is_free(shard, owner, now)]
            for shard in free[: max(wanted - len(held), 0)]:
                before = self._leases.get(shard)
                epoch = before.epoch + 1 if before else 1
                self._leases[shard] = Lease(shard=shard, epoch=epoch, owner=owner, until=until)
            return {shard: lease for shard, lease in self.current().items() if lease.owner == owner}

    def release(self, owner: str, shards: Collection[int] | None = None) -> None:
        """See `core.ports.leases.Leases.release`."""
        with self.lock:
            now = self._now()
            for shard, lease in self._leases.items():
                if lease.owner == owner and (shards is None or shard in shards):
                    self._leases[shard] = replace(lease, owner="", until=now)

    def current(self) -> Mapping[int, Lease]:
        """See `core.ports.leases.Leases.current`."""
        with self.lock:
            return dict(sorted(self._leases.items()))

    def writer(self, shard: int) -> tuple[str, int] | None:
        """Return whose appends to a shard are taken and under which epoch; None: nobody's."""
        with self.lock:
            lease = self._leases.get(shard)
            return (lease.owner, lease.epoch) if lease and lease.owner else None

    def _cut(self, owner: str, now: Instant, duration: timedelta) -> None:
        """Let others' leases that end too late last for one more: the clock was set back."""
        for shard, lease in self._leases.items():
            is_others = lease.owner not in ("", owner)
            if is_others and duration > timedelta() and lease.until > now + 4 * duration:
                self._leases[shard] = replace(lease, until=now + duration)

    def _is_free(self, shard: int, owner: str, now: Instant) -> bool:
        lease = self._leases.get(shard)
        return lease is None or not lease.owner or (lease.until < now and lease.owner != owner)
