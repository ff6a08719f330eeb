"""The load and what is below the controller, for TrainJobs: JobSets that start, run and complete.

Nothing is started: the statuses that a JobSet controller would write are written after the times
that its Jobs would take. It notes how soon the controller reacts to each of them.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bench.simulated_plane import Later
from jobledger.core.ports.cluster import JOBSETS, TRAINJOBS, Cluster, ObjectListener, Watches
from jobledger.core.values.documents import Json, Manifest, items, number, text
from jobledger.core.values.instants import Instant, rfc3339

READY_SECONDS, RUN_SECONDS = 0.3, 0.5
"""From a new JobSet until it is ready, and from there until it is complete."""

CREATORS = 4
NAMESPACE = "default"
BUILT = "created -> its JobSet exists"
COUNTED = "JobSet ready -> jobsStatus shows it"
ENDED = "JobSet complete -> condition Complete"


@dataclass(slots=True)
class Watched:
    """One TrainJob as a bystander sees it; instants are monotonic seconds."""

    created: float
    has_jobset: bool = False
    ready: float = 0.0
    completed: float = 0.0
    is_counted: bool = False
    is_over: bool = False


@dataclass(slots=True)
class Ledger:
    """Reaction times in seconds, and every TrainJob by name. `lock` guards all of it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    jobs: dict[str, Watched] = field(default_factory=dict)
    reactions: dict[str, list[float]] = field(default_factory=dict)
    finished: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def note(self, what: str, since: float) -> None:
        """Take note of a reaction; with the lock held."""
        self.reactions.setdefault(what, []).append(time.monotonic() - since)


class _Listener(ObjectListener):
    """Takes objects of one kind as they come."""

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Take an object as it is."""
        raise NotImplementedError

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Nothing goes here."""

    def synced(self, at: Instant) -> None:
        """Nothing to do."""

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """The list that follows tells all that matters."""


class JobSets(_Listener):
    """Plays the JobSet controller."""

    def __init__(self, cluster: Cluster, ledger: Ledger, later: Later) -> None:
        self._cluster, self._ledger, self._later = cluster, ledger, later

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Begin to run a JobSet that is new."""
        del at
        name = text(manifest, "metadata", "name")
        with self._ledger.lock:
            job = self._ledger.jobs.get(name)
            if job is None or job.has_jobset:
                return
            job.has_jobset = True
            self._ledger.note(BUILT, job.created)
        self._later.do(READY_SECONDS, lambda: self._get_ready(name))

    def _get_ready(self, name: str) -> None:
        with self._ledger.lock:
            self._ledger.jobs[name].ready = time.monotonic()
        self._write(name, {"replicatedJobsStatus": [_counters(active=1, ready=1)]})
        self._later.do(RUN_SECONDS, lambda: self._complete(name))

    def _complete(self, name: str) -> None:
        condition: Json = {
            "type": "Completed",
            "status": "True",
            "reason": "AllJobsCompleted",
            "message": "jobset completed successfully",
            "lastTransitionTime": rfc3339(datetime.now(UTC)),
        }
        with self._ledger.lock:
            self._ledger.jobs[name].completed = time.monotonic()
        self._write(
            name,
            {
                "replicatedJobsStatus": [_counters(succeeded=1)],
                "conditions": [condition],
                "terminalState": "Completed",
            },
        )

    def _write(self, name: str, status: Manifest) -> None:
        self._cluster.merge_patch(
            JOBSETS, NAMESPACE, name, {"status": status}, subresource="status"
        )


class TrainJobs(_Listener):
    """Watches what the controller shows."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Take note of the first time that something is shown."""
        del at
        with self._ledger.lock:
            job = self._ledger.jobs.get(text(manifest, "metadata", "name"))
            if job is None:
                return
            counts = next(iter(items(manifest, "status", "jobsStatus")), None)
            if job.ready and not job.is_counted and number(counts, "ready"):
                job.is_counted = True
                self._ledger.note(COUNTED, job.ready)
            if job.completed and not job.is_over and _is_complete(manifest):
                job.is_over = True
                self._ledger.note(ENDED, job.completed)
                self._ledger.finished.release()


def run_load(
    cluster: Cluster, watches: Watches, names: list[str], per_second: float, limit_seconds: float
) -> tuple[Ledger, int]:
    """Create a TrainJob per name and let it run; return what was noted, and how many ended.

    Args:
        cluster: the API server, as somebody who may do everything.
        watches: its watches.
        names: the TrainJobs; their runtime must be there.
        per_second: how quickly they are created; 0 for as quickly as may be.
        limit_seconds: how long all of it may take.
    """
    ledger = Ledger()
    with ExitStack() as stack:
        listeners = ((JOBSETS, JobSets(cluster, ledger, Later())), (TRAINJOBS, TrainJobs(ledger)))
        for resource, listener in listeners:
            stack.callback(watches.watch(resource, listener).stop)
        with ThreadPoolExecutor(CREATORS) as creators:
            for name in names:
                creators.submit(_create, cluster, ledger, name)
                time.sleep(1 / per_second if per_second else 0)
        until = time.monotonic() + limit_seconds
        ended = 0
        while ended < len(names) and time.monotonic() < until:
            ended += ledger.finished.acquire(timeout=1.0)
    return ledger, ended


def _create(cluster: Cluster, ledger: Ledger, name: str) -> None:
    with ledger.lock:
        ledger.jobs[name] = Watched(time.monotonic())
    cluster.create(
        TRAINJOBS,
        {
            "apiVersion": TRAINJOBS.api_version,
            "kind": TRAINJOBS.kind,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {
                "runtimeRef": {"name": "torch-distributed"},
                "trainer": {"numNodes": 2, "command": ["python", "train.py"]},
            },
        },
    )


def _counters(**counts: int) -> Json:
    nought = dict.fromkeys(("active", "failed", "ready", "succeeded", "suspended"), 0)
    return {"name": "node", **nought, **counts}


def _is_complete(manifest: Manifest) -> bool:
    return any(
        text(one, "type") == "Complete" and text(one, "status") == "True"
        for one in items(manifest, "status", "conditions")
    )
