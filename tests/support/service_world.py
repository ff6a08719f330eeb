"""The whole service in memory, taken step by step: no threads, no waiting, any time of day.

What is real: everything in `adapters/service`, and the job store of the scheduler. What is played:
the ports (log, leases, cluster, Ray), and KubeRay with the kubelet, by `DataPlane`.
"""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from prometheus_client import CollectorRegistry

from jobledger.adapters.kinds.registry import adapters
from jobledger.adapters.scheduler.job_store import DecisionJobStore
from jobledger.adapters.service.assembly import ServiceHooks, ServiceOptions, ServicePorts, assemble
from jobledger.adapters.service.control.control_policy import ControlPolicy
from jobledger.adapters.service.observing.mapper import ObservationMapper, identify
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.shards.sharing import Share
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.errors import ClusterUnreachable, LedgerUnavailable, RayApiUnreachable
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.ports.alarms import Alarms, OnDue
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import RAYJOBS, Cluster
from jobledger.core.ports.event_store import EventStore
from jobledger.core.ports.history import History
from jobledger.core.ports.leases import Leases
from jobledger.core.ports.pending import PendingDecisions
from jobledger.core.ports.projections import Snapshots
from jobledger.core.ports.ray_jobs import RayJobs
from jobledger.core.ports.replicas import Replicas
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import DecisionId, StreamId
from jobledger.core.values.instants import Instant
from tests.support.crash_points import Crash, Fuse, fused
from tests.support.data_plane import DataPlane
from tests.support.memory.clock import SimulatedClock
from tests.support.memory.event_store import MemoryEventStore
from tests.support.memory.history import MemoryHistory
from tests.support.memory.leases import MemoryLeases
from tests.support.memory.pending import MemoryPendingDecisions
from tests.support.memory.ray_jobs import MemoryRayJobs
from tests.support.memory.replicas import MemoryReplicas
from tests.support.memory.snapshots import MemorySnapshots
from tests.support.polls import polls_of
from tests.support.records import NOON
from tests.support.stepped_cluster import SteppedCluster
from tests.support.stepped_stop import SteppedStop

LEASE_SECONDS = 15.0
IDLE_SECONDS = 0.5
"""How much time passes when nobody has anything to do."""
STEPS_MAX = 3000
DOOR = ObservationMapper(cluster="kind", policy=Policy(), redaction_key=b"a key of the tests")
"""For what it says; who works with it takes a copy, because a door learns of other controllers."""


def own_door(mapper: ObservationMapper = DOOR) -> ObservationMapper:
    """Return a door like that one, which has met no other controller."""
    return (
        replace(mapper, control_policy=ControlPolicy())
        if mapper.control_policy is DOOR.control_policy
        else mapper
    )


@dataclass(frozen=True, kw_only=True)
class Ports:
    """What a service is connected to."""

    store: EventStore
    leases: Leases
    pending: PendingDecisions
    history: History
    cluster: Cluster
    ray: RayJobs
    snapshots: Snapshots
    replicas: Replicas | None = None
    """None: it takes every shard that it can get."""


class SteppedAlarms:
    """The scheduler's job store without its thread: `run_once` tells what is due."""

    def __init__(self, pending: PendingDecisions, clock: Clock, leases: LeaseKeeper) -> None:
        self.store = DecisionJobStore(pending, clock, leases.shards, self._tell)
        self._clock = clock
        self._on_due: OnDue | None = None

    def start(self, on_due: OnDue) -> None:
        self._on_due = on_due

    def wake(self, due_at: Instant | None = None) -> None:
        self.store.needs_wake(due_at)

    def done(self, decision: DecisionId) -> None:
        self.store.dealt_with(decision)

    def stop(self) -> None:
        self._on_due = None

    def is_alive(self) -> bool:
        return self._on_due is not None

    def run_once(self) -> bool:
        """Tell what is due; return whether anything was."""
        jobs = self.store.get_due_jobs(self._clock.now())
        for job in jobs:
            job.func(*job.args)
        return bool(jobs)

    def _tell(self, row: DecisionRow) -> None:
        if self._on_due is not None:
            self._on_due(row)


MakeAlarms = Callable[[PendingDecisions, Clock, LeaseKeeper], Alarms]


class Service:
    """One process of the service, put together as the wiring does."""

    def __init__(
        self,
        ports: Ports,
        watches: SteppedCluster,
        clock: SimulatedClock,
        actor: str,
        make_alarms: MakeAlarms = SteppedAlarms,
        *,
        job_kinds: tuple[str, ...] = ("RayJob",),
        mapper: ObservationMapper = DOOR,
        job_events_per_hour: int = 6000,
    ) -> None:
        self.job_kinds, self.mapper = job_kinds, own_door(mapper)
        self.metrics, self.clock = Metrics(CollectorRegistry()), clock
        self.deaf = False
        """Whether it does not hear the API server; what it asks is answered all the same."""
        self.leases = LeaseKeeper(
            ports.leases, clock, actor, LEASE_SECONDS, self._share(ports, actor)
        )
        self.alarms = make_alarms(ports.pending, clock, self.leases)
        parts = assemble(
            ServicePorts(
                store=ports.store,
                history=ports.history,
                cluster=ports.cluster,
                watches=watches,
                ray=ports.ray,
                clock=clock,
                leases=self.leases,
                alarms=self.alarms,
                snapshots=ports.snapshots,
            ),
            ServiceOptions(
                actor=actor,
                mapper=self.mapper,
                metrics=self.metrics,
                poll_seconds=3,
                pollers=2,
                workers=2,
                kinds=adapters(job_kinds),
                job_events_per_hour=job_events_per_hour,
                dice=random.Random(actor).random,
            ),
            ServiceHooks(
                stopping=SteppedStop(self._pause)
                if make_alarms is SteppedAlarms
                else threading.Event(),
                pause=self._pause,
            ),
        )
        self.inbox, self.live = parts.stores.inbox, parts.stores.live
        self.confirmations, self.slots = parts.stores.confirmations, parts.stores.slots
        self.workers, self.polls = parts.handover.workers, polls_of(parts)
        self.event_recorder, self.handover = parts.event_recorder, parts.handover
        self.turn, self.controller = parts.turn, parts.controller
        self.keep_snapshots = parts.keep_snapshots
        assert parts.snapshots is not None, "these ports have them"
        self.decided = parts.snapshots.decided

    def start(self) -> None:
        """Start what needs no thread."""
        self.alarms.start(self.controller._on_due)  # noqa: SLF001 as `Controller.start` does
        self.controller.watch()

    def step(self) -> bool:
        """Let every part do one thing; return whether any did."""
        takeover = self.controller.takeover
        goes_on = takeover.is_under_way and self.controller.knows_all()
        moved = len(self.inbox) > 0 or goes_on
        self.controller.run_once(wait_seconds=0)
        assert isinstance(self.alarms, SteppedAlarms), "others have threads of their own"
        parts = (self.workers, self.polls, self.alarms, self.event_recorder)
        done = [part.run_once() for part in parts]
        return moved or any(done)

    def _share(self, ports: Ports, actor: str) -> Share | None:
        if ports.replicas is None:
            return None
        share = Share(ports.replicas, self.clock, actor, LEASE_SECONDS)
        share.hears = lambda: self.controller.knows_all() and not self.deaf
        return share

    def _pause(self, seconds: float) -> bool:
        self.clock.advance(seconds)
        return False


@dataclass
class ServiceWorld:
    """A cluster, a log, Ray, and a service that may die and be started again."""

    fuse: Fuse = field(default_factory=Fuse)
    exit_codes: list[int] = field(default_factory=list)
    """How the runs of the entrypoint end, one after the other; then successfully."""
    job_kinds: tuple[str, ...] = ("RayJob",)
    mapper: ObservationMapper = DOOR
    is_shared: bool = False
    """Whether replicas share the work; else one stands by."""
    job_events_per_hour: int = 6000

    def __post_init__(self) -> None:
        self.clock = SimulatedClock(NOON)
        self.lease_table = MemoryLeases(self.clock.now)
        self.replica_list = MemoryReplicas(self.lease_table, self.clock.now)
        self.store = MemoryEventStore(self.lease_table)
        self.projections = self.store
        self.history = MemoryHistory(self.store)
        self.snapshots = MemorySnapshots(self.store)
        self.cluster = SteppedCluster(self.clock.now)
        self.ray = MemoryRayJobs(self.clock.now)
        self.plane = DataPlane(self.cluster, self.ray, self.exit_codes)
        self.deaths = 0
        self._runs = 0
        self.service = self.start_service()

    def start_service(self, replica: str = "a") -> Service:
        """Start another process; what watched before is gone."""
        self._runs += 1
        actor = f"{replica}/{self._runs}"
        ports, kinds = self._ports(), self.job_kinds
        service = Service(
            ports,
            self.cluster,
            self.clock,
            actor,
            job_kinds=kinds,
            mapper=self.mapper,
            job_events_per_hour=self.job_events_per_hour,
        )
        service.start()
        return service

    def start_threads(self, make_alarms: MakeAlarms) -> Service:
        """Start a process with all its threads, of which `pass_by` is the time."""
        self._runs += 1
        actor = f"a/{self._runs}"
        self.service = Service(self._ports(), self.cluster, self.clock, actor, make_alarms)
        self.service.controller.start()
        return self.service

    def pass_by(self, seconds: float) -> None:
        """Let time pass for a process with threads, and let cluster and Ray do what they do."""
        self.clock.advance(seconds)
        self.cluster.deliver()
        self.plane.step()
        self.service.workers.open_gate()  # whoever waits looks at the clock again
        self.service.polls.open_gate()
        self.service.alarms.wake()
        self._renew()

    def restart(self) -> None:
        """Let the process die and start another."""
        self.cluster.disconnect()
        self.service = self.start_service()

    def create(self, manifest: Manifest) -> StreamId:
        """Create a RayJob; return its stream."""
        made = self.cluster.create(RAYJOBS, manifest)
        return identify(DOOR.cluster, made).stream_id

    def run(self, until: Callable[[], bool], what: str) -> None:
        """Take steps until the condition holds and nobody has anything left to do."""
        for _ in range(STEPS_MAX):
            if not self.step():
                if until():
                    return
                self.clock.advance(IDLE_SECONDS)
        raise AssertionError(f"after {STEPS_MAX} steps still not: {what}")

    def step(self) -> bool:
        """Let everybody do one thing; return whether anybody did. A dead process is replaced."""
        self.clock.advance(0.001)
        try:
            told = self.cluster.deliver()
            moved = self.service.step()
            self.service.keep_snapshots()
            self._renew()
        except Crash:
            self.deaths += 1
            self.restart()
            return True
        return self.plane.step() or told or moved

    def phase(self, name: str) -> str:
        """Return the phase that users see."""
        return text(child(self.job(name), "status"), "jobDeploymentStatus")

    def job(self, name: str) -> Manifest:
        """Return the RayJob, empty if there is none."""
        return self.cluster.get(RAYJOBS, "ml", name) or {}

    def _renew(self) -> None:
        """Carry out the duty of renewing the leases, a few times per lease."""
        due = self.clock.monotonic() > self._renewed + LEASE_SECONDS / 3
        if due:
            self._renewed = self.clock.monotonic()
            self.service.controller.renew_leases()

    _renewed: float = 0.0

    def _ports(self) -> Ports:
        fuse = self.fuse
        return Ports(
            store=fused(self.store, "EventStore", fuse, LedgerUnavailable),
            leases=fused(self.lease_table, "Leases", fuse, LedgerUnavailable),
            pending=MemoryPendingDecisions(self.store),
            history=fused(self.history, "History", fuse, LedgerUnavailable),
            cluster=fused(self.cluster, "Cluster", fuse, ClusterUnreachable),
            ray=fused(self.ray, "RayJobs", fuse, RayApiUnreachable),
            snapshots=fused(self.snapshots, "Snapshots", fuse, LedgerUnavailable),
            replicas=self.replica_list if self.is_shared else None,
        )
