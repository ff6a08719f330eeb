"""What a process holds lapses for a moment, and is there again under the same epoch.

So it is when the ledger is away for longer than the claim on the cluster's jobs lasts, and when a
ledger that has just refused a writer gives the lease back to it, as a failover to and fro does.
"""

from dataclasses import dataclass, field, replace
from random import Random

from jobledger.core.ports.leases import Lease
from jobledger.core.values.instants import Instant
from tests.support.memory.leases import MemoryLeases


@dataclass
class Lapses:
    """Takes leases away, and gives back those that nobody has taken meanwhile."""

    table: MemoryLeases
    present: bool
    """Whether a run has any."""
    taken: dict[int, Lease] = field(default_factory=dict)
    """Shard -> the lease as it was."""
    passed_on: dict[int, Lease] = field(default_factory=dict)
    """Shard -> the lease as it was, where another has taken it since."""

    def of(self, actor: str, shard: int, now: Instant) -> bool:
        """Return whether a process may believe in a lease that the table does not have now."""
        if shard in self.taken and self.taken[shard].owner == actor:
            return True
        passed_on = self.passed_on.get(shard)
        return passed_on is not None and passed_on.owner == actor and now <= passed_on.until

    def take(self, actor: str, shards: frozenset[int], dice: Random) -> str | bool:
        """Take a lease from a process that does not know; of a shard with jobs, if there is one."""
        held = [one for one in self.table.current().values() if one.owner == actor]
        held = [one for one in held if one.shard in shards] or held
        if not held:
            return False
        lease = dice.choice(held)
        if lease.shard in self.taken:  # from another, which may not know yet either
            self.passed_on[lease.shard] = self.taken[lease.shard]
        self.taken[lease.shard] = lease
        self._put(replace(lease, owner=""))
        return f"on shard {lease.shard}"

    def give_back(self) -> str:
        """Give back what was taken, unless it has passed to another, or on to the same, since."""
        shard, lease = self.taken.popitem()
        now = self.table.current().get(shard)
        if now != replace(lease, owner=""):
            self.passed_on[shard] = lease
            return "another has it"
        self._put(lease)
        return f"on shard {shard} under the same epoch"

    def end(self) -> None:
        """Give everything back."""
        while self.taken:
            self.give_back()

    def _put(self, lease: Lease) -> None:
        self.table._leases[lease.shard] = lease  # noqa: SLF001  a test's way to what no program may
