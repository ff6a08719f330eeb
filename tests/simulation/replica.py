"""One process of the service, put together as the wiring does, without a thread."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from jobledger.adapters.memory.alarms import MemoryAlarms
from jobledger.adapters.service.controller import Controller, ControllerParts
from jobledger.adapters.service.effects.carrying_out import EffectContext, EffectTask
from jobledger.adapters.service.effects.context import World
from jobledger.adapters.service.heads.polls import PollParts, Polls
from jobledger.adapters.service.loop.handover import Handover
from jobledger.adapters.service.loop.turn import Turn, TurnParts
from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.observing.rayjob_observations import ObservationMapper
from jobledger.adapters.service.shards.footing import Footing
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.shards.sharing import Share
from jobledger.adapters.service.status.event_recorder import EventRecorder
from jobledger.adapters.service.status.status_writer import Publisher
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.kind_watches import SyncedKinds
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.slots import Slot, Slots
from jobledger.adapters.service.work.workers import Workers
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.ports.cluster import Cluster
from jobledger.core.ports.event_store import EventStore
from jobledger.core.ports.history import History
from jobledger.core.ports.leases import Leases
from jobledger.core.ports.pending import PendingDecisions
from jobledger.core.ports.ray_jobs import RayJobs
from jobledger.core.ports.replicas import Replicas
from jobledger.core.values.ids import StreamId
from tests.simulation.clocks import SkewedClock
from tests.simulation.reflectors import Reflectors

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
    job_kinds: tuple[str, ...] = ("RayJob",)


class _Stopping(threading.Event):
    """Never set; waiting for it lets the world go on."""

    def __init__(self, pause: Callable[[float], bool]) -> None:
        super().__init__()
        self._pause = pause

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None, "nobody waits for ever"
        return self._pause(timeout)


@dataclass(frozen=True, slots=True)
class _ToldHandover(Handover):
    """Tells when a job is taken up anew."""

    resumed: Callable[[StreamId], None] = lambda _: None

    def resume(self, slot: Slot) -> None:
        self.resumed(slot.stream_id)
        Handover.resume(self, slot)


class _ToldFooting(Footing):
    """Tells when somebody has looked."""

    def __init__(self, store: EventStore, looked: Callable[[], None]) -> None:
        super().__init__(store)
        self._looked = looked

    def is_lost(self) -> bool:
        found = super().is_lost()
        self._looked()
        return found


class Replica:
    """One run of one process."""

    def __init__(self, ports: Ports, around: Surrounding) -> None:
        self.actor, self.ports = around.actor, ports
        self.frozen_until = self.deaf_until = 0.0
        self.clock = ports.clock
        self.inbox, self.live, self.confirmations = Inbox(), ObjectCache(), Confirmations()
        self.slots = Slots(ports.store)
        self.leases = LeaseKeeper(
            ports.leases, self.clock, self.actor, LEASE_SECONDS, self._share()
        )
        self.alarms = MemoryAlarms(ports.pending, self.clock, self.leases.shards)
        self.workers = Workers(self.clock, 1)
        self.event_recorder = EventRecorder(ports.cluster, METRICS, self.actor)
        self.polls = Polls(self._poll_parts(around))
        self.handover = self._handover(around)
        self.turn = Turn(self._turn_parts(around), self.handover)
        self.turn.footing = _ToldFooting(ports.store, around.looked)
        self.controller = self._controller(around)
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

    def vanish(self) -> None:
        """Be gone: only what the world holds of it is let go."""
        self.ports.watches.stop()

    def is_idle(self) -> bool:
        """Return whether it has nothing to do but polls and duties."""
        news = any(reflector.has_news for reflector in self.ports.watches.all)
        works = self.leases.held() and len(self.workers) > self._dropped()
        return not (news or len(self.inbox) or works)

    def _dropped(self) -> int:
        """Return how many errands wait for their next try of which nobody wants to hear."""
        waiting = [task for *_, task in self.workers._later]  # noqa: SLF001 nobody else asks
        return sum(isinstance(task, EffectTask) and task.is_dropped for task in waiting)

    def _poll_parts(self, around: Surrounding) -> PollParts:
        return PollParts(
            ray=self.ports.ray,
            live=self.live,
            inbox=self.inbox,
            confirmations=self.confirmations,
            clock=self.clock,
            metrics=METRICS,
            interval_seconds=POLL_SECONDS,
            threads=1,
            dice=around.dice,
        )

    def _handover(self, around: Surrounding) -> Handover:
        context = EffectContext(
            world=World(self.ports.cluster, self.ports.ray, self.live, around.mapper),
            slots=self.slots,
            inbox=self.inbox,
            clock=self.clock,
            metrics=METRICS,
            may_act=self.leases.may_act,
            dice=around.dice,
        )
        publisher = Publisher(
            self.ports.cluster, self.live, self.inbox, self.clock, METRICS, self.leases.may_act
        )
        return _ToldHandover(
            context=context,
            workers=self.workers,
            publisher=publisher,
            polls=self.polls,
            alarms=self.alarms,
            event_recorder=self.event_recorder.announce,
            resumed=around.resumed,
        )

    def _turn_parts(self, around: Surrounding) -> TurnParts:
        return TurnParts(
            store=self.ports.store,
            slots=self.slots,
            inbox=self.inbox,
            confirmations=self.confirmations,
            epochs=self.leases,
            clock=self.clock,
            metrics=METRICS,
            actor=self.actor,
            pause=around.pause,
        )

    def _controller(self, around: Surrounding) -> Controller:
        synced = SyncedKinds(1, around.job_kinds)
        return Controller(
            ControllerParts(
                turn=self.turn,
                slots=self.slots,
                inbox=self.inbox,
                live=self.live,
                confirmations=self.confirmations,
                leases=self.leases,
                workers=self.workers,
                polls=self.polls,
                alarms=self.alarms,
                event_recorder=self.event_recorder,
                handover=self.handover,
                history=self.ports.history,
                watches=self.ports.watches,
                clock=self.clock,
                handlers=EventHandlers(
                    around.mapper,
                    self.inbox,
                    self.live,
                    self.confirmations,
                    synced.note,
                    self.handover.changed_by_others,
                    self.turn.is_heard,
                ),
                synced=synced,
                namespaces=(),
                stopping=_Stopping(around.pause),
                job_kinds=around.job_kinds,
            )
        )
