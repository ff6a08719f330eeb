"""The leases that this process holds, trusted for less time than the database grants.

It stops acting by its own clock a second before a lease could have passed to another, whatever it
hears meanwhile. What it holds beyond its share it gives up: first it stops acting for a shard, then
what is in flight ends, then the shard is free for others.
"""

import threading
from collections.abc import Callable, Collection, Mapping
from datetime import timedelta

from jobledger.adapters.service.shards.sharing import Share
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import LedgerError
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.leases import Lease, Leases
from jobledger.core.sharing import surplus
from jobledger.core.values.ids import SHARDS, StreamId, shard_of

log = get_logger(__name__)

MARGIN_SECONDS = 1.0
"""How long before the end of a lease this process stops acting."""


class LeaseKeeper:
    """Keeps the leases of this replica's share; of all shards that can be had, if it has none."""

    def __init__(
        self,
        leases: Leases,
        clock: Clock,
        owner: str,
        lease_seconds: float,
        share: Share | None = None,
    ) -> None:
        """Take the owner's name as `<replica>/<run>`.

        A later run of a replica takes over at once.
        """
        self._leases = leases
        self._clock = clock
        self._owner = owner
        self.seconds = lease_seconds
        self.share = share
        self._asking = threading.Lock()
        """Held while the table is asked, so that no older answer comes after a newer one."""
        self._lock = threading.Lock()
        self._held: Mapping[int, Lease] = {}
        self._taken_up: Mapping[int, int] = {}
        self._leaving: frozenset[int] = frozenset()
        self._trusted_until = 0.0
        self.allows: Callable[[], bool] = lambda: True
        """Tells whether this run may control jobs; while another ledger does, it holds nothing."""
        self._not_renewed = Repeated(log, "leases_not_renewed", clock.monotonic)
        self._not_given_up = Repeated(log, "shards_not_given_up", clock.monotonic)
        self._is_over = False
        """Whether everything was given up for good."""
        self.trouble = ""
        """Why the leases could not be renewed at the last try; empty if they were."""

    def succeed_predecessor(self) -> None:
        """Free what an earlier run of this very replica still holds; if it lives, it is fenced."""
        replica = self._owner.rsplit("/", 1)[0]
        owners = {lease.owner for lease in self._leases.current().values() if lease.owner}
        for owner in owners:
            if owner.rsplit("/", 1)[0] == replica and owner != self._owner:
                self._leases.release(owner)
                log.info("predecessor_succeeded", predecessor=owner)
        if self.share is not None:
            self.share.succeed(replica)

    def is_due(self) -> bool:
        """Return whether it is time to renew; to be asked several times while a lease lasts."""
        return self.share is None or self.share.is_due(len(self._held))

    def renew(self) -> None:
        """Renew what is held and take what is free; a ledger that fails is waited out."""
        with self._asking:
            if self._is_over:
                return  # a duty that was left behind when the service stopped
            asked = self._clock.monotonic()
            try:
                aim = self.share.look() if self.share is not None else SHARDS
                held = self._leases.acquire(self._owner, timedelta(seconds=self.seconds), aim)
            except LedgerError as error:  # whatever it is: somebody may put it right
                self.trouble = str(error)
                self._not_renewed.warn(error)
                return
            self.trouble = ""
            self._not_renewed.over()
            with self._lock:
                self._leaving = surplus(held, aim, self._leaving)
                self._held = dict(held)
                self._trusted_until = asked + self.seconds - MARGIN_SECONDS

    @property
    def stands_by(self) -> bool:
        """Return whether nothing is held here because others are to hold everything."""
        return not self.allows() or (self.share is not None and self.share.aim == 0)

    def leaving(self) -> frozenset[int]:
        """Return the shards that are to be given up, and for which nothing is done any more."""
        return self._leaving

    def give_up(self, shards: Collection[int]) -> frozenset[int]:
        """Free shards that were leaving and return them; one that is to stay after all is kept.

        A ledger that fails is waited out: they go on leaving.
        """
        with self._asking:
            given = self._leaving & frozenset(shards)
            if not given:
                return given
            try:
                self._leases.release(self._owner, given)
            except LedgerError as error:
                self._not_given_up.warn(error)
                return frozenset()
            self._not_given_up.over()
            with self._lock:
                self._held = {key: one for key, one in self._held.items() if key not in given}
                self._leaving -= given
            return given

    def is_overdue(self) -> bool:
        """Return whether something is held that this process no longer dares to act on."""
        return bool(self._held) and self._clock.monotonic() >= self._trusted_until

    def epoch(self, shard: int) -> int | None:
        """Return the epoch under which a shard is held, or None."""
        lease = self._held.get(shard)
        return lease.epoch if lease is not None and self.allows() else None

    def is_known(self) -> bool:
        """Return whether leases were ever asked for, so that it is known which are held."""
        return self._trusted_until > 0

    def lost(self, shard: int) -> None:
        """Take note that a shard has passed to another."""
        with self._lock:
            self._held = {key: lease for key, lease in self._held.items() if key != shard}

    def forget(self) -> None:
        """Hold nothing until the leases are renewed: the table is not what it was."""
        with self._lock:
            self._held = {}

    def held(self) -> Mapping[int, int]:
        """Return the epoch of every shard that is held."""
        if not self.allows():
            return {}
        return {shard: lease.epoch for shard, lease in self._held.items()}

    def take_up(self, held: Mapping[int, int]) -> None:
        """Take note that the jobs of these shards are known as they were left under these epochs.

        Until then nothing is done for them: what this process knew of a shard that it lost and got
        back may be old.
        """
        self._taken_up = dict(held)

    def shards(self) -> Collection[int]:
        """Return the shards that are worked on.

        They are held, were taken up under the epoch they are held under, and are not leaving.
        """
        held, taken_up = self._held if self.allows() else {}, self._taken_up
        worked_on = (shard for shard, lease in held.items() if taken_up.get(shard) == lease.epoch)
        return frozenset(worked_on) - self._leaving

    def may_act(self, stream: StreamId) -> bool:
        """Return whether this process may still act for a job, by its own clock."""
        shard = shard_of(stream)
        lease = self._held.get(shard)
        if lease is None or self._taken_up.get(shard) != lease.epoch or shard in self._leaving:
            return False
        return self._clock.monotonic() < self._trusted_until and self.allows()

    def release(self) -> None:
        """Give everything up for good, so that another replica takes over at once."""
        with self._asking:
            self._is_over = True
            with self._lock:
                self._held, self._leaving = {}, frozenset()
            try:
                if self.share is not None:
                    self.share.leave()
                self._leases.release(self._owner)
            except LedgerError as error:
                log.warning("leases_not_released", error=str(error))
