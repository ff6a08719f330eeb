"""Looks for what a restored etcd has brought back of jobs that are over.

Nobody looks around for those: a job is looked at as it is let go, after any news of it.
"""

from collections.abc import Callable

from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.adapters.service.work.slots import Slot
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.ports.clock import Clock
from jobledger.core.values.ids import StreamId

log = get_logger(__name__)

SOUGHT_AGAIN_SECONDS = 60.0
"""So long what is back of a job is not asked for again."""


class BackAgain:
    """Compares what is there of a job with what the log knows to be gone."""

    def __init__(self, live: ObjectCache, clock: Clock, seek: Callable[[Slot], None]) -> None:
        """`seek` has the API server asked for what a job's state and the watches differ in."""
        self._live, self._clock, self._seek = live, clock, seek
        self._sought: dict[StreamId, float] = {}
        """Until when it is not asked for again."""

    def look(self, slot: Slot) -> None:
        """Have asked for what is there and known to be gone; say it of the job itself.

        Nothing is done for a job that the log has as deleted.
        """
        state = slot.view.state
        job = self._live.job(state.identity.uid) if state.identity is not None else None
        if job is None:
            return
        if state.deleted_at is None:
            if self._live.has_any(state.gone, job.identity.uid):
                self._seek_once_a_while(slot)
        elif not job.leaving:
            remedy = "it is left alone, as after a restore of etcd: delete it, or make it anew"
            name = f"{job.identity.namespace}/{job.identity.name}"
            log.warning("job_came_back", job=name, remedy=remedy)

    def _seek_once_a_while(self, slot: Slot) -> None:
        """Have asked for it, but not again and again where nothing follows from the answer."""
        now = self._clock.monotonic()
        if now >= self._sought.get(slot.stream_id, now):
            self._sought = {key: until for key, until in self._sought.items() if until > now}
            self._sought[slot.stream_id] = now + SOUGHT_AGAIN_SECONDS
            self._seek(slot)
