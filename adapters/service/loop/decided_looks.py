"""Knows which jobs the log has decided on just as they are: a start need not look at them again.

With the snapshot of a job goes the version of its object that had been decided on by then. Where an
object still has that version, and code and settings are the same, looking at it again would bring
what nothing followed from: it is as if this process had gone on.
"""

import hashlib
import re
from dataclasses import dataclass

from jobledger.adapters.service.loop.reopening import may_look_reopen
from jobledger.adapters.service.loop.turn import Turn
from jobledger.adapters.service.loop.turn_partners import Epochs
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.observing.mapper import ObservationMapper
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.work.slots import Slots
from jobledger.adapters.service.work.snapshots import SnapshotKeeper
from jobledger.core.projections.view import View
from jobledger.core.values.ids import StreamId, shard_of


@dataclass(frozen=True, slots=True)
class DecidedLooks:
    """Says it of jobs that are listed, and for snapshots that are written."""

    turn: Turn
    slots: Slots
    epochs: Epochs
    snapshots: SnapshotKeeper | None
    settings: str
    """What changes with all that a sighting depends on besides the object."""

    def are_known(self, job: CachedJob) -> bool:
        """Return whether nothing can follow from a job as it is listed first.

        Called by the turn's thread, once the job's shard is loaded.
        """
        stream = job.identity.stream_id
        if self.epochs.epoch(shard_of(stream)) is None:
            return False
        finished = self.slots.finished(stream)
        if finished is not None:
            return not may_look_reopen(finished, job)
        slot = self.slots.held(stream)
        if slot is None or self.snapshots is None or job.recorded:
            return False
        return self.snapshots.take_decided(slot.tail) == self._mark(job)

    def latest(self, handlers: EventHandlers, stream: StreamId, view: View) -> str:
        """Return what tells later that a job is as it was decided on; empty if that is unclear.

        It is if anything of the job waits, or another controller drives it. From any thread.
        """
        identity, shard = view.state.identity, shard_of(stream)
        if identity is None or view.state.recorded is not None:
            return ""
        with handlers.telling:
            job = handlers.live.job(identity.uid)
            if job is None or job.recorded or job.others is not None:
                return ""
            is_told = job.told in ("", job.version) and identity.uid not in handlers.waiting
            is_settled = handlers.inbox.is_settled(stream) and not self.turn.slowing.holds(stream)
            is_held = shard not in self.turn.unheard and self.epochs.epoch(shard) is not None
            return self._mark(job) if is_told and is_settled and is_held else ""

    def _mark(self, job: CachedJob) -> str:
        return f"{job.version} {self.settings}"


def settings_of(mapper: ObservationMapper) -> str:
    """Return what changes with the settings that sightings depend on."""
    of_kinds = sorted(map(repr, mapper.of_kinds.values()))
    said = re.sub(" at 0x[0-9a-f]+", "", repr((mapper.policy, of_kinds)))
    return hashlib.sha256(said.encode()).hexdigest()[:16]
