"""Composition root of claims: connects the ledger with the cluster that it controls."""

from dataclasses import dataclass
from datetime import timedelta

from jobledger.adapters.cluster_wiring import kubernetes_cluster
from jobledger.adapters.kube.checks import claims
from jobledger.adapters.ledger_wiring import Ledger
from jobledger.adapters.postgres.connection.statements import database_identity
from jobledger.adapters.scheduler.alarms import SchedulerAlarms
from jobledger.adapters.service.ledgers.claiming import LOOKS_PER_DURATION, Claiming, Ledgers
from jobledger.adapters.service.shards.leasing import LeaseKeeper
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.claims.rule import Claim, Standing
from jobledger.core.kinds import KINDS
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import Cluster
from jobledger.core.values.instants import Instant


def claiming(
    settings: Settings, opened: Ledger, cluster: Cluster, clock: Clock, owner: str
) -> Claiming | None:
    """Return who keeps the claim of a run; None of one that controls nothing."""
    claim = claim_of_run(settings, owner, clock)
    if settings.control == "nothing" or not claim.kinds:
        return None

    def of_log() -> tuple[str, int]:
        first = opened.store.read_after(0, 1)
        return first[0].record.chain.hex() if first else "", opened.store.last_position()

    ledgers = Ledgers(
        database=lambda: database_identity(opened.engine),
        log=of_log,
        replicas=lambda: {one.owner for one in opened.replicas.current()},
        runs=opened.replicas.alive,
    )
    return Claiming(
        cluster,
        ledgers,
        clock,
        claim,
        seconds=settings.lease_seconds,
        namespace=settings.claim_namespace,
    )


def claim_of_run(settings: Settings, owner: str, clock: Clock) -> Claim:
    """Return what a run claims: the jobs that its settings call for.

    With `namespaces` that is also every job that names this controller, wherever it looks; with
    `managed-by`, or no namespace to control, it is nothing else.
    """
    by_namespace = settings.control == "namespaces" and settings.control_namespaces != ()
    nameable = [kind for kind in settings.job_kinds if KINDS[kind].controller.named]
    by_name = settings.control in ("namespaces", "managed-by") and not by_namespace
    return Claim(
        name="",
        owner=owner,
        since=clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        standing=Standing.CLAIMING,
        database="",
        namespaces=settings.control_namespaces if by_namespace else settings.namespaces,
        kinds=tuple(nameable) if by_name else settings.job_kinds,
        named_in=settings.namespaces if by_namespace else None,
    )


def who_acts_instead(opened: Ledger, settings: Settings, now: Instant) -> str:
    """Return which other ledger controls jobs of the cluster; empty if none is known to.

    Raises:
        ClusterError, LedgerError: as the ports do.
    """
    cluster, database = kubernetes_cluster(settings), database_identity(opened.engine)
    return claims.who_acts_instead(cluster, settings.claim_namespace, database, now)


@dataclass(frozen=True, slots=True)
class Kept:
    """What the service asks of the claim that is kept; of none, if none is."""

    claim: Claiming | None

    def waits_for(self) -> list[str]:
        """Return why this run does not control jobs; empty if it does."""
        return self.claim.waits_for() if self.claim is not None else []

    def troubles(self) -> list[str]:
        """Return the error behind that, if the API server has said one."""
        return [self.claim.unheard] if self.claim is not None and self.claim.unheard else []

    def notes(self) -> list[str]:
        """Return what somebody should know although jobs are controlled."""
        return self.claim.notes() if self.claim is not None else []

    def withdraw(self) -> None:
        """Withdraw it."""
        if self.claim is not None:
            self.claim.leave()


def keep_claim(
    claim: Claiming | None, leases: LeaseKeeper, alarms: SchedulerAlarms, metrics: Metrics
) -> Kept:
    """Let nothing be done without the claim, and renew it from the start on."""
    if claim is not None:
        leases.allows = claim.allows
        every = timedelta(seconds=leases.seconds / LOOKS_PER_DURATION / LOOKS_PER_DURATION)
        alarms.add_duty("keep the claim", claim.look, every, at_once=True)
        metrics.other_ledgers.set_function(lambda: float(claim.rivals))
    return Kept(claim)
