"""Pieces of the service for tests of one of them: ports in memory, a clock that stands still."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from jobledger.adapters.kinds.rayjob.acting.attempt_names import AttemptNames
from jobledger.adapters.kinds.rayjob.watching.listeners import ChildListener
from jobledger.adapters.service.effects.carrying_out import EffectContext, EffectTask
from jobledger.adapters.service.effects.context import World
from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.job_listener import JobListener
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.slots import Slot, Slots
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.jobs.pending.effects import DesiredEffect, EffectKind, OpenEffect
from jobledger.core.kinds import JobObservation
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.keyed_digests import digest
from jobledger.core.log.recording import Tail
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.projections.view import View
from jobledger.core.rayjob.state import Attempt, RayJobState
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId, effect_id_of, observation_id
from tests.rules.rayjob.jobs import Change, rayjob
from tests.support.memory.clock import SimulatedClock
from tests.support.memory.event_store import MemoryEventStore
from tests.support.memory.leases import MemoryLeases
from tests.support.memory.ray_jobs import MemoryRayJobs
from tests.support.plugged import actings, watchings
from tests.support.records import NOON
from tests.support.service_world import DOOR, own_door
from tests.support.stepped_cluster import SteppedCluster

SECRET = "xK9-planted-vQ7-secret"
JOB_ID = "train-abcde"
NAMES = AttemptNames(number=1, job_id=JOB_ID)
"""Of the attempt whose effects are carried out; its RayCluster's name is derived."""


def a_rayjob(change: Change | None = None, /, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 any JSON
    """Return a RayJob as a user writes it: without what the API server adds."""
    manifest = rayjob(change, **spec)
    for field_of_server in ("uid", "generation"):
        manifest["metadata"].pop(field_of_server)
    return manifest


@dataclass
class Bench:
    """Everything an effect, a poll or a status meets, without the turn."""

    clock: SimulatedClock = field(default_factory=lambda: SimulatedClock(NOON))
    acts: bool = True
    """Whether the lease is trusted."""

    def __post_init__(self) -> None:
        self.cluster = SteppedCluster(self.clock.now, admits_all=True)
        self.ray = MemoryRayJobs(self.clock.now)
        self.inbox, self.live, self.confirmations = Inbox(), ObjectCache(), Confirmations()
        self.metrics = Metrics(CollectorRegistry())
        self.slots = Slots(MemoryEventStore(MemoryLeases(self.clock.now)))
        self.kinds: list[str] = []
        self.around = EventHandlers(
            own_door(),
            self.inbox,
            self.live,
            self.confirmations,
            watchings(),
            self.kinds.append,
        )
        self.jobs = JobListener(self.around, "RayJob")
        self.clusters = ChildListener(self.around, "RayCluster")
        self.submitters = ChildListener(self.around, "Job")

    def job(self, change: Change | None = None, /, **spec: Any) -> CachedJob:  # noqa: ANN401 any JSON
        """Create a RayJob and let the watch see it."""
        return self.see(self.cluster.create(RAYJOBS, a_rayjob(change, **spec)))

    def see(self, manifest: Manifest) -> CachedJob:
        """Let the watch see a RayJob; what it says is taken out of the inbox."""
        self.jobs.seen(manifest, self.clock.now())
        self.said()
        found = self.live.job(text(manifest, "metadata", "uid"))
        assert found is not None
        return found

    def said(self) -> list[JobObservation]:
        """Take everything out of the inbox."""
        return [observation for _, observation in self.inbox.take(1000, 0)]

    def context(self) -> EffectContext:
        """Return what an errand needs; the dice always show one."""
        world = World(self.cluster, self.ray, self.live, own_door(), actings())
        return EffectContext(
            world,
            self.slots,
            self.inbox,
            self.clock,
            self.metrics,
            lambda _: self.acts,
            lambda: 1.0,
        )

    def effect_task(
        self, job: CachedJob, kind: EffectKind, name: str = "", **wanted: str
    ) -> EffectTask:
        """Return an effect of the job that was just asked for."""
        effect = self.effect(job, kind, name, **wanted)
        self.hold(job, effect)
        return EffectTask(self.context(), job.identity.stream_id, effect)

    def effect(self, job: CachedJob, kind: EffectKind, name: str = "", **wanted: str) -> OpenEffect:
        """Return an open effect, decided on the specification as it is."""
        cause = observation_id(job.identity.stream_id, "a test")
        return OpenEffect(
            effect_id=effect_id_of(cause, kind.value, name),
            attempt=1,
            desired=DesiredEffect(kind=kind, name=name or "train-x2x2x", **wanted),
            digest=digest(DOOR.redaction_key, child(job.manifest, "spec")),
        )

    def hold(self, job: CachedJob, *effects: OpenEffect) -> None:
        """Let the log say that these effects of a job are open."""
        attempt = Attempt(
            number=1, cluster_name="train-x2x2x", job_id=JOB_ID, generation=1, started_at=NOON
        )
        state = RayJobState(identity=job.identity, attempt=attempt, effects=effects)
        hold(self.slots, job.identity.stream_id, state)


def hold(slots: Slots, stream: StreamId, state: RayJobState) -> None:
    """Put a job in a state, as if the log said so."""
    slot = Slot(stream, View(state=state), Tail(stream_id=stream, version=0, chain=GENESIS))
    slots._held[stream] = slot  # noqa: SLF001 no log leads straight there


def run_all(calls: list[Callable[[], None]]) -> None:
    """Run calls at once, each in a thread of its own, and wait for all."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads), "a call did not return within 30 s"
