"""RayJobs with one retry each on a real API server: what upstream's operator was measured with.

The controller is `jobledger run` as a process of its own, on a durable Postgres; the load and
everything below the controller is the Go program that upstream's figures were taken with. All of
it shares the cores of one machine, so requests and CPU per job say more than jobs per second.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench import dataplane
from bench.dataplane import NotHere, Outcome
from bench.figures import Report
from bench.machine import tree_cpu_seconds
from bench.real_cluster import (
    CLUSTER,
    LOADS_OWN,
    READS,
    SERVICE,
    RealCluster,
    Requests,
    real_cluster,
)
from bench.throwaway import Server, open_directory, postgres
from tests.support.processes import Controller, Terminal, plain_environment

AT_ONCE, AT_ONCE_FULL = 150, 1_000
STEADY, STEADY_FULL = 60, 600
PER_SECOND = 3
RUNNING, RUNNING_FULL = 300, 3_000
HOLD_SECONDS = 1_200
RUNNING_LIMIT_SECONDS = 1_100.0
WATCHED_SECONDS = 20.0
"""How long the controller is watched while all of them run."""

WARM_UP = 10
PROXY = "127.0.0.1:18265"
PORT = 18265
DATABASE = "rayjobs"
MODES = ("K8sJobMode", "HTTPMode")

UPSTREAM = {
    "throughput, jobs/s": 9.2,
    "requests per job": 25.0,
    "CPU of the controller, ms per job": 26.0,
    "memory per running job, kB": 75.0,
}
"""KubeRay 1.7's operator at the same work, 16 workers, no client limit, on a machine like this."""


UPSTREAM_REACTIONS = {
    "K8sJobMode": {
        "created → first cluster": (29.0, 70.0),
        "cluster ready → submitter created": (12.0, 50.0),
        "attempt ended → status terminal": (17.0, 69.0),
        "attempt ended → status Retrying": (17.0, 53.0),
        "old cluster gone → next cluster": (33.0, 133.0),
    },
    "HTTPMode": {"attempt ended → status terminal": (1000.0, 1100.0)},
}
"""Its reactions at 3 RayJobs per second: p50 and p99 in milliseconds."""


def measure(report: Report) -> None:
    """Measure many RayJobs at once, few per second in both modes, and many that run."""
    try:
        program = dataplane.built()
        with real_cluster(report) as cluster, postgres(report) as server:
            report.setting("each RayJob", "fails once, then succeeds; shut down at once")
            report.setting("upstream, for the ratios", "KubeRay 1.7, 16 workers, no client limit")
            rig = Rig(report, server, cluster, program)
            with rig.controller() as controller:
                rig.warm_up(controller)
                rig.at_once(controller, AT_ONCE_FULL if report.full else AT_ONCE)
                for mode in MODES:
                    rig.steadily(controller, STEADY_FULL if report.full else STEADY, mode)
            with rig.controller() as controller:
                rig.warm_up(controller)
                rig.running(controller, RUNNING_FULL if report.full else RUNNING)
    except NotHere as missing:
        report.remark(f"skipped: {missing}")


@dataclass(frozen=True, slots=True)
class Running:
    """The controller's process."""

    pid: int

    def resident_kb(self) -> float:
        """Return the memory it holds, in units of 1,000 bytes."""
        return float(psutil.Process(self.pid).memory_info().rss) / 1e3


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds and requests so far."""

    cpu: dict[str, float]
    requests: Requests


class Rig:
    """Everything that is there for the whole run."""

    def __init__(self, report: Report, server: Server, cluster: RealCluster, program: Path) -> None:
        self._report = report
        self._server = server
        self._cluster = cluster
        self._program = program
        self._database = server.database(DATABASE)

    @contextmanager
    def controller(self) -> Iterator[Running]:
        """Run the controller, as the user whom `ops/rbac.yaml` describes."""
        self._report.say("starting the controller")
        with open_directory() as directory:
            terminal = Terminal(directory, plain_environment(directory, directory / "bytecode"))
            terminal = terminal.with_environment(
                DATABASE_URL=self._database,
                KUBECONFIG=str(self._cluster.kubeconfig("controller")),
                JOBLEDGER_DATA_DIR=str(directory),
                JOBLEDGER_LOG_LEVEL="warning",
                HTTP_PROXY=f"http://{PROXY}",
                NO_PROXY="127.0.0.1,localhost",
            )
            with Controller(terminal, "bench") as process:
                yield Running(process.pid)
                process.terminate()

    def warm_up(self, controller: Running) -> None:
        """Let some RayJobs pass unmeasured."""
        self._report.say(f"warming up with {WARM_UP} RayJobs")
        self._load(controller, jobs=WARM_UP).finish()
        self._cluster.wait_until_quiet()

    def at_once(self, controller: Running, count: int) -> None:
        """Measure so many RayJobs, created as quickly as the API server takes them."""
        before = controller.resident_kb()
        name = f"{count:,} at once"
        outcome = self._measured(controller, name, count, rate=100.0)
        throughput = outcome.done / outcome.seconds
        self._compare(name, "throughput, jobs/s", throughput, more_is_better=True)
        self._report.figure(f"{name}: memory, before", before / 1.024 / 1024, "MiB")
        self._report.figure(f"{name}: memory, peak", outcome.peak_mib, "MiB")

    def steadily(self, controller: Running, count: int, mode: str) -> None:
        """Measure a few RayJobs per second: how quickly the controller reacts."""
        name = f"{PER_SECOND} per second, {mode}"
        outcome = self._measured(controller, name, count, rate=PER_SECOND, mode=mode)
        for reaction in outcome.reactions:
            theirs = UPSTREAM_REACTIONS[mode].get(reaction.what)
            for label, upstream, ours in zip(
                ("p50", "p99"), theirs or (), (reaction.p50, reaction.p99), strict=False
            ):
                times = upstream / max(ours, 1.0)
                what = f"{name}: {reaction.what} {label}, quicker than upstream ({upstream:g} ms)"
                self._report.figure(what, times, "times")

    def running(self, controller: Running, count: int) -> None:
        """Measure what many running RayJobs take: memory, and the asking how they fare."""
        report = self._report
        name = f"{count:,} running"
        before = controller.resident_kb()
        report.say(f"{name}: creating them")
        load = self._load(
            controller, jobs=count, rate=100.0, fail=0, backoff=0, hold=f"{HOLD_SECONDS}s"
        )
        until = time.monotonic() + RUNNING_LIMIT_SECONDS
        while load.states.get("Running", 0) < count and time.monotonic() < until:
            time.sleep(0.5)
        report.figure(f"{name}: seen running", load.states.get("Running", 0), f"of {count:,}")
        began, cpu = time.monotonic(), tree_cpu_seconds(controller.pid)
        time.sleep(WATCHED_SECONDS)
        cores = (tree_cpu_seconds(controller.pid) - cpu) / (time.monotonic() - began)
        after = controller.resident_kb()
        load.kill()
        report.figure(f"{name}: memory, before", before / 1.024 / 1024, "MiB")
        report.figure(f"{name}: memory", after / 1.024 / 1024, "MiB")
        self._compare(name, "memory per running job, kB", (after - before) / count)
        report.figure(f"{name}: CPU of the controller", cores, "cores")

    def _load(self, controller: Running, **options: object) -> dataplane.Load:
        return dataplane.start(
            self._program,
            server=self._cluster.url,
            token=self._cluster.admin_token,
            proxy=PROXY,
            pid=controller.pid,
            limit="20m",
            **options,
        )

    def _measured(self, controller: Running, name: str, count: int, **options: object) -> Outcome:
        """Let a load run to its end, and until nothing is left to do; say what it cost."""
        self._report.say(name)
        before = self._spent(controller)
        outcome = self._load(controller, jobs=count, **options).finish()
        self._cluster.wait_until_quiet()
        after = self._spent(controller)
        report = self._report
        report.figure(f"{name}: complete", outcome.done, f"of {count:,}")
        report.figure(f"{name}: violations", outcome.violations, "")
        for reaction in outcome.reactions:
            report.figure(f"{name}: {reaction.what} p50", reaction.p50, "ms")
            report.figure(f"{name}: {reaction.what} p99", reaction.p99, "ms")
        if outcome.polls:
            report.figure(f"{name}: questions to heads", outcome.polls / count, "per job")
        self._costs(name, count, before, after)
        return outcome

    def _costs(self, name: str, count: int, before: Spent, after: Spent) -> None:
        """Say what each job cost, in CPU and in requests of the controller."""
        report = self._report
        for who, seconds in after.cpu.items():
            spent = (seconds - before.cpu[who]) / count * 1e3
            if who == "controller":
                self._compare(name, "CPU of the controller, ms per job", spent)
            else:
                report.figure(f"{name}: CPU of {who}", spent, "ms per job")
        asked: Counter[tuple[str, str]] = Counter()
        refused = 0
        for (verb, resource, code), number in (after.requests - before.requests).items():
            if (verb, resource) not in LOADS_OWN and verb != "WATCH":
                asked[verb, resource] += number
                refused += number if code >= "400" else 0
        asked[SERVICE] = max(0, asked[SERVICE] - asked[CLUSTER])
        self._compare(name, "requests per job", asked.total() / count)
        for (verb, resource), number in sorted(asked.items()):
            report.figure(f"{name}: {verb} {resource}", number / count, "per job")
        report.figure(f"{name}: of these refused", refused / count, "per job")
        reads = sum(number for (verb, _), number in asked.items() if verb in READS)
        report.figure(f"{name}: of these reads", reads / count, "per job")

    def _spent(self, controller: Running) -> Spent:
        return Spent(
            cpu={
                "controller": tree_cpu_seconds(controller.pid),
                "Postgres": tree_cpu_seconds(self._server.pid),
                "the API server": tree_cpu_seconds(self._cluster.pid("kube-apiserver")),
                "etcd": tree_cpu_seconds(self._cluster.pid("etcd")),
            },
            requests=self._cluster.requests(),
        )

    def _compare(self, name: str, what: str, value: float, *, more_is_better: bool = False) -> None:
        """Say a figure, and how many times better than upstream's it is."""
        theirs = UPSTREAM[what]
        self._report.figure(f"{name}: {what}", value, f"(upstream {theirs:g})")
        ratio = value / theirs if more_is_better else theirs / value if value else 0.0
        self._report.figure(f"{name}: {what}, better than upstream", ratio, "times")
