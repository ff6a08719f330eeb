"""Recognises a status that tells of more than the log: the ledger has lost what it followed from.

Another replica, or an earlier run, has written it, and the watch tells of it only after the shard
was taken over. That is no drift: nothing is written over it, and the job is told what it shows, so
that it is held (`core.jobs.control.lost_history`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.slots import Slots
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.jobs.control.status_writers import is_driven_here
from jobledger.core.jobs.events import LedgerBehindFound
from jobledger.core.kinds import JobObservation, decide
from jobledger.core.ports.clock import Clock
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LostEvents:
    """Tells jobs of statuses that the log cannot explain. Safe from any thread."""

    see: Callable[[CachedJob, Instant], JobObservation]
    """Makes the sighting of a job as it was last seen."""
    slots: Slots
    live: ObjectCache
    inbox: Inbox
    clock: Clock

    def are_shown(self, stream: StreamId) -> bool:
        """Return whether what a job shows is ahead of the log; it is told so then."""
        slot = self.slots.held(stream)
        identity = slot.view.state.identity if slot is not None else None
        job = self.live.job(identity.uid) if identity is not None else None
        if slot is None or job is None or not is_driven_here(job.kind, job.newest):
            return False
        seen = self.see(job, self.clock.now())
        if not any(isinstance(item, LedgerBehindFound) for item in decide(slot.view.state, seen)):
            return False
        about = f"{job.identity.namespace}/{job.identity.name}"
        log.warning("status_of_lost_events", job=about, version=job.version)
        self.inbox.put(stream, seen)
        return True
