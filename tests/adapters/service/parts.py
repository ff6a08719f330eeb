"""Pieces of the service for tests of one of them: ports in memory, a clock that stands still."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from adapters.memory.clock import SimulatedClock
from adapters.memory.event_store import MemoryEventStore
from adapters.memory.leases import MemoryLeases
from adapters.memory.ray_jobs import MemoryRayJobs
from adapters.service.acting import AttemptNames, World
from adapters.service.carrying_out import Errand, Office
from adapters.service.confirmations import Confirmations
from adapters.service.inbox import Inbox
from adapters.service.live import LiveJob, LiveObjects
from adapters.service.slots import Slot, Slots
from adapters.service.surroundings import Surroundings
from adapters.service.watching import ChildListener, JobListener
from adapters.telemetry.metrics import Metrics
from core.jobs.effects import EffectKind, OpenEffect, WantedEffect
from core.kinds import JobObservation
from core.log.chain import GENESIS
from core.log.recording import Tail
from core.log.redaction import digest
from core.ports.cluster import RAYJOBS
from core.projections.view import View
from core.rayjob.state import Attempt, RayJobState
from core.values.documents import Manifest, child, text
from core.values.ids import StreamId, effect_id_of, observation_id
from tests.rules.rayjob.jobs import Change, rayjob
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
        self.inbox, self.live, self.confirmations = Inbox(), LiveObjects(), Confirmations()
        self.metrics = Metrics(CollectorRegistry())
        self.slots = Slots(MemoryEventStore(MemoryLeases(self.clock.now)))
        self.kinds: list[str] = []
        self.around = Surroundings(
            own_door(), self.inbox, self.live, self.confirmations, self.kinds.append
        )
        self.jobs = JobListener(self.around)
        self.clusters = ChildListener(self.around, "RayCluster")
        self.submitters = ChildListener(self.around, "Job")

    def job(self, change: Change | None = None, /, **spec: Any) -> LiveJob:  # noqa: ANN401 any JSON
        """Create a RayJob and let the watch see it."""
        return self.see(self.cluster.create(RAYJOBS, a_rayjob(change, **spec)))

    def see(self, manifest: Manifest) -> LiveJob:
        """Let the watch see a RayJob; what it says is taken out of the inbox."""
        self.jobs.seen(manifest, self.clock.now())
        self.said()
        found = self.live.job(text(manifest, "metadata", "uid"))
        assert found is not None
        return found

    def said(self) -> list[JobObservation]:
        """Take everything out of the inbox."""
        return [observation for _, observation in self.inbox.take(1000, 0)]

    def office(self) -> Office:
        """Return what an errand needs; the dice always show one."""
        world = World(self.cluster, self.ray, self.live, own_door())
        return Office(
            world,
            self.slots,
            self.inbox,
            self.clock,
            self.metrics,
            lambda _: self.acts,
            lambda: 1.0,
        )

    def errand(self, job: LiveJob, kind: EffectKind, name: str = "", **wanted: str) -> Errand:
        """Return an effect of the job that was just asked for."""
        effect = self.effect(job, kind, name, **wanted)
        self.hold(job, effect)
        return Errand(self.office(), job.identity.stream_id, effect)

    def effect(self, job: LiveJob, kind: EffectKind, name: str = "", **wanted: str) -> OpenEffect:
        """Return an open effect, decided on the specification as it is."""
        cause = observation_id(job.identity.stream_id, "a test")
        return OpenEffect(
            effect_id=effect_id_of(cause, kind.value, name),
            attempt=1,
            wanted=WantedEffect(kind=kind, name=name or "train-x2x2x", **wanted),
            digest=digest(DOOR.redaction_key, child(job.manifest, "spec")),
        )

    def hold(self, job: LiveJob, *effects: OpenEffect) -> None:
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
