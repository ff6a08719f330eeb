"""Lets a controller do its work on RayJobs, on a real API server, and counts what that took."""

import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bench import dataplane
from bench.controllers import PROXY, Running, Start
from bench.dataplane import Outcome
from bench.figures import Report
from bench.machine import tree_cpu_seconds
from bench.real_cluster import CLUSTER, LOADS_OWN, READS, SERVICE, RealCluster, Requests

PER_SECOND = 3
HOLD_SECONDS = 1_200
RUNNING_LIMIT_SECONDS = 1_100.0
WATCHED_SECONDS = 20.0
"""How long the controller is watched while all of them run."""

WARM_UP = 10
MODES = ("K8sJobMode", "HTTPMode")


@dataclass(frozen=True, slots=True)
class Size:
    """How many RayJobs of each shape of load."""

    at_once: int
    steady: int
    running: int


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds and requests so far."""

    cpu: dict[str, float]
    requests: Requests


@dataclass(slots=True)
class Rig:
    """One controller on one API server."""

    report: Report
    cluster: RealCluster
    program: Path
    """The load."""
    name: str
    """Whose controller it is."""
    figures: dict[str, tuple[float, str]] = field(default_factory=dict)
    """What was found: name -> value and unit."""

    def measure(self, start: Start, size: Size) -> None:
        """Measure many RayJobs at once, few per second in both modes, and many that run."""
        with start(self.cluster) as controller:
            self._warm_up(controller)
            self._at_once(controller, size.at_once)
            for mode in MODES:
                name = f"{PER_SECOND} per second, {mode}"
                self._measured(controller, name, size.steady, rate=PER_SECOND, mode=mode)
        with start(self.cluster) as controller:
            self._warm_up(controller)
            self._running(controller, size.running)

    def _say(self, text: str) -> None:
        self.report.say(f"{self.name}: {text}")

    def _figure(self, name: str, value: float, unit: str) -> None:
        self.figures[name] = (value, unit)

    def _warm_up(self, controller: Running) -> None:
        """Let some RayJobs pass unmeasured."""
        self._say(f"warming up with {WARM_UP} RayJobs")
        self._load(controller, jobs=WARM_UP).finish()
        self.cluster.wait_until_quiet()

    def _at_once(self, controller: Running, count: int) -> None:
        """Measure so many RayJobs, created as quickly as the API server takes them."""
        before = controller.resident_kb()
        name = f"{count:,} at once"
        outcome = self._measured(controller, name, count, rate=100.0)
        self._figure(f"{name}: throughput", outcome.done / outcome.seconds, "jobs/s")
        self._figure(f"{name}: memory, before", before / 1.024 / 1024, "MiB")
        self._figure(f"{name}: memory, peak", outcome.peak_mib, "MiB")

    def _running(self, controller: Running, count: int) -> None:
        """Measure what many running RayJobs take: memory, and the asking how they fare."""
        name = f"{count:,} running"
        before = controller.resident_kb()
        self._say(f"{name}: creating them")
        hold = {"fail": 0, "backoff": 0, "hold": f"{HOLD_SECONDS}s"}
        load = self._load(controller, jobs=count, rate=100.0, **hold)
        until = time.monotonic() + RUNNING_LIMIT_SECONDS
        while load.states.get("Running", 0) < count and time.monotonic() < until:
            time.sleep(0.5)
        self._figure(f"{name}: seen running", load.states.get("Running", 0), f"of {count:,}")
        began, cpu = time.monotonic(), controller.cpu_seconds()
        time.sleep(WATCHED_SECONDS)
        cores = (controller.cpu_seconds() - cpu) / (time.monotonic() - began)
        after = controller.resident_kb()
        load.kill()
        self._figure(f"{name}: memory", after / 1.024 / 1024, "MiB")
        self._figure(f"{name}: memory per running job", (after - before) / count, "kB")
        self._figure(f"{name}: CPU of the controller", cores, "cores")

    def _load(self, controller: Running, **options: object) -> dataplane.Load:
        return dataplane.start(
            self.program,
            server=self.cluster.url,
            token=self.cluster.admin_token,
            proxy=PROXY,
            pid=controller.pid,
            limit="20m",
            **options,
        )

    def _measured(self, controller: Running, name: str, count: int, **options: object) -> Outcome:
        """Let a load run to its end, and until nothing is left to do; note what it cost."""
        self._say(name)
        before = self._spent(controller)
        outcome = self._load(controller, jobs=count, **options).finish()
        self.cluster.wait_until_quiet()
        after = self._spent(controller)
        self._figure(f"{name}: complete", outcome.done, f"of {count:,}")
        self._figure(f"{name}: violations", outcome.violations, "")
        for reaction in outcome.reactions:
            self._figure(f"{name}: {reaction.what} p50", reaction.p50, "ms")
            self._figure(f"{name}: {reaction.what} p99", reaction.p99, "ms")
        if outcome.polls:
            self._figure(f"{name}: questions to heads", outcome.polls / count, "per job")
        self._costs(name, count, before, after)
        return outcome

    def _costs(self, name: str, count: int, before: Spent, after: Spent) -> None:
        """Note what each job cost, in CPU and in requests of the controller."""
        for who, seconds in after.cpu.items():
            spent = (seconds - before.cpu[who]) / count * 1e3
            self._figure(f"{name}: CPU of {who}", spent, "ms per job")
        asked: Counter[tuple[str, str]] = Counter()
        refused = 0
        for (verb, resource, code), number in (after.requests - before.requests).items():
            if (verb, resource) not in LOADS_OWN and verb != "WATCH":
                asked[verb, resource] += number
                refused += number if code >= "400" else 0
        asked[SERVICE] = max(0, asked[SERVICE] - asked[CLUSTER])
        self._figure(f"{name}: requests", asked.total() / count, "per job")
        for (verb, resource), number in sorted(asked.items()):
            self._figure(f"{name}: {verb} {resource}", number / count, "per job")
        self._figure(f"{name}: of these refused", refused / count, "per job")
        reads = sum(number for (verb, _), number in asked.items() if verb in READS)
        self._figure(f"{name}: of these reads", reads / count, "per job")

    def _spent(self, controller: Running) -> Spent:
        cpu = {
            "the controller": controller.cpu_seconds(),
            "the API server": tree_cpu_seconds(self.cluster.pid("kube-apiserver")),
            "etcd": tree_cpu_seconds(self.cluster.pid("etcd")),
        }
        if controller.database:
            cpu["Postgres"] = tree_cpu_seconds(controller.database)
        return Spent(cpu, self.cluster.requests())
