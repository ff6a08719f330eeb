"""One process of the service, put together as the wiring does, without a thread."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry

from adapters.memory.alarms import MemoryAlarms
from adapters.service.acting import World
from adapters.service.carrying_out import Errand, Office
from adapters.service.confirmations import Confirmations
from adapters.service.controller import Controller, ControllerParts
from adapters.service.handover import Handover
from adapters.service.heralding import Herald
from adapters.service.inbox import Inbox
from adapters.service.kind_watches import SyncedKinds
from adapters.service.leasing import LeaseKeeper
from adapters.service.live import LiveObjects
from adapters.service.polls import PollParts, Polls
from adapters.service.publishing import Publisher
from adapters.service.sharing import Share
from adapters.service.sightings import Door
from adapters.service.slots import Slot, Slots
from adapters.service.surroundings import Surroundings
from adapters.service.turn import Turn, TurnParts
from adapters.service.workers import Workers
from adapters.telemetry.metrics import Metrics
from core.ports.cluster import Cluster
from core.ports.event_store import EventStore
from core.ports.history import History
from core.ports.leases import Leases
from core.ports.pending import PendingDecisions
from core.ports.ray_jobs import RayJobs
from core.ports.replicas import Replicas
from core.values.ids import StreamId
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
    door: Door
    pause: Callable[[float], bool]
    """Let the world go on for so many seconds; False."""
    dice: Callable[[], float]
    resumed: Callable[[StreamId], None]
    """Called when a job is taken up anew: only its newest status is shown then."""
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


class Replica:
    """One run of one process."""

    def __init__(self, ports: Ports, around: Surrounding) -> None:
        self.actor, self.ports = around.actor, ports
        self.frozen_until = self.deaf_until = 0.0
        self.clock = ports.clock
        self.inbox, self.live, self.confirmations = Inbox(), LiveObjects(), Confirmations()
        self.slots = Slots(ports.store)
        self.leases = LeaseKeeper(
            ports.leases, self.clock, self.actor, LEASE_SECONDS, self._share()
        )
        self.alarms = MemoryAlarms(ports.pending, self.clock, self.leases.shards)
        self.workers = Workers(self.clock, 1)
        self.herald = Herald(ports.cluster, METRICS, self.actor)
        self.polls = Polls(self._poll_parts(around))
        self.handover = self._handover(around)
        self.turn = Turn(self._turn_parts(around), self.handover)
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
        return sum(isinstance(task, Errand) and task.is_dropped for task in waiting)

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
        office = Office(
            world=World(self.ports.cluster, self.ports.ray, self.live, around.door),
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
            office=office,
            workers=self.workers,
            publisher=publisher,
            polls=self.polls,
            alarms=self.alarms,
            herald=self.herald.announce,
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
                herald=self.herald,
                handover=self.handover,
                history=self.ports.history,
                watches=self.ports.watches,
                clock=self.clock,
                surroundings=Surroundings(
                    around.door,
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
