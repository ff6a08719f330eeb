"""The two controllers that are measured on the same work: ours, and KubeRay's own for RayJobs."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.dataplane import NotHere
from bench.machine import tree_cpu_seconds
from bench.real_cluster import RealCluster
from bench.throwaway import Server, open_directory
from tests.apiserver.build import CannotBuild, build_module, cache_of
from tests.operators.build import KUBERAY
from tests.operators.processes import started
from tests.support.ports import reserved_ports
from tests.support.processes import Controller, Terminal, plain_environment

PROXY = "127.0.0.1:18265"
"""Where the load answers for the heads of Ray."""

WORKERS = 16
"""RayJobs that KubeRay's controller reconciles at once; ours has its default."""

_ENVIRONMENT = {"HTTP_PROXY": f"http://{PROXY}", "NO_PROXY": "127.0.0.1,localhost"}


@dataclass(frozen=True, slots=True)
class Running:
    """A controller's process, and the database that it uses alone, if any."""

    pid: int
    database: int = 0

    def resident_kb(self) -> float:
        """Return the memory it holds, in units of 1,000 bytes."""
        return float(psutil.Process(self.pid).memory_info().rss) / 1e3

    def cpu_seconds(self) -> float:
        """Return the CPU that it has used."""
        return tree_cpu_seconds(self.pid)


Start = Callable[[RealCluster], AbstractContextManager[Running]]
"""Runs a controller on an API server."""


def kuberay_program() -> Path:
    """Return KubeRay's RayJob controller without its others, built if need be.

    Raises:
        NotHere: it cannot be built.
    """
    source = (KUBERAY.module / "rayjobs" / "main.go").read_bytes()
    ours = hashlib.sha256(source).hexdigest()[:8]
    folder = cache_of(KUBERAY.module, "bench/kuberay", os.environ) / ours
    program = folder / "rayjobs"
    try:
        build_module(KUBERAY.module, {program.name: "./rayjobs"}, folder, os.environ)
    except CannotBuild as problem:
        raise NotHere(str(problem)) from problem
    return program


def kuberay(program: Path) -> Start:
    """Return what runs KubeRay's controller; it may do everything, and has no limit of its own."""

    @contextmanager
    def start(cluster: RealCluster) -> Iterator[Running]:
        (port,) = reserved_ports(1)
        words = [str(program), f"--workers={WORKERS}"]
        words.append(f"--health-probe-bind-address=127.0.0.1:{port}")
        environment = {**_ENVIRONMENT, "KUBECONFIG": str(cluster.kubeconfig("admin"))}
        with (
            open_directory() as directory,
            started(words, environment, directory / "kuberay.log", port) as running,
        ):
            yield Running(running.process.pid)

    return start


def jobledger(server: Server, database: str) -> Start:
    """Return what runs ours, as the user whom `ops/rbac.yaml` describes."""

    @contextmanager
    def start(cluster: RealCluster) -> Iterator[Running]:
        with open_directory() as directory:
            terminal = Terminal(directory, plain_environment(directory, directory / "bytecode"))
            terminal = terminal.with_environment(
                DATABASE_URL=database,
                KUBECONFIG=str(cluster.kubeconfig("controller")),
                JOBLEDGER_DATA_DIR=str(directory),
                JOBLEDGER_LOG_LEVEL="warning",
                **_ENVIRONMENT,
            )
            with Controller(terminal, "bench") as process:
                yield Running(process.pid, server.pid)
                process.terminate()

    return start
