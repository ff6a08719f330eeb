"""The implementations of the ports Cluster and Watches that the contracts are run on.

Each is a context manager that yields a `ClusterWorld`; a new one is one more line in `WORLDS`.
"""

import contextlib
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.watching.timing import WatchPace
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.core.errors import ObjectExists
from jobledger.core.ports.cluster import CRDS, NAMESPACES, RAYJOBS, Cluster, Watches
from jobledger.core.values.documents import items, text
from jobledger.sandbox.api_server import SandboxApi
from tests.contracts.cluster_listener import RecordingListener
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.reflectors import Reflectors
from tests.support.admission import admission
from tests.support.apiserver import ApiServer
from tests.support.memory_cluster import MemoryCluster
from tests.support.records import NOON
from tests.support.stepped_cluster import SteppedCluster
from tests.support.waiting import wait_until

CRD_FOLDER = Path(__file__).parents[2] / "ops" / "crds"


@dataclass(frozen=True)
class ClusterWorld:
    """A cluster with the RayJob CRD, and a namespace in it that is ours alone."""

    cluster: Cluster
    watches: Watches
    namespace: str
    tell: Callable[[], object] = lambda: None
    """Has watches tell what they know, where they do not do so by themselves."""

    def listener(self) -> RecordingListener:
        """Return a listener that can wait for what this world's watches tell."""
        return RecordingListener(self.tell)


@contextlib.contextmanager
def sandbox(_: pytest.FixtureRequest) -> Iterator[ClusterWorld]:
    """Yield the sandbox's API server, spoken to by the Kubernetes adapter."""
    with SandboxApi() as api:
        yield _world(ConnectionSettings(host=api.url))


@contextlib.contextmanager
def real_api_server(request: pytest.FixtureRequest) -> Iterator[ClusterWorld]:
    """Yield the real API server of this session."""
    server: ApiServer = request.getfixturevalue("api_server")
    yield _world(ConnectionSettings(kubeconfig=str(server.kubeconfig())))


@contextlib.contextmanager
def in_memory(_: pytest.FixtureRequest) -> Iterator[ClusterWorld]:
    """Yield the cluster in memory, whose watches tell from threads."""
    cluster = MemoryCluster()
    yield ClusterWorld(cluster, cluster, _own_namespace(cluster))


@contextlib.contextmanager
def stepped(_: pytest.FixtureRequest) -> Iterator[ClusterWorld]:
    """Yield the cluster in memory where time stands still, told to tell whenever a test waits."""
    cluster = SteppedCluster(lambda: NOON)
    yield ClusterWorld(cluster, cluster, _own_namespace(cluster), cluster.deliver)


@contextlib.contextmanager
def simulated(_: pytest.FixtureRequest) -> Iterator[ClusterWorld]:
    """Yield the simulation's cluster, whose watches tell whenever a test waits."""
    cluster = SimulatedApi(lambda: NOON, seed=0, admits=admission)
    watches = Reflectors(cluster, lambda: NOON)
    yield ClusterWorld(cluster, watches, _own_namespace(cluster), watches.deliver)


WORLDS = [
    pytest.param(simulated, id="simulated"),
    pytest.param(in_memory, id="memory"),
    pytest.param(stepped, id="stepped"),
    pytest.param(sandbox, id="sandbox"),
    pytest.param(real_api_server, id="apiserver", marks=pytest.mark.apiserver),
]


def _world(settings: ConnectionSettings) -> ClusterWorld:
    transport = connect(settings)
    cluster = KubernetesCluster(transport, page_limit=2)
    _install_rayjobs(cluster)
    return ClusterWorld(
        cluster, KubernetesWatches(transport, pace=WatchPace(page_limit=2)), _own_namespace(cluster)
    )


def _own_namespace(cluster: Cluster) -> str:
    namespace = f"contract-{uuid.uuid4().hex[:10]}"
    cluster.create(NAMESPACES, {"metadata": {"name": namespace}})
    return namespace


def _install_rayjobs(cluster: Cluster) -> None:
    name = f"{RAYJOBS.plural}.{RAYJOBS.group}"
    if cluster.get(CRDS, "", name) is None:
        with contextlib.suppress(ObjectExists):  # another worker was faster
            cluster.create(CRDS, yaml.safe_load((CRD_FOLDER / "ray.io_rayjobs.yaml").read_text()))
    wait_until(lambda: _is_established(cluster, name), f"{name} to be served")


def _is_established(cluster: Cluster, name: str) -> bool:
    conditions = items(cluster.get(CRDS, "", name), "status", "conditions")
    return any(
        (text(condition, "type"), text(condition, "status")) == ("Established", "True")
        for condition in conditions
    )
