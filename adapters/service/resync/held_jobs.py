"""Looks again at jobs that are held because the ledger is older than the cluster.

A look tells a job what its object shows now and what of it is there; the rules say whether that is
enough to take it over (`core.rayjob.decide.on_lost_history`,
`core.trainjob.decide.on_lost_history`). Nothing else is done for it.
"""

from collections.abc import Iterator

from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.resync.apart import apart
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.job_listener import see_job
from jobledger.adapters.service.work.slots import Slot, Slots
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.jobs.observations import Survey
from jobledger.core.kinds import JobState, altered
from jobledger.core.ports.clock import Clock
from jobledger.core.values.documents import text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

EVERY_SECONDS = 1.0
"""How often it is seen whether anything has changed about a job that is held."""

NAMED_MAX = 5
"""So many jobs are named in a sentence."""


class Holding:
    """Knows which jobs are held, and tells each of what has changed. The turn's thread only."""

    def __init__(self, around: EventHandlers, slots: Slots, clock: Clock, metrics: Metrics) -> None:
        self._around = around
        self._slots = slots
        self._clock = clock
        self._metrics = metrics
        self._not_before = 0.0
        self._told: dict[StreamId, tuple[object, ...]] = {}
        self._names: tuple[str, ...] = ()

    def words(self) -> list[str]:
        """Return that jobs are held, in a sentence; empty if none is. Called from any thread."""
        names = self._names
        if not names:
            return []
        more = ", …" if len(names) > NAMED_MAX else ""
        told = ", ".join(names[:NAMED_MAX]) + more
        held = "job is held" if len(names) == 1 else "jobs are held"
        return [f"{len(names)} {held}, for the ledger is older than the cluster: {told}"]

    def go_on(self, told: set[StreamId]) -> None:
        """Look at the jobs that are held if anything has changed, and take those told of."""
        set_back = frozenset(told)
        told -= set_back
        now = self._clock.monotonic()
        if now < self._not_before and not set_back:
            return
        self._not_before = now + EVERY_SECONDS
        held = [slot for slot in self._slots if is_held(slot.view.state)]
        self._note(held)
        for slot in held:
            identity = slot.view.state.identity
            job = self._around.live.job(identity.uid) if identity is not None else None
            if job is not None and slot.stream_id not in set_back:
                self._look(job, slot)
        for job in self._around.live.jobs() if set_back else ():
            stream = job.identity.stream_id
            if stream in set_back and not self._look(job, self._slots.held(stream)):
                told.add(stream)

    def _note(self, held: list[Slot]) -> None:
        identities = [slot.view.state.identity for slot in held]
        self._names = tuple(f"{one.namespace}/{one.name}" for one in identities if one is not None)
        self._metrics.behind_jobs.set(len(held))
        there = {slot.stream_id for slot in held}
        self._told = {stream: seen for stream, seen in self._told.items() if stream in there}

    def _look(self, job: CachedJob, slot: Slot | None) -> bool:
        """Tell a job what is there now, unless it was told just that already.

        Returns whether that is known: while the watch lags behind a write of our own, it is not.
        """
        if job.told not in ("", job.version):
            return False
        stream = job.identity.stream_id
        version = slot.tail.version if slot is not None else 0
        there = tuple(sorted(_there(self._around, job)))
        seen = (job.version, there, version)
        if self._told.get(stream) != seen:
            self._told[stream] = seen
            with apart(job.identity):
                survey(self._around, job, Survey(there=there), str(version), self._clock.now())
        return True


def is_held(state: JobState) -> bool:
    """Return whether a job is held because the ledger is older than the cluster."""
    return state.recorded is not None and state.recorded.behind


def survey(around: EventHandlers, job: CachedJob, there: Survey, mark: str, at: Instant) -> None:
    """Tell a job what its object shows and what of it is there, and then of each."""
    stream = job.identity.stream_id
    with around.telling:
        around.take_up(job.identity.uid)
        job = around.live.job(job.identity.uid) or job
        seen = see_job(around, job, at)
        marks = (job.version, *there.there, mark)
        told = altered(seen, id=observation_id(stream, "survey", *marks), survey=there)
        around.inbox.put(stream, told)
        around.kinds[job.kind].tell_children(around, job, at, str(told.id))


def _there(around: EventHandlers, job: CachedJob) -> Iterator[str]:
    for item in around.live.children_of(around.kinds[job.kind].whole, job):
        if not text(item.manifest, "metadata", "deletionTimestamp"):
            yield item.name
