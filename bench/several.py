"""Several replicas of the controller on one real API server and one durable Postgres.

Each has a line of its own to both, which can be cut.
"""

import functools
import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
from sqlalchemy import make_url

from bench.figures import Report
from bench.real_cluster import RealCluster
from bench.throwaway import Server
from jobledger.adapters.service.observing.mapper import identify
from jobledger.core.values.ids import SHARDS, StreamId
from tests.support.api import RAYJOBS, Api, api_of_kubeconfig
from tests.support.fault_proxy import FaultProxy
from tests.support.processes import Controller, Terminal, plain_environment

LOOK_SECONDS = 0.05
LIMIT_SECONDS = 900.0
CREATING_THREADS = 4
NAMESPACE = "default"


@dataclass(slots=True)
class Replica:
    """A controller and its lines, which it uses if it was started so."""

    name: str
    process: Controller
    api: FaultProxy
    ledger: FaultProxy

    def worked_on(self) -> int:
        """Return how many shards it works on; -1 while it does not say."""
        try:
            return int(self.process.metric("jobledger_shards_worked_on"))
        except Exception:  # noqa: BLE001 it starts, or has been killed
            return -1

    def resident_mib(self) -> float:
        """Return the memory it holds."""
        return float(psutil.Process(self.process.pid).memory_info().rss) / 2**20


@dataclass
class Several:
    """Where the replicas run."""

    report: Report
    server: Server
    cluster: RealCluster
    directory: Path
    database: str
    environment: dict[str, str] = field(default_factory=dict)
    """Of the controllers, besides what every one needs."""
    limit_seconds: float = LIMIT_SECONDS
    """How long a start, and whatever else is waited for, may take."""
    running: list[Replica] = field(default_factory=list)
    _names: Iterator[int] = field(default_factory=functools.partial(itertools.count, 1))

    @property
    def api(self) -> Api:
        """Return an administrator's client."""
        api = api_of_kubeconfig(self.cluster.kubeconfig("admin"))
        return Api(api.url, api.pool, NAMESPACE, api.headers)

    @contextmanager
    def replica(self, *, is_cuttable: bool = False) -> Iterator[Replica]:
        """Run another replica, with lines that can be cut if need be; return once it is ready."""
        name = f"replica-{next(self._names)}"
        url = make_url(self.database)
        with ExitStack() as stack:
            host, port = self.cluster.url.rsplit("/", 1)[1].split(":")
            api = stack.enter_context(FaultProxy(host, int(port)))
            ledger = stack.enter_context(FaultProxy(url.host or "", url.port or 5432))
            kubeconfig = self.directory / f"{name}.kubeconfig"
            told = self.cluster.kubeconfig("controller").read_text(encoding="utf-8")
            mine = url
            if is_cuttable:
                told = told.replace(self.cluster.url, f"https://127.0.0.1:{api.port}")
                mine = url.set(host="127.0.0.1", port=ledger.port)
            kubeconfig.write_text(told)
            terminal = Terminal(
                self.directory, plain_environment(self.directory, self.directory / "bytecode")
            ).with_environment(
                DATABASE_URL=mine.render_as_string(hide_password=False),
                KUBECONFIG=str(kubeconfig),
                JOBLEDGER_DATA_DIR=str(self.directory),
                JOBLEDGER_LOG_LEVEL="warning",
                NO_PROXY="127.0.0.1,localhost",
                **self.environment,
            )
            process = stack.enter_context(
                Controller(terminal, name, start_seconds=self.limit_seconds)
            )
            replica = Replica(name, process, api, ledger)
            self.running.append(replica)
            try:
                yield replica
            finally:
                self.running.remove(replica)
                if process.running:
                    process.terminate()

    def wait(self, condition: Callable[[], bool], what: str) -> float:
        """Return the instant (monotonic) at which a condition holds; raise `TimeoutError`."""
        until = time.monotonic() + self.limit_seconds
        while not condition():
            if time.monotonic() > until:
                raise TimeoutError(f"after {self.limit_seconds:.0f} s still not: {what}")
            time.sleep(LOOK_SECONDS)
        return time.monotonic()

    def wait_until_shared(self) -> None:
        """Return once the replicas work on all shards, each on its share."""
        share = SHARDS // len(self.running)

        def is_shared() -> bool:
            held = [replica.worked_on() for replica in self.running]
            return sum(held) == SHARDS and min(held) >= share

        self.wait(is_shared, "the shards are shared out")

    def shards_of(self, replica: Replica) -> set[int]:
        """Return the shards that a replica holds, by the ledger."""
        query = "SELECT shard FROM shard_lease WHERE owner LIKE %s"
        return {row[0] for row in self.rows(query, f"{replica.name}/%")}

    def rows(self, query: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Return the rows of a query of the ledger."""
        url = self.database.replace("+psycopg", "", 1)
        with psycopg.connect(url, autocommit=True) as connection:
            return connection.execute(query, parameters).fetchall()

    def create_suspended(self, names: list[str]) -> list[StreamId]:
        """Create RayJobs whose first act is one write of their status; return their streams."""
        api = self.api

        def create(name: str) -> StreamId:
            reply = api.create(RAYJOBS, suspended(name))
            if reply.code != 201:
                raise RuntimeError(f"{name} was not created: {reply}")
            return identify("default", reply.body).stream_id

        with ThreadPoolExecutor(CREATING_THREADS) as pool:
            made = list(pool.map(create, names))
        api.pool.clear()
        return made


def suspended(name: str) -> dict[str, Any]:
    """Return a RayJob that waits to be resumed."""
    container = {"name": "ray-head", "image": "rayproject/ray:2.52.0"}
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {
            "entrypoint": "python train.py",
            "suspend": True,
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": {"rayVersion": "2.52.0", "headGroupSpec": head},
        },
    }
