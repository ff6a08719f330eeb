"""Claims namespaces, detects another ledger's claim, and stops acting beside it.

Each run keeps a claim in one namespace of the cluster and reads those of others. Whoever is no
replica of the own ledger, is alive and would control the same jobs is a rival; what follows is the
rule in `core.claims.rule`. A run that the list of replicas names but whose claim is of another
database is waited for without being called a rival: it has yet to follow a failover, or it goes on
beside a promoted copy of its ledger, and then it leaves the list. A claim of another database
counts as alive until it was silent for its whole duration, by the own clock; one of the same
database (an earlier run or a replica that was killed leaves one) only once it was seen to be
renewed while the list of replicas did not name its run.
"""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import timedelta

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.claims.leases import SELECTOR, claim_of, duration_of, manifest_of
from jobledger.core.claims.rule import Claim, Standing, is_replica, kinship, overlap, stand
from jobledger.core.errors import ClusterError, LedgerError, ObjectNotFound, RequestForbidden
from jobledger.core.jobs.retries.backoff import doubled
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import KUBERNETES_EVENTS, LEASES, Cluster
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

LOOKS_PER_DURATION = 3
PAUSE_FIRST_SECONDS = 0.5
"""Pause after a look that failed; it doubles, up to the pause between looks that succeed."""
MARGIN_SECONDS = 1.0
"""How long before the end of its claim a run stops acting."""

FORGOTTEN_SECONDS = 3600.0
"""After this long without being renewed somebody's claim is removed."""

WHAT_TO_DO = "stop all but one: jobs are controlled by the ledger that acts, and by no other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledgers:
    """What a run knows of its own ledger; each may raise `LedgerError`."""

    database: Callable[[], str]
    log: Callable[[], tuple[str, int]]
    """Its first link, and how long it is."""
    replicas: Callable[[], Collection[str]]
    """Owners of all runs that serve the cluster on it now."""
    runs: Callable[[], Collection[str]]
    """Owners of all runs that work on it now, under whatever name of a cluster."""


@dataclass(slots=True)
class _Sighting:
    version: str
    at: float
    is_renewed: bool = False
    is_of_replica: bool = False
    """Whether the list of replicas has named its run since: it was written by one of ours."""


class Claiming:
    """The claim of this run. One thread looks, any asks."""

    def __init__(
        self,
        cluster: Cluster,
        ledgers: Ledgers,
        clock: Clock,
        claim: Claim,
        *,
        seconds: float,
        namespace: str,
    ) -> None:
        """Take the claim as it begins (its name follows from the owner), and where it is kept."""
        self.namespace = namespace
        self._cluster, self._ledgers, self._clock = cluster, ledgers, clock
        self._seconds = seconds
        mark = hashlib.sha256(f"{claim.owner}\x1f{claim.since}".encode()).hexdigest()[:16]
        self._claim = replace(claim, name=f"jobledger-{mark}")
        self._seen: dict[str, _Sighting] = {}
        self._trusted_until = float("-inf")
        self._looked = float("-inf")
        self._not_renewed = Repeated(log, "claim_not_renewed", clock.monotonic)
        self._failures = 0
        """How many looks have failed since the last that did not."""
        self._rivals: tuple[Claim, ...] = ()
        self._is_unguarded = False
        self.trouble = ""
        """Why no claim can be kept, so that another ledger would not be noticed; empty: one can."""
        self.unheard = ""
        """What the API server said to the last look instead of an answer; empty: it answered."""

    def allows(self) -> bool:
        """Return whether this run may control jobs."""
        if self._is_unguarded:
            return True
        is_trusted = self._clock.monotonic() < self._trusted_until
        return self._claim.standing is Standing.ACTING and is_trusted

    @property
    def rivals(self) -> int:
        """Return how many runs on other ledgers would control the same jobs."""
        return len(self._rivals)

    def waits_for(self) -> list[str]:
        """Return why this run does not control jobs; empty if it does."""
        if self.allows():
            return []
        if self._rivals and self._claim.standing is Standing.WAITING:
            return [f"another ledger controls jobs of this one: {self._told()}; {WHAT_TO_DO}"]
        return ["it is not known whether another ledger controls these jobs"]

    def notes(self) -> list[str]:
        """Return what somebody should know although jobs are controlled."""
        if self._is_unguarded:
            return [f"another ledger on this cluster would not be noticed: {self.trouble}"]
        if self._rivals and self.allows():
            return [f"another ledger is to control jobs of this one: {self._told()}; {WHAT_TO_DO}"]
        return []

    def look(self) -> None:
        """Carry out the duty of renewing the claim and looking at others, when it is time to."""
        now = self._clock.monotonic()
        if now - self._looked < self._pause():
            return
        self._looked = now
        self._failures += 1
        unheard = ""
        try:
            while self._step():
                pass
            self._failures = 0
            self._not_renewed.over()
        except LedgerError as error:  # not renewed: whoever has a ledger that answers may act
            self._not_renewed.warn(error)
        except (RequestForbidden, ObjectNotFound) as error:
            self._go_unguarded(error)
        except ClusterError as error:
            unheard = str(error)
            self._not_renewed.warn(error)
        self.unheard = unheard

    def _pause(self) -> float:
        """Return how long after a look the next is due.

        A look that fails is repeated after a pause that grows, never more often in the end than one
        that succeeds: an API server or a ledger that refuses is not asked anew at every tick.
        """
        settled = self._seconds / LOOKS_PER_DURATION
        if self.allows() or self._claim.standing is Standing.WAITING:
            return settled
        if not self._failures:
            return 0.0
        first, longest = timedelta(seconds=PAUSE_FIRST_SECONDS), timedelta(seconds=settled)
        return doubled(first, self._failures - 1, longest).total_seconds()

    def leave(self) -> None:
        """Withdraw the claim, so that another ledger need not wait for its end."""
        self._trusted_until, self._is_unguarded = float("-inf"), False
        try:
            self._cluster.delete(LEASES, self.namespace, self._claim.name)
        except ClusterError as error:
            log.debug("claim_not_withdrawn", error=str(error))

    def _step(self) -> bool:
        """Write the claim, look at others; return whether what is to be said now is new."""
        asked = self._clock.monotonic()
        has_claimed = self._trusted_until > float("-inf")
        if has_claimed and self._claim.owner not in self._ledgers.replicas():
            return False  # it was paused: the others of this ledger would take it for a rival
        origin, position = self._ledgers.log()
        database = self._ledgers.database()
        mine = replace(self._claim, database=database, origin=origin, position=position)
        now = self._clock.now()
        manifest = manifest_of(mine, self.namespace, round(self._seconds), now)
        self._cluster.apply(LEASES, manifest, field_manager="jobledger", force=True)
        found = self._cluster.list(LEASES, self.namespace, SELECTOR).items
        # After the claims: a replica is on the list before it claims.
        runs, replicas = {*self._ledgers.runs()}, self._ledgers.replicas()
        elsewhere = runs.difference(replicas)
        alive = [one for one in self._alive(mine, found, replicas, elsewhere) if overlap(mine, one)]
        others = [one for one in alive if not is_replica(mine, one, replicas)]
        before = mine.standing
        standing = stand(mine, others)
        if self._claim.standing is Standing.ACTING and asked >= self._trusted_until:
            standing = stand(replace(mine, standing=Standing.CLAIMING), others)
        rivals = tuple(one for one in others if one.owner not in replicas)
        self._claim = replace(mine, standing=standing)
        self._is_unguarded, self.trouble = False, ""
        self._trusted_until = asked + self._seconds - MARGIN_SECONDS
        self._tell(rivals, now)
        return standing is not before

    def _alive(
        self,
        mine: Claim,
        found: Collection[Manifest],
        replicas: Collection[str],
        elsewhere: Collection[str],
    ) -> list[Claim]:
        """Return the claims of others that are alive, and remove those long silent."""
        now = self._clock.monotonic()
        alive, there = [], {}
        for manifest in found:
            claim, version = claim_of(manifest), text(manifest, "metadata", "resourceVersion")
            if claim.name == mine.name:
                continue
            last = self._seen.get(claim.name)
            if last is None:
                last = _Sighting(version, now)
            elif last.version != version:
                last = _Sighting(version, now, is_renewed=True)
            there[claim.name] = last
            silent = now - last.at
            last.is_of_replica |= is_replica(mine, claim, replicas)
            is_left = last.is_of_replica and claim.owner not in replicas
            is_other = claim.database != mine.database or claim.owner in elsewhere
            is_shown = is_other or (last.is_renewed and not is_left)
            if is_shown and silent < duration_of(manifest):
                alive.append(claim)
            elif silent > FORGOTTEN_SECONDS:
                uid = text(manifest, "metadata", "uid")
                self._cluster.delete(LEASES, self.namespace, claim.name, uid=uid)
        self._seen = there
        return alive

    def _go_unguarded(self, error: ClusterError) -> None:
        """Control jobs without a claim: as long as none could ever be kept, nobody waits for it."""
        if self._claim.standing is Standing.WAITING:
            self._not_renewed.warn(error)
            return
        if not self._is_unguarded:
            log.warning("claim_not_kept", namespace=self.namespace, error=str(error))
        self._is_unguarded, self.trouble = True, str(error)

    def _told(self) -> str:
        return "; ".join(
            f"{rival.owner} ({rival.standing.value} since {rival.since}, "
            f"{kinship(self._claim, rival)}, claim {self.namespace}/{rival.name})"
            for rival in self._rivals[:3]
        )

    def _tell(self, rivals: tuple[Claim, ...], now: Instant) -> None:
        """Say that another ledger came or went, in the service's log and by a Kubernetes Event."""
        before = {(one.name, one.standing) for one in self._rivals}
        self._rivals = rivals
        if {(one.name, one.standing) for one in rivals} == before:
            return
        if not rivals:
            log.info("no_other_ledger", acts=self.allows())
            return
        log.error("other_ledger", acts=self.allows(), others=self._told(), remedy=WHAT_TO_DO)
        try:
            self._cluster.create(KUBERNETES_EVENTS, self._event(now))
        except ClusterError as error:
            log.debug("kubernetes_event_refused", error=str(error))

    def _event(self, now: Instant) -> Manifest:
        what = "it goes on" if self.allows() else "it waits"
        at = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        suffix = hashlib.sha256(f"{at}{self._told()}".encode()).hexdigest()[:16]
        regarding: Manifest = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "namespace": self.namespace,
            "name": self._claim.name,
        }
        metadata: Manifest = {
            "namespace": self.namespace,
            "name": f"{self._claim.name}.{suffix}",
        }
        return {
            "apiVersion": KUBERNETES_EVENTS.api_version,
            "kind": "Event",
            "metadata": metadata,
            "eventTime": at,
            "reportingController": "jobledger.dev/controller",
            "reportingInstance": self._claim.owner[:128],
            "action": "Hold",
            "reason": "OtherLedger",
            "type": "Warning",
            "note": f"Another ledger would control the same jobs, {what}: {self._told()}"[:1000],
            "regarding": regarding,
        }
