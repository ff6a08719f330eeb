"""RayJobs with one retry each through the whole service: how fast, and what each one costs.

The service runs in this process as `jobledger run` builds it, on a durable Postgres. The sandbox's
API, what is below it and the load are in another process, and are as much work as the controller:
both cores are shared by all of it. What counts is requests and CPU per job.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from prometheus_client import REGISTRY
from pydantic import SecretStr

from bench.figures import Report
from bench.machine import tree_cpu_seconds
from bench.other_side import READY_SECONDS, RUN_SECONDS
from bench.throwaway import Server, open_directory, postgres
from jobledger.adapters.ledger_wiring import ledger
from jobledger.adapters.process.huge_pages import in_huge_pages
from jobledger.adapters.process.one_core import on_one_core
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.logging import configure_logging
from jobledger.adapters.wiring import service
from jobledger.sandbox.kubeconfig import write_kubeconfig

AT_ONCE, AT_ONCE_FULL = 200, 1_000
STEADY, STEADY_FULL = 60, 600
PER_SECOND = 3
WARM_UP = 10
READY_LIMIT_SECONDS = 60.0
DATABASE = "served"


def measure(report: Report) -> None:
    """Measure many RayJobs at once, then few per second."""
    at_once = AT_ONCE_FULL if report.full else AT_ONCE
    steady = STEADY_FULL if report.full else STEADY
    report.setting("each RayJob", "fails once, then succeeds; K8sJobMode, shut down at once")
    report.setting(
        "simulated", f"ready after {READY_SECONDS} s, runs {RUN_SECONDS} s, no processes"
    )
    with (
        postgres(report) as server,
        other_side() as other,
        on_one_core(),
        in_huge_pages(),
        running(server, other),
    ):
        report.say(f"warming up with {WARM_UP} RayJobs")
        other.order(WARM_UP, 0)
        report.say(f"{at_once} RayJobs at once")
        _measure(report, server, other, at_once, 0)
        report.say(f"{steady} RayJobs, {PER_SECOND} per second")
        _measure(report, server, other, steady, PER_SECOND)


def _measure(report: Report, server: Server, other: "Other", count: int, rate: float) -> None:
    name = f"{rate} per second" if rate else f"{count} at once"
    before, ours = _counted(), time.process_time()
    bytes_before = _log_bytes(server)
    theirs, others = tree_cpu_seconds(server.pid), tree_cpu_seconds(other.pid)
    told = other.order(count, rate)
    report.figure(f"{name}: ended", sum(told["phases"].values()), f"of {count}")
    if not rate:
        report.figure(f"{name}: throughput", count / told["seconds"], "jobs per second")
        report.figure(f"{name}: until nothing is left to do", told["seconds_until_quiet"], "s")
    cpu = {
        "controller": time.process_time() - ours,
        "Postgres": tree_cpu_seconds(server.pid) - theirs,
        "sandbox, simulation and load": tree_cpu_seconds(other.pid) - others,
    }
    for who, seconds in cpu.items():
        report.figure(f"{name}: CPU of {who}", seconds / count * 1e3, "ms per job")
    total = sum(told["requests"].values())
    report.figure(f"{name}: requests to the API server", total / count, "per job")
    for what, number in told["requests"].items():
        report.figure(f"{name}: {what}", number / count, "per job")
    report.figure(f"{name}: questions to heads", told["polls"] / count, "per job")
    after = _counted()
    for what in after:
        report.figure(f"{name}: {what}", (after[what] - before[what]) / count, "per job")
    weight = _log_bytes(server) - bytes_before
    report.figure(f"{name}: rows of events as stored", weight / count, "bytes per job")
    for what, seconds_each in told["reactions"].items():
        report.percentiles(f"{name}: {what}", [value * 1e3 for value in seconds_each], "ms")
    resident = psutil.Process().memory_info().rss / 2**20
    report.figure(f"{name}: memory of the controller afterwards", resident, "MiB")


def _log_bytes(server: Server) -> int:
    """Return the size of all events as they are stored, without indexes and free space."""
    with server.admin(DATABASE) as connection:
        row = connection.execute("SELECT coalesce(sum(pg_column_size(e.*)), 0) FROM event e")
        found = row.fetchone()
    assert found is not None, "a sum is one row"
    return int(found[0])


def _counted() -> dict[str, float]:
    """Return what the service itself has counted so far."""
    sums = {
        "events": "jobledger_events_appended_total",
        "observations": "jobledger_observations_total",
    }
    found = {
        what: sum(
            sample.value
            for metric in REGISTRY.collect()
            for sample in metric.samples
            if sample.name == name
        )
        for what, name in sums.items()
    }
    found["append calls"] = REGISTRY.get_sample_value("jobledger_append_seconds_count") or 0.0
    return found


@dataclass(frozen=True, slots=True)
class Other:
    """The process on the other side."""

    process: "subprocess.Popen[str]"
    url: str
    proxy: str

    @property
    def pid(self) -> int:
        """Return its process id."""
        return self.process.pid

    def order(self, jobs: int, per_second: float) -> dict[str, Any]:
        """Have RayJobs created; return what became of them once all have ended."""
        order = {"jobs": jobs, "per_second": per_second}
        assert self.process.stdin is not None, "it is a pipe"
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return _heard(self.process)


@contextmanager
def other_side() -> Iterator[Other]:
    """Run the other side; it ends with its standard input."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.other_side"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[1],
    )
    try:
        told = _heard(process)
        yield Other(process, told["url"], told["proxy"])
    finally:
        process.kill()
        process.communicate()


def _heard(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdout is not None, "it is a pipe"
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the other side ended with {process.wait()}")
    told: dict[str, Any] = json.loads(line)
    return told


@contextmanager
def running(server: Server, other: Other) -> Iterator[None]:
    """Run the service until the measurement is over; it is ready when this begins."""
    configure_logging("json", "warning")
    os.environ |= {"HTTP_PROXY": other.proxy, "NO_PROXY": "127.0.0.1,localhost"}
    with open_directory() as directory:
        kubeconfig = directory / "kubeconfig"
        write_kubeconfig(kubeconfig, other.url)
        settings = Settings(
            database_url=SecretStr(server.database(DATABASE)),
            data_dir=directory,
            kubeconfig=str(kubeconfig),
            replica="bench",
            port=0,
        )
        with ledger(settings) as opened:
            made = service(settings, opened)
            made.start()
            try:
                until = time.monotonic() + READY_LIMIT_SECONDS
                while made.controller.waits_for():
                    if time.monotonic() > until:
                        raise TimeoutError(f"still waiting for {made.controller.waits_for()}")
                    time.sleep(0.05)
                yield
            finally:
                made.stop()
