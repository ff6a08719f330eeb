"""Recognises a status that tells of more than the log: the ledger has lost what it followed from.

Another replica, or an earlier run, has written it, and the watch tells of it only after the shard
was taken over. That is no drift: nothing is written over it, and the job is told what it shows, so
that it is held (`core.jobs.control.lost_history`).
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.slots import Slots
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.jobs.control.status_writers import is_driven_here
from jobledger.core.jobs.events import LedgerBehindFound
from jobledger.core.kinds import KINDS, JobObservation, JobState, decide, job_seen
from jobledger.core.ports.clock import Clock
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

JUDGED_MAX = 10_000
"""So many jobs that were told are remembered."""


@dataclass(frozen=True, slots=True)
class LostEvents:
    """Tells jobs of statuses that the log cannot explain. Safe from any thread."""

    see: Callable[[CachedJob, Instant], JobObservation]
    """Makes the sighting of a job as it was last seen."""
    slots: Slots
    live: ObjectCache
    inbox: Inbox
    clock: Clock

    judged: OrderedDict[StreamId, tuple[str, int]] = field(default_factory=OrderedDict)
    """Of each job that was told: the version of the object, and the length of the stream then."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while `judged` is looked at or changed."""

    def _is_answered(self, stream: StreamId, version: str, length: int) -> bool:
        """Return whether the log has gone on since a job was told of that very version.

        Then it was held for that, and taken over: what it shows is no sign any more.
        """
        with self.lock:
            told = self.judged.get(stream)
            if told is not None and told[0] == version and length > told[1]:
                return True
            self.judged[stream] = version, length
            self.judged.move_to_end(stream)
            if len(self.judged) > JUDGED_MAX:
                self.judged.popitem(last=False)
            return False

    def are_shown(self, stream: StreamId) -> bool:
        """Return whether what a job shows is ahead of the log; it is told so then."""
        slot = self.slots.held(stream)
        identity = slot.view.state.identity if slot is not None else None
        job = self.live.job(identity.uid) if identity is not None else None
        if (
            slot is None
            or job is None
            or not is_driven_here(KINDS[job.kind].controller, job.newest)
        ):
            return False
        seen = self.see(job, self.clock.now())
        if _is_ended_and_leaves(slot.view.state, seen):
            return True
        news = decide(slot.view.state, seen).events
        if not any(isinstance(item, LedgerBehindFound) for item in news):
            return False
        if self._is_answered(stream, job.version, slot.tail.version):
            return False
        about = f"{job.identity.namespace}/{job.identity.name}"
        log.warning("status_of_lost_events", job=about, version=job.version)
        self.inbox.put(stream, seen)
        return True


def _is_ended_and_leaves(state: JobState, seen: JobObservation) -> bool:
    """Return whether a job that is being deleted shows an end that its log has lost.

    It is not held for that, as it goes; nor is anything written over its end.
    """
    found = job_seen(seen)
    if found is None or found[1].deleting_at is None:
        return False
    return found[0].observing.shows_end(seen) and not found[0].is_final(state)
