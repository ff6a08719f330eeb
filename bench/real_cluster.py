"""A real API server for a run, with upstream's definitions, and what it counts of the requests."""

import functools
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.dataplane import NotHere
from bench.figures import Report
from bench.throwaway import open_directory
from tests.apiserver.build import CannotBuild, assets, version
from tests.support.api import api_of_kubeconfig
from tests.support.apiserver_content import USERS, install
from tests.support.apiserver_processes import ApiServerProcesses

LOADS_OWN = frozenset(
    {
        ("POST", "rayjobs"),
        ("PATCH", "rayclusters/status"),
        ("PATCH", "jobs/status"),
        ("DELETE", "services"),
    }
)
"""Requests that only the load makes."""

SERVICE, CLUSTER = ("POST", "services"), ("POST", "rayclusters")
"""The load makes a Service for every RayCluster; what is more of them, the controller made."""

READS = frozenset({"WATCH", "LIST", "GET"})

QUIET_SECONDS = 1.5
"""Nothing was written for so long: the load is over."""

QUIET_LIMIT_SECONDS = 600.0

COUNTER = "apiserver_request_total"
_SAMPLE = re.compile(rf"^{COUNTER}\{{(.*)\}} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="(.*?)"')
_RESOURCES = frozenset({"rayjobs", "rayclusters", "jobs", "services", "events", "pods"}) | {
    *("trainjobs", "jobsets", "configmaps", "secrets", "podgroups")
}

Requests = Counter[tuple[str, str, str]]
"""Requests by verb, resource (`rayjobs/status`) and code."""


@dataclass(frozen=True, slots=True)
class RealCluster:
    """A running API server."""

    processes: ApiServerProcesses
    directory: Path

    def kubeconfig(self, user: str) -> Path:
        """Return the kubeconfig of one of `USERS`."""
        return self.processes.kubeconfig(user)

    @property
    def url(self) -> str:
        """The address."""
        return self.processes.url

    @property
    def admin_token(self) -> str:
        """The administrator's token."""
        lines = (self.directory / "tokens.csv").read_text(encoding="utf-8").splitlines()
        return next(
            token for token, user, *_ in (line.split(",") for line in lines) if user == "admin"
        )

    def pid(self, name: str) -> int:
        """Return the process id of one of its programs."""
        return self.processes.pid(name)

    def requests(self) -> Requests:
        """Return what has been asked of it so far, as it counts."""
        api = api_of_kubeconfig(self.kubeconfig("admin"))
        reply = api.pool.request("GET", f"{self.url}/metrics", headers=api.headers)
        api.pool.clear()
        return read_requests(reply.data.decode())

    def wait_until_quiet(self) -> None:
        """Wait until nothing is written any more: what was left to do belongs to the jobs."""
        until, last = time.monotonic() + QUIET_LIMIT_SECONDS, -1
        while (now := self._writes()) != last and time.monotonic() < until:
            last = now
            time.sleep(QUIET_SECONDS)

    def _writes(self) -> int:
        return sum(count for (verb, _, _), count in self.requests().items() if verb not in READS)


def read_requests(exposition: str) -> Requests:
    """Return the requests that the metrics of an API server tell of, for what jobs consist of."""
    found: Requests = Counter()
    for labels, value in _SAMPLE.findall(exposition):
        label = dict(_LABEL.findall(labels))
        if label["resource"] not in _RESOURCES:
            continue
        resource = "/".join(filter(None, (label["resource"], label["subresource"])))
        found[label["verb"], resource, label["code"]] += int(float(value))
    return found


def _install(content: Callable[[Path], None], kubeconfig: Path) -> None:
    """Install everything; on a busy machine it takes longer than a test would wait."""
    for last in (False, False, False, False, True):
        try:
            content(kubeconfig)
        except AssertionError:
            if last:
                raise
        else:
            return


@contextmanager
def real_cluster(
    report: Report, content: Callable[[Path], None] = install
) -> Iterator[RealCluster]:
    """Run an API server without a controller manager; raise `NotHere` if it is not built."""
    try:
        programs = assets(os.environ)
    except CannotBuild as problem:
        raise NotHere(str(problem)) from problem
    if programs is None:
        raise NotHere("there is no kube-apiserver: run `make apiserver` (once, some ten minutes)")
    report.setting("API server", f"kube-apiserver {version()}, etcd with fsync, both local")
    report.setting("definitions", "upstream's")
    report.say("starting the API server")
    installed = functools.partial(_install, content)
    with open_directory() as directory:
        processes = ApiServerProcesses(
            programs, directory, USERS, installed, controllers=(), durable=True
        )
        try:
            processes.start()
            yield RealCluster(processes, directory)
        finally:
            processes.stop()
