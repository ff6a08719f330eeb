"""Connects `jobledger doctor` to a ledger, a cluster or both; reports what is out of reach."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from jobledger.adapters.cluster_wiring import cluster_connection
from jobledger.adapters.kinds.checks import wants
from jobledger.adapters.kube.checks.cluster import ClusterView
from jobledger.adapters.kube.checks.leaks import Objects
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import connect
from jobledger.adapters.kube.transport import Request, Transport
from jobledger.adapters.ledger_wiring import Ledger, ledger
from jobledger.adapters.postgres.checks.over_jobs import over_jobs
from jobledger.adapters.service.control.policies import control_policy
from jobledger.adapters.service.status.own_writes import OwnWrites
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import ClusterError, JobledgerError
from jobledger.core.forensics.findings import Finding, error, note


@dataclass(slots=True)
class Patient:
    """What there is to be looked at."""

    settings: Settings
    opened: Ledger | None = None
    transport: Transport | None = None
    unreachable: list[Finding] = field(default_factory=list)
    looked_at: list[str] = field(default_factory=list)
    """Which of the database (schema) and the cluster (api-server) were asked for."""


@contextmanager
def patient(settings: Settings, only: str) -> Iterator[Patient]:
    """Yield what can be reached: of the ledger and the cluster, or only one of them."""
    found = Patient(settings)
    with ExitStack() as stack:
        if only != "cluster":
            found.looked_at.append("schema")
            try:
                found.opened = stack.enter_context(ledger(settings))
            except JobledgerError as problem:
                remedy = "see that DATABASE_URL is right; `jobledger db upgrade` makes the schema"
                found.unreachable.append(error("schema", str(problem), remedy))
        if only != "database":
            found.looked_at.append("api-server")
            _reach_cluster(found, is_asked_for=only == "cluster" or bool(settings.kubeconfig))
        yield found


def _reach_cluster(found: Patient, *, is_asked_for: bool) -> None:
    try:
        transport = connect(cluster_connection(found.settings))
    except ClusterError as problem:  # there is no address of any
        remedy = "give a kubeconfig, or ask only the database: --only database"
        how = error if is_asked_for else note
        found.unreachable.append(how("api-server", str(problem), remedy))
        return
    try:
        transport.send(Request(method="GET", path="/version", about="the version"))
    except ClusterError as problem:
        remedy = "see that the API server can be reached from here, and with which credentials"
        found.unreachable.append(error("api-server", str(problem), remedy))
    else:
        found.transport = transport


def cluster_view(found: Patient) -> ClusterView:
    """Return the cluster, with what the settings want of it."""
    settings, transport = found.settings, found.transport
    assert transport is not None
    judge = control_policy(settings, lambda *_: None)
    if found.opened is not None:
        judge.is_own = OwnWrites(settings.cluster, found.opened.store).recognise
    return ClusterView(
        transport=transport,
        cluster=KubernetesCluster(transport),
        now=SystemClock().now,
        wants=wants(settings),
        refusal=judge.at_start,
        knows_own=found.opened is not None,
        claim_namespace=settings.claim_namespace,
        namespaces=settings.namespaces,
    )


def objects(found: Patient) -> Objects:
    """Return where objects are looked for, with what the ledger says of their jobs."""
    settings, transport, opened = found.settings, found.transport, found.opened
    assert transport is not None

    def over() -> dict[str, str]:
        if opened is None or settings.control == "nothing":
            return {}
        return over_jobs(opened.engine, settings.cluster)

    return Objects(
        cluster=KubernetesCluster(transport),
        namespaces=settings.namespaces,
        over=over,
        pause=time.sleep,
    )
