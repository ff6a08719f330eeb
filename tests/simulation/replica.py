"""One process of the service, put together as the wiring does, without a thread."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from prometheus_client import CollectorRegistry

from jobledger.adapters.kinds.registry import adapters
from jobledger.adapters.service.assembly import ServiceHooks, ServiceOptions, ServicePorts, assemble
from jobledger.adapters.service.effects.carrying_out import EffectTask
from jobledger.adapters.service.loop.handover import Handover
from jobledger.adapters.service.observing.mapper import ObservationMapper
from jobledger.adapters.service.shards.footing import Footing
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.shards.sharing import Share
from jobledger.adapters.service.work.slots import Slot
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.ports.cluster import Cluster
from jobledger.core.ports.event_store import EventStore
from jobledger.core.ports.history import History
from jobledger.core.ports.leases import Leases
from jobledger.core.ports.pending import PendingDecisions
from jobledger.core.ports.projections import Snapshots
from jobledger.core.ports.ray_jobs import RayJobs
from jobledger.core.ports.replicas import Replicas
from jobledger.core.values.ids import StreamId
from tests.simulation.clocks import SkewedClock
from tests.simulation.reflectors import Reflectors
from tests.support.memory.alarms import MemoryAlarms
from tests.support.polls import polls_of
from tests.support.stepped_stop import SteppedStop

LEASE_SECONDS = 15.0
POLL_SECONDS = 5.0
METRICS = Metrics(CollectorRegistry())
"""Counted together: nobody reads them, and making them takes longer than a run."""


@dataclass(frozen=True, kw_only=True)
class Ports:
    """What a process is connected to."""

    store: EventStore
    leases: Leases
    pending: PendingDecisions
    history: History
    cluster: Cluster
    ray: RayJobs
    watches: Reflectors
    clock: SkewedClock
    snapshots: Snapshots
    replicas: Replicas | None = None
    """None: the work is not shared, one stands by."""


@dataclass(frozen=True, kw_only=True)
class Surrounding:
    """What the driver gives a process besides its ports."""

    actor: str
    mapper: ObservationMapper
    pause: Callable[[float], bool]
    """Let the world go on for so many seconds; False."""
    dice: Callable[[], float]
    resumed: Callable[[StreamId], None]
    """Called when a job is taken up anew: only its newest status is shown then."""
    looked: Callable[[], None]
    """Called when it knows whether the log still has what it goes by."""
    begins_anew: Callable[[], None]
    """Called when it has found that the log has not, and drops all that it knew."""
    job_kinds: tuple[str, ...] = ("RayJob",)
    one_by_one: bool = False
    """Whether shards are taken over one by one, however few jobs there are."""


@dataclass(frozen=True, slots=True)
class _ToldHandover(Handover):
    """Tells when a job is taken up anew."""

    resumed: Callable[[StreamId], None] = lambda _: None

    def resume(self, slot: Slot) -> None:
        self.resumed(slot.stream_id)
        Handover.resume(self, slot)


class _ToldFooting(Footing):
    """Tells when somebody has looked, and when the process begins anew with every job."""

    def __init__(self, store: EventStore, around: Surrounding) -> None:
        super().__init__(store)
        self._looked, self._begins_anew = around.looked, around.begins_anew

    def is_lost(self) -> bool:
        found = super().is_lost()
        self._looked()
        return found

    def forget(self) -> None:
        super().forget()
        self._begins_anew()


class Replica:
    """One run of one process."""

    def __init__(self, ports: Ports, around: Surrounding) -> None:
        self.actor, self.ports = around.actor, ports
        self.frozen_until = self.deaf_until = self.lapsed_until = 0.0
        self.clock = ports.clock
        self.leases = LeaseKeeper(
            ports.leases, self.clock, self.actor, LEASE_SECONDS, self._share()
        )
        self.leases.allows = lambda: self.clock.monotonic() >= self.lapsed_until
        self.alarms = MemoryAlarms(ports.pending, self.clock, self.leases.shards)
        parts = assemble(*self._ports_and_options(around), self._hooks(around))
        self.inbox, self.live = parts.stores.inbox, parts.stores.live
        self.confirmations, self.slots = parts.stores.confirmations, parts.stores.slots
        self.workers, self.polls = parts.handover.workers, polls_of(parts)
        self.event_recorder, self.handover = parts.event_recorder, parts.handover
        self.turn, self.controller = parts.turn, parts.controller
        self._keep_snapshots = parts.keep_snapshots
        self.turn.footing = _ToldFooting(ports.store, around)
        self.slots.on_end = self.turn.footing.appended
        if around.one_by_one:
            self.controller.takeover.step_jobs = 0
        self.alarms.start(self.controller._on_due)  # noqa: SLF001 as `Controller.start` does
        self.controller.watch()

    def _share(self) -> Share | None:
        if self.ports.replicas is None:
            return None
        share = Share(self.ports.replicas, self.clock, self.actor, LEASE_SECONDS)
        share.hears = self._hears
        return share

    def _hears(self) -> bool:
        return self.controller.knows_all() and self.clock.monotonic() >= self.deaf_until

    def take_turn(self) -> None:
        """Do what the turn's thread does, once."""
        self.controller.run_once(wait_seconds=0)

    def sum_up(self) -> None:
        """Carry out the duties that nobody waits for."""
        self.controller.sum_up()
        self._keep_snapshots()

    def vanish(self) -> None:
        """Be gone: only what the world holds of it is let go."""
        self.ports.watches.stop()

    def is_idle(self) -> bool:
        """Return whether it has nothing to do but polls and duties."""
        news = any(reflector.has_news for reflector in self.ports.watches.all)
        works = self.leases.held() and len(self.workers) > self._dropped()
        return not (news or self.inbox.size or works or self.takes_over())

    def takes_over(self) -> bool:
        """Return whether shards wait that can be taken over."""
        return self.controller.takeover.is_under_way and self.controller.knows_all()

    def _dropped(self) -> int:
        """Return how many errands wait for their next try of which nobody wants to hear."""
        waiting = [task for *_, task in self.workers._later]  # noqa: SLF001 nobody else asks
        waiting = [task.args[-1] if isinstance(task, partial) else task for task in waiting]
        return sum(isinstance(task, EffectTask) and task.is_dropped for task in waiting)

    def _ports_and_options(self, around: Surrounding) -> tuple[ServicePorts, ServiceOptions]:
        ports = ServicePorts(
            store=self.ports.store,
            history=self.ports.history,
            cluster=self.ports.cluster,
            watches=self.ports.watches,
            ray=self.ports.ray,
            clock=self.clock,
            leases=self.leases,
            alarms=self.alarms,
            snapshots=self.ports.snapshots,
        )
        options = ServiceOptions(
            actor=self.actor,
            mapper=around.mapper,
            metrics=METRICS,
            poll_seconds=POLL_SECONDS,
            pollers=1,
            workers=1,
            kinds=adapters(around.job_kinds),
            dice=around.dice,
        )
        return ports, options

    @staticmethod
    def _hooks(around: Surrounding) -> ServiceHooks:
        def handover(made: Handover) -> Handover:
            return _ToldHandover(
                context=made.context,
                workers=made.workers,
                publisher=made.publisher,
                followers=made.followers,
                alarms=made.alarms,
                announce=made.announce,
                resumed=around.resumed,
            )

        return ServiceHooks(stopping=SteppedStop(around.pause), handover=handover)
