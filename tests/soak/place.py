"""Where a soak takes place: an API server, a Postgres, and replicas that can be started anew."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.postgres.schema.version import upgrade
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.apiserver.build import assets
from tests.soak.nature import Heads
from tests.support.apiserver_content import USERS, install_everything
from tests.support.apiserver_processes import ApiServerProcesses
from tests.support.postgres import open_directory
from tests.support.processes import Controller, Terminal, plain_environment

GARBAGE_COLLECTOR = ("garbage-collector-controller",)
NAMESPACE = "default"


class NotHere(RuntimeError):
    """What a soak needs is not on this machine; the message says what."""


@dataclass
class Place:
    """Everything that runs."""

    servers: ApiServerProcesses
    postgres: EmbeddedPostgres
    database_url: str
    heads: Heads
    terminal: Terminal
    replicas: dict[str, Controller] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)
    """Names of replicas that SIGSTOP has stopped."""

    def cluster(self) -> KubernetesCluster:
        """Return an administrator's client."""
        settings = ConnectionSettings(kubeconfig=str(self.servers.kubeconfig("admin")))
        return KubernetesCluster(connect(settings, {}), field_manager="soak")

    def start_replica(self, name: str, *, until_ready: bool = False) -> None:
        """Start a replica, for the first time or anew."""
        replica = self.replicas.setdefault(name, Controller(self.terminal, name))
        replica.start(until_ready=until_ready)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a replica that runs."""
        replica = self.replicas[name]
        if not replica.running:
            return
        os.kill(replica.pid, number)
        if number is signal.SIGSTOP:
            self.stopped.add(name)
        elif number is signal.SIGCONT:
            self.stopped.discard(name)

    def restart_postgres(self, *, is_rude: bool) -> None:
        """End Postgres, flushing or not, and start it again at the same address."""
        os.kill(self.postgres.server_pid, signal.SIGKILL if is_rude else signal.SIGINT)
        time.sleep(1.0)
        self.postgres.ensure_running()
        if self.postgres.url != self.database_url:
            raise RuntimeError("Postgres has come back at another address")

    def restart_api_server(self, *, with_etcd: bool) -> None:
        """End the API server, with its etcd or not, and start it again."""
        self.servers.kill("kube-apiserver")
        if with_etcd:
            self.servers.kill("etcd")
        time.sleep(1.0)
        self.servers.start()


@contextmanager
def place() -> Iterator[Place]:
    """Give everything but replicas; leave nothing running.

    Raises:
        NotHere: there is no kube-apiserver on this machine.
    """
    programs = assets(os.environ)
    if programs is None:
        raise NotHere("there is no kube-apiserver: run `make apiserver` (once, some ten minutes)")
    with ExitStack() as stack:
        directory: Path = stack.enter_context(open_directory())
        servers = ApiServerProcesses(
            programs, directory / "server", USERS, install_everything, GARBAGE_COLLECTOR
        )
        stack.callback(servers.stop)
        servers.start()
        postgres = stack.enter_context(EmbeddedPostgres(directory / "data"))
        upgrade(postgres.url)
        heads = Heads()
        stack.callback(heads.stop)
        terminal = Terminal(directory, plain_environment(directory, directory / "bytecode"))
        terminal = terminal.with_environment(
            DATABASE_URL=postgres.url,
            KUBECONFIG=str(servers.kubeconfig("controller")),
            JOBLEDGER_DATA_DIR=str(directory / "keys"),
            JOBLEDGER_LOG_LEVEL="warning",
            JOBLEDGER_NAMESPACES=f'["{NAMESPACE}"]',
            HTTP_PROXY=heads.url,
            NO_PROXY="127.0.0.1,localhost",
        )
        made = Place(servers, postgres, postgres.url, heads, terminal)
        try:
            yield made
        finally:
            for replica in made.replicas.values():
                replica.kill()
