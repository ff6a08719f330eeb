"""Puts the parts of the controller together, over any ports: the product, tests and simulations."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from jobledger.adapters.service.controller import Controller, ControllerParts
from jobledger.adapters.service.effects.carrying_out import EffectContext
from jobledger.adapters.service.effects.context import World
from jobledger.adapters.service.evidence.capture import Capturer
from jobledger.adapters.service.evidence.failing_pods import FailingPods
from jobledger.adapters.service.evidence.pod_watches import pod_watches
from jobledger.adapters.service.followers import Follower, FollowerParts
from jobledger.adapters.service.kind_adapter import KindAdapter
from jobledger.adapters.service.loop.decided_looks import DecidedLooks, settings_of
from jobledger.adapters.service.loop.handover import Announce, Handover
from jobledger.adapters.service.loop.turn import Turn, TurnParts
from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.observing.mapper import ObservationMapper
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.status.event_recorder import EventRecorder
from jobledger.adapters.service.status.lost_events import LostEvents
from jobledger.adapters.service.status.own_writes import OwnWrites
from jobledger.adapters.service.status.status_writer import Publisher
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.job_listener import retell_job
from jobledger.adapters.service.watches.kind_watches import SyncedKinds
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.slots import Slots
from jobledger.adapters.service.work.snapshots import SnapshotKeeper
from jobledger.adapters.service.work.workers import Lane, Workers
from jobledger.adapters.telemetry.dice import dice
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs.events import EvidenceCaptured
from jobledger.core.kinds import JobObservation
from jobledger.core.ports.alarms import Alarms
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import Cluster, Resource, Watches
from jobledger.core.ports.event_store import EventStore
from jobledger.core.ports.history import History
from jobledger.core.ports.job_ends import JobEnds
from jobledger.core.ports.projections import Snapshots
from jobledger.core.ports.ray_jobs import RayJobs
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePorts:
    """What a controller is connected to."""

    store: EventStore
    history: History
    cluster: Cluster
    watches: Watches
    ray: RayJobs
    clock: Clock
    leases: LeaseKeeper
    alarms: Alarms
    snapshots: Snapshots | None = None
    """None: every start folds all streams anew."""
    ends: JobEnds | None = None
    """Early hints that Ray jobs have ended; None: heads are polled only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """How a controller works."""

    actor: str
    mapper: ObservationMapper
    metrics: Metrics
    poll_seconds: float
    pollers: int
    workers: int
    kinds: tuple[KindAdapter, ...]
    """The kinds of job that are controlled, as far as they are served."""
    namespaces: tuple[str, ...] = ()
    """Namespaces to watch; none: all."""
    job_events_per_hour: int = 6000
    dice: Callable[[], float] = dice
    """Spreads what would otherwise be asked or tried again by all at once: from 0 to below 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceHooks:
    """Where the surroundings of a controller take part."""

    stopping: threading.Event
    """Set once the service is to stop."""
    pause: Callable[[float], bool] | None = None
    """Waits so many seconds; True if the service is to stop. None: waits for `stopping`."""
    capturer: Callable[[ServicePorts, ObjectCache, Inbox], Capturer | None] = lambda *_: None
    """Makes what captures evidence."""
    announce: Callable[[Announce, ObjectCache], Announce] = lambda announce, _: announce
    """Adds to what is told of events that users see."""
    handover: Callable[[Handover], Handover] = lambda handover: handover
    """Replaces what follows an append."""
    watch_troubles: Callable[[], list[str]] = list
    """Returns why watches do not run at the moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """What the parts of one controller share: what waits, what was seen, what is worked on."""

    inbox: Inbox
    live: ObjectCache
    confirmations: Confirmations
    slots: Slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of one controller."""

    stores: Stores
    event_recorder: EventRecorder
    handover: Handover
    turn: Turn
    controller: Controller
    snapshots: SnapshotKeeper | None

    def keep_snapshots(self) -> None:
        """Carry out the duty of writing snapshots of the jobs that are held."""
        if self.snapshots is not None:
            self.snapshots.keep((slot.tail, slot.view) for slot in self.stores.slots)


def assemble(ports: ServicePorts, options: ServiceOptions, hooks: ServiceHooks) -> Parts:
    """Return the parts of a controller, connected with each other; nothing is started yet."""
    stores = _stores(ports)
    event_recorder = EventRecorder(ports.cluster, options.metrics, options.actor, ports.clock)
    context = _effect_context(ports, options, hooks, stores)
    workers = Workers(ports.clock, options.workers, stores.slots.namespace)
    handover = hooks.handover(
        Handover(
            context=context,
            pods=_failing_pods(options, context),
            workers=workers,
            publisher=_publisher(ports, options, stores, workers),
            followers=_followers(ports, options, context, stores),
            alarms=ports.alarms,
            announce=hooks.announce(event_recorder.announce, stores.live),
        )
    )
    writes = OwnWrites(options.mapper.cluster, ports.store, handover.publisher.is_own)
    options.mapper.control_policy.is_own = writes.recognise
    turn = Turn(_turn_parts(ports, options, hooks, stores), handover)
    snapshots = _snapshots(ports, options, stores, turn)
    watching = tuple(kind.watching for kind in options.kinds)
    synced = SyncedKinds(max(1, len(options.namespaces)), watching)
    settings = settings_of(options.mapper)
    decided = DecidedLooks(turn, stores.slots, ports.leases, snapshots, settings)
    handlers = _handlers(ports.clock, options, stores, synced, (handover, turn, decided))
    if snapshots is not None:
        snapshots.decided = partial(decided.latest, handlers)
    controller = Controller(
        ControllerParts(
            turn=turn,
            slots=stores.slots,
            inbox=stores.inbox,
            live=stores.live,
            confirmations=stores.confirmations,
            leases=ports.leases,
            workers=handover.workers,
            alarms=ports.alarms,
            event_recorder=event_recorder,
            handover=handover,
            history=ports.history,
            watches=ports.watches,
            clock=ports.clock,
            handlers=handlers,
            synced=synced,
            namespaces=options.namespaces,
            stopping=hooks.stopping,
            watch_troubles=hooks.watch_troubles,
            resync={kind.name: kind.resync for kind in options.kinds},
        )
    )
    return Parts(
        stores=stores,
        event_recorder=event_recorder,
        handover=handover,
        turn=turn,
        controller=controller,
        snapshots=snapshots,
    )


def _snapshots(
    ports: ServicePorts, options: ServiceOptions, stores: Stores, turn: Turn
) -> SnapshotKeeper | None:
    """Return what keeps snapshots, from which the next start goes on; None: nothing does."""
    if ports.snapshots is None:
        return None
    snapshots = SnapshotKeeper(ports.snapshots, options.mapper.redaction_key, ports.clock)
    snapshots.spent, stores.slots.known = turn.slowing.used_up, snapshots.read
    snapshots.known_identity = stores.live.known_identity
    return snapshots


def _followers(
    ports: ServicePorts, options: ServiceOptions, context: EffectContext, stores: Stores
) -> dict[str, Follower]:
    parts = FollowerParts(
        context=context,
        confirmations=stores.confirmations,
        interval_seconds=options.poll_seconds,
        threads=options.pollers,
        ends=ports.ends,
    )
    made = ((kind.name, kind.follower) for kind in options.kinds)
    return {name: follower(parts) for name, follower in made if follower is not None}


def _handlers(
    clock: Clock,
    options: ServiceOptions,
    stores: Stores,
    synced: SyncedKinds,
    partners: tuple[Handover, Turn, DecidedLooks],
) -> EventHandlers:
    """Return what watches tell, and have the workers tell again what slowed jobs have missed."""
    handover, turn, decided = partners
    pods, owners = handover.pods, stores.live.job_owners
    handlers = EventHandlers(
        options.mapper,
        stores.inbox,
        stores.live,
        stores.confirmations,
        {kind.name: kind.watching for kind in options.kinds},
        synced.note,
        handover.changed_by_others,
        turn.is_heard,
        has_to_wait=lambda stream, look, is_edit, part: turn.slowing.has_to_wait(
            stream,
            lambda: handover.workers.submit(stream, look, Lane.OWN),
            is_edit=is_edit,
            part=part,
        ),
        looked_through=turn.slowing.looked_through,
        is_decided_on=decided.are_known,
        tell_with_answer=handover.tell_with_answer,
        job_gone=pods.job_gone if pods is not None else lambda _: None,
        pods=pod_watches(pods, owners) if pods is not None else {},
    )

    def tell_anew(stream: StreamId) -> None:
        state = stores.slots.state(stream)
        if state is not None and state.identity is not None:
            uid = state.identity.uid
            tell = partial(_retold, handlers, uid, clock)
            handover.workers.submit(stream, tell, Lane.OWN)

    turn.slowing.tell_anew = tell_anew
    return handlers


def _failing_pods(options: ServiceOptions, context: EffectContext) -> FailingPods | None:
    """Return what has Pods looked at that fail; None, if no evidence is captured."""
    if context.evidence is None:
        return None
    kept_as: dict[Resource, tuple[str, ...]] = {}
    for kind in options.kinds:
        for resource, name in kind.watching.pods_of.items():
            kept_as[resource] = (*kept_as.get(resource, ()), name)
    return FailingPods(context.evidence, context.world.live, context.slots, kept_as)


def _retold(handlers: EventHandlers, uid: str, clock: Clock) -> None:
    retell_job(handlers, uid, clock.now())


def _stores(ports: ServicePorts) -> Stores:
    slots = Slots(ports.store)
    return Stores(
        inbox=Inbox(slots.namespace),
        live=ObjectCache(),
        confirmations=Confirmations(),
        slots=slots,
    )


def _effect_context(
    ports: ServicePorts, options: ServiceOptions, hooks: ServiceHooks, stores: Stores
) -> EffectContext:
    return EffectContext(
        world=World(
            ports.cluster,
            ports.ray,
            stores.live,
            options.mapper,
            {kind.name: kind.acting for kind in options.kinds},
        ),
        slots=stores.slots,
        inbox=stores.inbox,
        clock=ports.clock,
        metrics=options.metrics,
        may_act=ports.leases.may_act,
        evidence=hooks.capturer(ports, stores.live, stores.inbox),
        dice=options.dice,
    )


def _publisher(
    ports: ServicePorts, options: ServiceOptions, stores: Stores, workers: Workers
) -> Publisher:
    watching = {kind.name: kind.watching for kind in options.kinds}

    def see(job: CachedJob, at: Instant) -> JobObservation:
        kind = watching[job.kind]
        return kind.see(options.mapper, job.identity, job.newest, job.redactor, at)

    lost = LostEvents(see, stores.slots, stores.live, stores.inbox, ports.clock)
    return Publisher(
        ports.cluster,
        stores.live,
        stores.inbox,
        ports.clock,
        options.metrics,
        ports.leases.may_act,
        options.mapper.control_policy.is_refused,
        lost.are_shown,
        workers.is_behind,
    )


def _turn_parts(
    ports: ServicePorts, options: ServiceOptions, hooks: ServiceHooks, stores: Stores
) -> TurnParts:

    def appended(event: JobEvent) -> None:
        for kind in options.kinds:
            kind.appended(options.metrics, event)
        if isinstance(event, EvidenceCaptured):
            options.metrics.captures.labels(event.occasion.partition("/")[0]).inc()

    return TurnParts(
        store=ports.store,
        slots=stores.slots,
        inbox=stores.inbox,
        confirmations=stores.confirmations,
        epochs=ports.leases,
        clock=ports.clock,
        metrics=options.metrics,
        actor=options.actor,
        pause=hooks.pause or hooks.stopping.wait,
        job_events_per_hour=options.job_events_per_hour,
        appended=appended,
    )
