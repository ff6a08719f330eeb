"""The number of shards that this replica aims at, and when it checks again.

It says that it is there at every look, and reads who else is; the rule is in `core.sharing`. Looks
are far apart while nothing changes: a replica that only watches makes one every three seconds, of
two short statements.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta

from jobledger.core.ports.clock import Clock
from jobledger.core.ports.replicas import Replica, Replicas
from jobledger.core.sharing import is_cut_off, quotas
from jobledger.core.values.ids import SHARDS

LOOKS_PER_LEASE = 5
"""How often a lease is renewed while it lasts, and the list of replicas read."""

QUICK_LOOKS_PER_LEASE = 15
"""The same, while shards are about to change hands."""


PATIENCE = 0.4
"""The part of a lease for which a replica may fail to hear the API server while others do."""


class Share:
    """What this replica knows of the others. One thread looks, any may ask."""

    def __init__(self, replicas: Replicas, clock: Clock, owner: str, lease_seconds: float) -> None:
        self._replicas = replicas
        self._clock = clock
        self._owner = owner
        self._seconds = lease_seconds
        self._members: Sequence[Replica] = ()
        self._looked = float("-inf")
        self._told: bool | None = None
        self.aim = SHARDS
        """How many shards it is to hold, by the last look."""
        self.hears: Callable[[], bool] = lambda: True
        """Tells whether this replica knows all objects and hears the API server.

        A replica whose clock is off says no as well, so that others take over its jobs.
        """

    @property
    def replicas(self) -> int:
        """Return how many replicas there are, this one included."""
        return max(len(self._members), 1)

    @property
    def is_alone(self) -> bool:
        """Return whether there is no other replica."""
        return len(self._members) <= 1

    def look(self) -> int:
        """Say that this replica is there, read who else is; return what to aim at.

        Raises:
            LedgerError: as the list does.
        """
        looked, told = self._clock.monotonic(), self.hears()
        lease = timedelta(seconds=self._seconds)
        self._members = self._replicas.beat(self._owner, lease, hears=told)
        self._looked, self._told = looked, told
        self.aim = quotas(self._members, self.patience).get(self._owner, 0)
        return self.aim

    def is_due(self, held: int) -> bool:
        """Return whether to look again, now that so many shards are held."""
        passed = self._clock.monotonic() - self._looked
        if passed >= self._seconds / LOOKS_PER_LEASE or self.hears() != self._told:
            return True
        is_quick = self._awaits_shards(held) or not self._told
        if is_quick and not self.is_alone and passed >= self._seconds / QUICK_LOOKS_PER_LEASE:
            return True
        return any(0 < lapse <= passed for lapse in self._lapses())

    def leave(self) -> None:
        """Take this replica off the list; raises as `look`."""
        self._replicas.leave(self._owner)

    def succeed(self, replica: str) -> None:
        """Take earlier runs of a replica off the list; raises as `look`."""
        for member in self._replicas.current():
            if member.owner.rsplit("/", 1)[0] == replica and member.owner != self._owner:
                self._replicas.leave(member.owner)

    def is_cut_off(self) -> bool:
        """Return whether others hear the API server and this replica has not for a while."""
        mine = next((member for member in self._members if member.owner == self._owner), None)
        return mine is not None and is_cut_off(mine, self._members, self.patience)

    @property
    def patience(self) -> timedelta:
        """Return how long a replica may fail to hear the API server while others do."""
        return timedelta(seconds=self._seconds * PATIENCE)

    def _awaits_shards(self, held: int) -> bool:
        """Return whether others are about to give shards up that are to come here."""
        if held >= self.aim:
            return False
        due = quotas(self._members, self.patience)
        return any(member.shards > due[member.owner] for member in self._members)

    def _lapses(self) -> list[float]:
        """Return after how many seconds from the last look others count as gone."""
        mine = next((member for member in self._members if member.owner == self._owner), None)
        if mine is None:
            return []
        return [
            (member.until - mine.until).total_seconds() + self._seconds
            for member in self._members
            if member is not mine
        ]
