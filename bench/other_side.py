"""The process beside the controller's: the sandbox's API, what is below it, and the load.

A process of its own, so that the controller's CPU can be told from that of everything else. Reads
one JSON line per order on standard input, `{"jobs": 200, "per_second": 0}`, and answers with one.
"""

import json
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from bench.manifests import small_rayjob
from bench.simulated_heads import Heads
from bench.simulated_plane import (
    ClusterWatcher,
    JobWatcher,
    Later,
    Ledger,
    Plane,
    SubmitterWatcher,
    Watched,
)
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, RAYJOBS
from jobledger.sandbox.api_server import SandboxApi
from jobledger.sandbox.faults import Fault, Faults

READY_SECONDS, RUN_SECONDS = 0.3, 0.5
"""As the figures of upstream's operator were measured with."""

CREATORS = 4
LIMIT_SECONDS = 600.0
QUIET_SECONDS = 1.5
"""Nothing has been asked for so long: the load is over."""

OURS = frozenset({("POST", "rayjobs"), ("PATCH", "rayclusters/status"), ("PATCH", "jobs/status")})
"""Requests that only this side makes."""


class Counting(Faults):
    """No faults; counts the requests instead."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: Counter[tuple[str, str]] = Counter()

    def take(self, method: str, path: str) -> Fault | None:
        """Count a request."""
        parts = path.strip("/").split("/")
        if "namespaces" in parts:
            parts = parts[parts.index("namespaces") + 2 :]
        elif parts[0] in ("api", "apis"):
            parts = parts[2 if parts[0] == "api" else 3 :]
        resource = "/".join([*parts[:1], *parts[2:]]) or "others"
        self.counted[method, resource] += 1
        return super().take(method, path)


class OtherSide:
    """Everything that is running here."""

    def __init__(self) -> None:
        self.faults = Counting()
        self.api = SandboxApi(faults=self.faults)
        self.api.start()
        transport = connect(ConnectionSettings(host=self.api.url, connections=16), {})
        self.cluster = KubernetesCluster(transport, field_manager="bench")
        self.ledger = Ledger()
        self.heads = Heads(self.ledger, RUN_SECONDS)
        plane = Plane(self.cluster, self.ledger, Later(), READY_SECONDS, RUN_SECONDS)
        watches = KubernetesWatches(transport)
        watches.watch(RAYJOBS, JobWatcher(self.ledger))
        watches.watch(RAYCLUSTERS, ClusterWatcher(plane))
        watches.watch(BATCH_JOBS, SubmitterWatcher(plane))
        self._numbers = iter(range(1_000_000_000))

    def carry_out(self, order: dict[str, float]) -> dict[str, object]:
        """Create RayJobs, at once or so many per second; return what became of them."""
        count, per_second = int(order["jobs"]), order["per_second"]
        with self.ledger.lock:
            self.ledger.reactions.clear()
            self.ledger.phases.clear()
        self.faults.counted.clear()
        polls, began = self.heads.polls, time.monotonic()
        threading.Thread(target=self._create, args=(count, per_second), daemon=True).start()
        for _ in range(count):
            if not self.ledger.finished.acquire(timeout=LIMIT_SECONDS):
                break
        seconds = time.monotonic() - began
        self._rest()
        counted = dict(self.faults.counted)
        with self.ledger.lock:
            return {
                "seconds": seconds,
                "seconds_until_quiet": time.monotonic() - began - QUIET_SECONDS,
                "phases": dict(Counter(self.ledger.phases)),
                "reactions": dict(self.ledger.reactions),
                "requests": {
                    f"{method} {resource}": number
                    for (method, resource), number in sorted(counted.items())
                    if (method, resource) not in OURS
                },
                "polls": self.heads.polls - polls,
            }

    def _rest(self) -> None:
        """Wait until nobody asks for anything any more: what was left to do belongs to the jobs."""
        until, last = time.monotonic() + LIMIT_SECONDS, -1
        while (now := self.faults.counted.total()) != last and time.monotonic() < until:
            last = now
            time.sleep(QUIET_SECONDS)

    def _create(self, count: int, per_second: float) -> None:
        began = time.monotonic()
        with ThreadPoolExecutor(CREATORS) as pool:
            for number in range(count):
                if per_second:
                    time.sleep(max(0.0, began + number / per_second - time.monotonic()))
                name = f"train-{next(self._numbers):05}"
                pool.submit(self._create_one, name)

    def _create_one(self, name: str) -> None:
        with self.ledger.lock:
            self.ledger.jobs[name] = Watched(time.monotonic())
        self.cluster.create(RAYJOBS, small_rayjob(name))


def main() -> None:
    """Say where everything is, then carry out orders until there are no more."""
    side = OtherSide()
    _say({"url": side.api.url, "proxy": side.heads.url})
    for line in sys.stdin:
        _say(side.carry_out(json.loads(line)))
    side.heads.stop()
    side.api.stop()


def _say(document: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
