"""What a kind of job brings outside of the core, in one description.

A kind fills it in its folder of `adapters.kinds`; what is pure about it stands in `core.kinds`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from jobledger.adapters.service.effects.context import KindActing
from jobledger.adapters.service.followers import Follower, FollowerParts
from jobledger.adapters.service.resync.lookout import KindResync
from jobledger.adapters.service.watches.event_handlers import KindWatching
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.catalogue import JobEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class KindAdapter:
    """How one kind of job is watched, acted for, looked for and followed."""

    watching: KindWatching
    acting: KindActing
    resync: KindResync
    appended: Callable[[Metrics, JobEvent], None] = lambda *_: None
    """Counts or logs an event of the kind, once it is in the log."""
    installation: Callable[[Settings], object] | None = None
    """Makes what it needs to know of this installation, which `ObservationMapper.of` returns."""
    follower: Callable[[FollowerParts], Follower] | None = None
    """Makes what asks about running jobs; None: what is watched tells all."""

    @property
    def name(self) -> str:
        """Return the kind of job."""
        return self.watching.name
