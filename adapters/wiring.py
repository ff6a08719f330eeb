"""The composition root of the service.

The only file that knows all adapters. Functions that build a graph and return it.

Nothing connects, reads the environment or starts a thread on import.
"""

import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from jobledger.adapters import claim_wiring, clock_wiring, forensic_wiring
from jobledger.adapters.cluster_wiring import cluster_connection
from jobledger.adapters.http.health import health_app
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.kinds.rayjob.kept_rayclusters import count_kept_clusters
from jobledger.adapters.kinds.rayjob.kuberay_metrics import KubeRayMetrics, announcing
from jobledger.adapters.kinds.registry import adapters, installations
from jobledger.adapters.kube.answering import Answering
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import connect
from jobledger.adapters.kube.read_only import ReadOnlyCluster
from jobledger.adapters.kube.watching.watches import TELL_EVERY, KubernetesWatches
from jobledger.adapters.ledger_wiring import Ledger, of_cluster, report_service
from jobledger.adapters.page_wiring import Standing, page_parts
from jobledger.adapters.postgres.reports.projecting.projector import ReportService
from jobledger.adapters.ray.job_api import RayJobApi
from jobledger.adapters.ray.log_streams import LogStreams
from jobledger.adapters.redaction_key import redaction_key
from jobledger.adapters.scheduler.alarms import SchedulerAlarms
from jobledger.adapters.service.assembly import (
    Parts,
    ServiceHooks,
    ServiceOptions,
    ServicePorts,
    assemble,
)
from jobledger.adapters.service.clocks import Clocks
from jobledger.adapters.service.control.policies import control_policy, policy
from jobledger.adapters.service.controller import Controller
from jobledger.adapters.service.observing.mapper import ObservationMapper
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.service.shards.sharing import LOOKS_PER_LEASE, QUICK_LOOKS_PER_LEASE, Share
from jobledger.adapters.service.shards.touch import Touch
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.clock import SteadyClock
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.kinds import KINDS

SUM_UP_EVERY = timedelta(seconds=15)
COUNT_KEPT_EVERY = timedelta(seconds=60)
LOOK_AROUND_EVERY = timedelta(seconds=60)
SNAPSHOTS_EVERY = timedelta(seconds=15)
ASK_FOR_KINDS_EVERY = timedelta(seconds=5)
WITHDRAW_SECONDS_MAX = 3.0
"""How long the end of the service waits until its claim is withdrawn; it ends by itself as well."""
FRESH_LOOKS = 1.2
"""So many looks at the others ago the API server may have answered and still count as heard."""


@dataclass(frozen=True, slots=True)
class Service:
    """A controller with its HTTP server."""

    controller: Controller
    http: HttpServer
    alarms: SchedulerAlarms
    reports: ReportService | None = None
    """Carries on the tables behind the reporting views."""
    withdraw: Callable[[], None] = lambda: None
    """Withdraws the claim on the cluster's jobs."""

    def start(self) -> None:
        """Start everything; return at once."""
        self.http.start()
        self.controller.start()
        if self.reports is not None:
            self.reports.start(is_starting=lambda: not self.controller.takeover.is_whole)

    def stop(self) -> None:
        """Stop everything in order."""
        self.controller.stop()
        # Of an API server that does not answer it takes longer than a Pod has.
        withdrawing = threading.Thread(target=self.withdraw, name="withdraw", daemon=True)
        withdrawing.start()
        if self.reports is not None:
            self.reports.stop()
        self.http.stop()
        withdrawing.join(WITHDRAW_SECONDS_MAX)


@dataclass(frozen=True, slots=True)
class _Basis:
    """What almost every part of the service is built on."""

    settings: Settings
    opened: Ledger
    metrics: Metrics
    clock: SteadyClock
    clocks: Clocks
    actor: str
    cluster: KubernetesCluster
    watches: KubernetesWatches
    answering: Answering
    leases: LeaseKeeper
    mapper: ObservationMapper


def _basis(settings: Settings, opened: Ledger) -> _Basis:
    transport, clock = connect(cluster_connection(settings)), SteadyClock()
    metrics, only_records = Metrics(), settings.control == "nothing"
    actor = f"{settings.replica}/{uuid.uuid4().hex[:8]}"
    share = Share(opened.replicas, clock, actor, settings.lease_seconds)
    return _Basis(
        settings=settings,
        opened=opened,
        metrics=metrics,
        clock=clock,
        actor=actor,
        cluster=ReadOnlyCluster(transport) if only_records else KubernetesCluster(transport),
        clocks=clock_wiring.clocks_of(clock, opened.engine, transport),
        watches=KubernetesWatches(transport, clock=clock),
        answering=transport.answering,
        leases=LeaseKeeper(opened.leases, clock, actor, settings.lease_seconds, share),
        mapper=ObservationMapper(
            cluster=settings.cluster,
            policy=policy(settings),
            redaction_key=redaction_key(settings),
            control_policy=control_policy(
                settings, lambda *where: metrics.control_refused.labels(*where).set(1)
            ),
        ).knowing(*installations(settings)),
    )


def _assembled(basis: _Basis, alarms: SchedulerAlarms) -> Parts:
    settings, ray = basis.settings, RayJobApi(call_seconds=basis.settings.ray_timeout_seconds)
    ports = ServicePorts(
        store=basis.opened.store,
        history=basis.opened.history,
        cluster=basis.cluster,
        watches=basis.watches,
        ray=ray,
        clock=basis.clock,
        leases=basis.leases,
        alarms=alarms,
        snapshots=basis.opened.snapshots,
        ends=LogStreams(streams_max=settings.log_streams_max)
        if settings.log_streams_max > 0
        else None,
    )
    options = ServiceOptions(
        actor=basis.actor,
        mapper=basis.mapper,
        metrics=basis.metrics,
        poll_seconds=settings.poll_interval_seconds,
        pollers=settings.pollers,
        workers=settings.workers,
        kinds=adapters(settings.job_kinds),
        namespaces=settings.namespaces,
        job_events_per_hour=settings.job_events_per_hour,
    )
    hooks = ServiceHooks(
        stopping=threading.Event(),
        capturer=partial(forensic_wiring.capturer, settings, basis.opened.evidence, basis.cluster),
        announce=lambda announce, live: announcing(
            announce, KubeRayMetrics(basis.metrics.registry, live)
        ),
        watch_troubles=partial(_cluster_troubles, basis),
    )
    return assemble(ports, options, hooks)


def _cluster_troubles(basis: _Basis) -> list[str]:
    """Return why what happens in the cluster is not seen, or cannot be acted on."""
    return sorted({*basis.watches.troubles(), basis.answering.trouble()} - {""})


def _share_work(basis: _Basis, controller: Controller, alarms: SchedulerAlarms) -> None:
    """Add the duties by which this replica keeps its share of the work."""
    settings, leases, metrics = basis.settings, basis.leases, basis.metrics
    share = leases.share
    assert share is not None, "the service has one"
    look_every = settings.lease_seconds / LOOKS_PER_LEASE
    kind = KINDS[settings.job_kinds[0]].resource
    touch = Touch(basis.cluster, basis.clock, kind, settings.namespaces)
    touch.is_needed = lambda: not share.is_alone
    share.hears = lambda: (
        controller.knows_all()
        and not basis.clocks.is_ours_off
        and (share.is_alone or touch.answered_within(look_every * FRESH_LOOKS))
    )
    quickly = timedelta(seconds=settings.lease_seconds / QUICK_LOOKS_PER_LEASE)
    alarms.add_duty("keep leases", controller.keep_leases, quickly)
    alarms.add_duty("touch the API server", touch.ask, timedelta(seconds=look_every))
    metrics.shards.set_function(lambda: len(leases.held()))
    metrics.shards_worked_on.set_function(lambda: len(leases.shards()))
    metrics.replicas.set_function(lambda: share.replicas)


def service(settings: Settings, opened: Ledger) -> Service:
    """Return the long-running service on an opened ledger; nothing is started yet."""
    opened = of_cluster(opened, settings.cluster)
    basis = _basis(settings, opened)
    clocks = basis.clocks
    alarms = SchedulerAlarms(opened.pending, basis.clock, basis.leases.shards, clocks.holds)
    clock_wiring.keep_comparing(clocks, alarms, basis.metrics)
    basis.answering.is_told = True
    basis.metrics.api_server_up.set_function(lambda: float(not basis.answering.trouble()))
    parts = _assembled(basis, alarms)
    controller = parts.controller
    _share_work(basis, controller, alarms)
    claiming = claim_wiring.claiming(settings, opened, basis.cluster, basis.clock, basis.actor)
    claim = claim_wiring.keep_claim(claiming, basis.leases, alarms, basis.metrics)
    alarms.add_duty("tell of watches", basis.watches.tell_troubles, TELL_EVERY)
    alarms.add_duty("sum up confirmations", controller.sum_up, SUM_UP_EVERY)
    count_kept = partial(
        count_kept_clusters, opened.history, basis.leases, basis.metrics, settings.cluster
    )
    alarms.add_duty("count kept RayClusters", count_kept, COUNT_KEPT_EVERY)
    alarms.add_duty("look around", controller.look_around, LOOK_AROUND_EVERY)
    alarms.add_duty("ask for kinds", controller.kinds.ask_for_unwatched, ASK_FOR_KINDS_EVERY)
    alarms.add_duty("keep snapshots", parts.keep_snapshots, SNAPSHOTS_EVERY)
    forensic_wiring.keep_house(opened, alarms, basis.clock.now)
    if settings.seal_every_seconds:
        seal_every = timedelta(seconds=settings.seal_every_seconds)
        sealing = forensic_wiring.SealingDuty(
            settings, opened.engine, basis.metrics.seals_sound.set, basis.clock.now
        )
        alarms.add_duty("seal the log", sealing.seal, seal_every)
    notes = clock_wiring.notes_of(basis.mapper.control_policy, clocks)
    standing = Standing(
        is_alive=controller.is_alive,
        waits_for=lambda: [*controller.waits_for(), *claim.waits_for()],
        troubles=lambda: sorted({*controller.troubles(), *claim.troubles()}),
        notes=lambda: [
            *notes(),
            *controller.kinds.notes(),
            *controller.holding.words(),
            *claim.notes(),
        ],
        registry=basis.metrics.registry,
    )
    health = health_app(
        standing.is_alive,
        standing.waits_for,
        standing.registry,
        standing.troubles,
        standing.notes,
    )
    pages = page_parts(opened, standing)
    app = forensic_wiring.with_api_if_allowed(health, pages, settings, lambda: basis.cluster)
    http = HttpServer(app, settings.host, settings.port)
    return Service(controller, http, alarms, _reports(basis), claim.withdraw)


def _reports(basis: _Basis) -> ReportService | None:
    """Return what carries on the reporting tables; None if the settings want none."""
    if not basis.settings.reports:
        return None
    return report_service(basis.settings, basis.opened, basis.metrics.tell_report_lag)
