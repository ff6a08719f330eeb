"""In-memory list of replicas: the port `core.ports.replicas`."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from jobledger.core.ports.replicas import Replica
from jobledger.core.values.instants import Instant
from tests.support.memory.leases import MemoryLeases


class MemoryReplicas:
    """A list beside a table of leases. `now` is the clock of both."""

    def __init__(self, leases: MemoryLeases, now: Callable[[], Instant]) -> None:
        self._leases = leases
        self._now = now
        self._replicas: dict[str, Replica] = {}
        self._hears: dict[str, bool] = {}

    def beat(self, owner: str, duration: timedelta, *, hears: bool) -> Sequence[Replica]:
        """See `core.ports.replicas.Replicas.beat`."""
        with self._leases.lock:
            now = self._now()
            known = self._replicas.get(owner)
            heard_before = self._hears.get(owner, False)
            self._hears[owner] = hears
            self._replicas[owner] = Replica(
                owner=owner,
                since=known.since if known else now,
                until=now + duration,
                heard_at=now if hears else known.heard_at if known else None,
                well_since=now
                if hears and not heard_before
                else known.well_since
                if known
                else None,
                shards=0,
            )
            self._replicas = {
                name: _made_now(found, now, duration) for name, found in self._replicas.items()
            }
            return self.current()

    def leave(self, owner: str) -> None:
        """See `core.ports.replicas.Replicas.leave`."""
        with self._leases.lock:
            self._replicas.pop(owner, None)
            self._hears.pop(owner, None)

    def current(self) -> Sequence[Replica]:
        """See `core.ports.replicas.Replicas.current`."""
        with self._leases.lock:
            now = self._now()
            owners = [lease.owner for lease in self._leases.current().values()]
            return [
                replace(found, shards=owners.count(owner))
                for owner, found in sorted(self._replicas.items())
                if found.until >= now
            ]


def _made_now(found: Replica, now: Instant, duration: timedelta) -> Replica:
    """Return what was told before the clock was set back as if it were told now."""
    is_late = duration > timedelta() and found.until > now + 4 * duration
    return replace(
        found,
        since=min(found.since, now),
        until=now + duration if is_late else found.until,
        heard_at=min(found.heard_at, now) if found.heard_at else None,
        well_since=min(found.well_since, now) if found.well_since else None,
    )
