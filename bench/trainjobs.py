"""TrainJobs of two nodes on a real API server, with upstream's definitions, JobSets simulated.

The controller is `jobledger run` as a process of its own, on a durable Postgres. All of it shares
the cores of one machine, so requests and CPU per job say more than jobs per second.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.dataplane import NotHere
from bench.figures import Report
from bench.machine import tree_cpu_seconds
from bench.real_cluster import READS, RealCluster, Requests, real_cluster
from bench.simulated_jobsets import READY_SECONDS, RUN_SECONDS, run_load
from bench.throwaway import Server, open_directory, postgres
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.core.ports.cluster import CLUSTER_TRAINING_RUNTIMES
from jobledger.core.values.documents import Manifest
from tests.support.apiserver_content import install_everything
from tests.support.processes import Controller, Terminal, plain_environment

AT_ONCE, AT_ONCE_FULL = 100, 1_000
STEADY, STEADY_FULL = 40, 400
PER_SECOND = 3
WARM_UP = 10
LIMIT_SECONDS = 1_200.0
DATABASE = "trainjobs"

LOADS_OWN = frozenset({("POST", "trainjobs"), ("PATCH", "jobsets/status")})
"""Requests that only the load makes."""

RUNTIME: Manifest = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {
        "name": "torch-distributed",
        "labels": {"trainer.kubeflow.org/framework": "torch"},
    },
    "spec": {
        "mlPolicy": {"numNodes": 1, "torch": {}},
        "template": {
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "node",
                        "template": {
                            "metadata": {
                                "labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
                            },
                            "spec": {
                                "template": {
                                    "spec": {"containers": [{"name": "node", "image": "torch"}]}
                                }
                            },
                        },
                    }
                ]
            }
        },
    },
}
"""A runtime of the shape of upstream's for torch."""


def measure(report: Report) -> None:
    """Measure many TrainJobs at once, and a few per second."""
    try:
        with real_cluster(report, install_everything) as cluster, postgres(report) as server:
            report.setting("each TrainJob", "two nodes, runtime for torch, completes")
            times = f"ready after {READY_SECONDS} s, complete after {RUN_SECONDS} s more"
            report.setting("JobSets", f"simulated, without webhooks: {times}")
            rig = _Rig(report, server, cluster)
            with rig.controller() as pid:
                rig.load(WARM_UP, 0)
                cluster.wait_until_quiet()
                count = AT_ONCE_FULL if report.full else AT_ONCE
                rig.measured(pid, f"{count:,} at once", count, 0)
                count = STEADY_FULL if report.full else STEADY
                rig.measured(pid, f"{PER_SECOND} per second", count, PER_SECOND)
    except NotHere as missing:
        report.remark(f"skipped: {missing}")


@dataclass(frozen=True, slots=True)
class _Spent:
    """CPU seconds and requests so far."""

    cpu: dict[str, float]
    requests: Requests


class _Rig:
    """Everything that is there for the whole run."""

    def __init__(self, report: Report, server: Server, cluster: RealCluster) -> None:
        self._report, self._server, self._cluster = report, server, cluster
        self._database = server.database(DATABASE)
        settings = ConnectionSettings(kubeconfig=str(cluster.kubeconfig("admin")))
        transport = connect(settings, {})
        self._client = KubernetesCluster(transport, field_manager="bench")
        self._watches = KubernetesWatches(transport)
        self._client.create(CLUSTER_TRAINING_RUNTIMES, RUNTIME)
        self._loads = 0

    @contextmanager
    def controller(self) -> Iterator[int]:
        """Run the controller, as the user whom `ops/rbac.yaml` describes; give its process id."""
        self._report.say("starting the controller")
        with open_directory() as directory:
            terminal = Terminal(directory, plain_environment(directory, directory / "bytecode"))
            terminal = terminal.with_environment(
                DATABASE_URL=self._database,
                KUBECONFIG=str(self._cluster.kubeconfig("controller")),
                JOBLEDGER_DATA_DIR=str(directory),
                JOBLEDGER_LOG_LEVEL="warning",
            )
            with Controller(terminal, "bench") as process:
                yield process.pid
                process.terminate()

    def load(self, count: int, per_second: float) -> tuple[dict[str, list[float]], int]:
        """Let so many TrainJobs run to their end; return the reactions and how many ended."""
        self._loads += 1
        names = [f"train-{self._loads}-{number}" for number in range(count)]
        ledger, ended = run_load(self._client, self._watches, names, per_second, LIMIT_SECONDS)
        with ledger.lock:
            return dict(ledger.reactions), ended

    def measured(self, pid: int, name: str, count: int, per_second: float) -> None:
        """Say what so many TrainJobs cost, and how soon the controller reacted."""
        report = self._report
        report.say(name)
        before, began = self._spent(pid), time.monotonic()
        reactions, ended = self.load(count, per_second)
        seconds = time.monotonic() - began
        self._cluster.wait_until_quiet()
        after = self._spent(pid)
        report.figure(f"{name}: complete", ended, f"of {count:,}")
        report.figure(f"{name}: throughput", ended / seconds, "jobs/s")
        for what, values in reactions.items():
            report.percentiles(f"{name}: {what}", [value * 1e3 for value in values], "ms")
        for who, spent in after.cpu.items():
            cost = (spent - before.cpu[who]) / count * 1e3
            report.figure(f"{name}: CPU of {who}", cost, "ms per job")
        self._requests(name, count, after.requests - before.requests)

    def _requests(self, name: str, count: int, asked: Requests) -> None:
        report = self._report
        writes: Counter[tuple[str, str]] = Counter()
        refused = reads = 0
        for (verb, resource, code), number in asked.items():
            if verb in READS:
                reads += number if verb != "WATCH" else 0
            elif (verb, resource) not in LOADS_OWN:
                writes[verb, resource] += number
                refused += number if code >= "400" else 0
        report.figure(f"{name}: requests of the controller", writes.total() / count, "per job")
        for (verb, resource), number in sorted(writes.items()):
            report.figure(f"{name}: {verb} {resource}", number / count, "per job")
        report.figure(f"{name}: of these refused", refused / count, "per job")
        report.figure(f"{name}: reads (GET, LIST)", reads / count, "per job")

    def _spent(self, pid: int) -> _Spent:
        return _Spent(
            cpu={
                "the controller": tree_cpu_seconds(pid),
                "Postgres": tree_cpu_seconds(self._server.pid),
                "the API server": tree_cpu_seconds(self._cluster.pid("kube-apiserver")),
                "etcd": tree_cpu_seconds(self._cluster.pid("etcd")),
            },
            requests=self._cluster.requests(),
        )
