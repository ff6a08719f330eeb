"""What is below the controller, simulated: RayClusters get ready, entrypoints run, submitters end.

Nothing is started: statuses are written after the times that the user of a cluster would wait. It
plays the part, and takes the times, of the Go program that upstream's operator was measured with.
"""

import functools
import heapq
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime

from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, Cluster, Resource
from jobledger.core.rayjob.observations.children import owner_uid
from jobledger.core.values.documents import Json, Manifest, items, text
from jobledger.core.values.instants import Instant, rfc3339

FAILING_ATTEMPTS = 1
WRITERS = 4


@dataclass(slots=True)
class Watched:
    """One RayJob as a bystander sees it; instants are monotonic seconds."""

    created: float
    clusters: list[str] = field(default_factory=list)
    ready: float = 0.0
    ended: float = 0.0
    gone: float = 0.0
    phase: str = ""


class Ledger:
    """Reaction times, and every RayJob. `lock` guards all of it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.jobs: dict[str, Watched] = {}
        """RayJobs by UID; by name while they are being created."""
        self.reactions: dict[str, list[float]] = {}
        self.started: dict[str, float] = {}
        """RayCluster -> when its entrypoint began."""
        self.attempts: dict[str, int] = {}
        """RayCluster -> which attempt it is."""
        self.finished = threading.Semaphore(0)
        self.phases: list[str] = []
        """How RayJobs ended."""

    def note(self, what: str, since: float) -> None:
        """Take note of a reaction; with the lock held."""
        self.reactions.setdefault(what, []).append(time.monotonic() - since)


class Later:
    """Does things after a while, a few at a time."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._pool = ThreadPoolExecutor(WRITERS)
        threading.Thread(target=self._run, name="later", daemon=True).start()

    def do(self, seconds: float, work: Callable[[], None]) -> None:
        """Do some work after so many seconds."""
        with self._changed:
            entry = (time.monotonic() + seconds, next(self._numbers), work)
            heapq.heappush(self._queue, entry)
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._queue or self._queue[0][0] > time.monotonic():
                    wait = self._queue[0][0] - time.monotonic() if self._queue else None
                    self._changed.wait(None if wait is None else max(0.0, wait))
                _, _, work = heapq.heappop(self._queue)
            self._pool.submit(work)


@dataclass(frozen=True, slots=True)
class Plane:
    """Everything that the listeners share."""

    cluster: Cluster
    ledger: Ledger
    later: Later
    ready_seconds: float
    run_seconds: float

    def get_ready(self, namespace: str, name: str, uid: str) -> None:
        """Write that a RayCluster is ready."""
        with self.ledger.lock:
            self.ledger.jobs[uid].ready = time.monotonic()
        head: dict[str, Json] = {"podIP": "10.1.1.1", "serviceName": f"{name}-head-svc"}
        self._write(RAYCLUSTERS, namespace, name, {"state": "ready", "head": head})

    def end(self, namespace: str, name: str, uid: str, *, failed: bool) -> None:
        """Write that a submitter has ended."""
        now = rfc3339(datetime.now(UTC))
        kinds = ("FailureTarget", "Failed") if failed else ("SuccessCriteriaMet", "Complete")
        status: dict[str, Json] = {
            "startTime": now,
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": now, "reason": "Simulated"}
                for kind in kinds
            ],
        }
        with self.ledger.lock:
            self.ledger.jobs[uid].ended = time.monotonic()
        self._write(BATCH_JOBS, namespace, name, status)

    def _write(self, resource: Resource, namespace: str, name: str, status: Manifest) -> None:
        self.cluster.merge_patch(
            resource, namespace, name, {"status": status}, subresource="status"
        )


class _Quiet:
    """What a listener need not care about."""

    def synced(self, at: Instant) -> None:
        """Do nothing."""

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Do nothing."""


class JobWatcher(_Quiet):
    """Sees the phases of RayJobs."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Take note of a phase that was not seen before."""
        del at
        phase, uid = (
            text(manifest, "status", "jobDeploymentStatus"),
            text(manifest, "metadata", "uid"),
        )
        with self._ledger.lock:
            job = _job(self._ledger, uid, text(manifest, "metadata", "name"))
            if job is None or job.phase == phase:
                return
            job.phase = phase
            if phase == "Retrying":
                self._ledger.note("submitter ended → status Retrying", job.ended)
            if phase in ("Complete", "Failed"):
                self._ledger.note(f"submitter ended → status {phase}", job.ended)
                self._ledger.note("created → ended", job.created)
                self._ledger.phases.append(phase)
                self._ledger.finished.release()

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Do nothing: no RayJob is deleted."""


def _job(ledger: Ledger, uid: str, name: str) -> Watched | None:
    """Return a RayJob, from the first sight on under its UID."""
    if uid not in ledger.jobs and name in ledger.jobs:
        ledger.jobs[uid] = ledger.jobs.pop(name)
    return ledger.jobs.get(uid)


class ClusterWatcher(_Quiet):
    """Lets RayClusters get ready."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Let a new one get ready after a while."""
        del at
        name, uid, ledger = (
            text(manifest, "metadata", "name"),
            owner_uid(manifest),
            self._plane.ledger,
        )
        namespace = text(manifest, "metadata", "namespace")
        owner = _owner_name(manifest)
        with ledger.lock:
            job = _job(ledger, uid, owner)
            if job is None or name in job.clusters:
                return
            job.clusters.append(name)
            ledger.attempts[name] = len(job.clusters)
            if len(job.clusters) == 1:
                ledger.note("created → first RayCluster exists", job.created)
            else:
                ledger.note("old RayCluster gone → next exists", job.gone)
        work = functools.partial(self._plane.get_ready, namespace, name, uid)
        self._plane.later.do(self._plane.ready_seconds, work)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Take note of when it went."""
        del at
        with self._plane.ledger.lock:
            job = self._plane.ledger.jobs.get(owner_uid(manifest))
            if job is not None:
                job.gone = time.monotonic()


def _owner_name(manifest: Manifest) -> str:
    owners = items(manifest, "metadata", "ownerReferences")
    return text(owners[0], "name") if owners else ""


class SubmitterWatcher(_Quiet):
    """Lets entrypoints run and submitters end."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._known: set[str] = set()

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Let the entrypoint of a new one run for a while."""
        del at
        own, uid, ledger = (
            text(manifest, "metadata", "uid"),
            owner_uid(manifest),
            self._plane.ledger,
        )
        namespace, name = (
            text(manifest, "metadata", "namespace"),
            text(manifest, "metadata", "name"),
        )
        with ledger.lock:
            job = ledger.jobs.get(uid)
            if job is None or own in self._known:
                return
            self._known.add(own)
            ledger.note("RayCluster ready → submitter exists", job.ready)
            ledger.started[job.clusters[-1]] = time.monotonic()
            failed = len(job.clusters) <= FAILING_ATTEMPTS
        work = functools.partial(self._plane.end, namespace, name, uid, failed=failed)
        self._plane.later.do(self._plane.run_seconds, work)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Do nothing: the controller deletes them."""
