"""The implementations of the ports Cluster and Watches that the contracts are run on.

Each is a context manager that yields a `ClusterWorld`; a new one is one more line in `WORLDS`.
"""

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from adapters.kube.client import KubernetesCluster
from adapters.kube.connection import ConnectionSettings, connect
from adapters.kube.watches import KubernetesWatches
from adapters.sandbox.api_server import SandboxApi
from core.errors import ObjectExists
from core.ports.cluster import CRDS, NAMESPACES, RAYJOBS, Cluster, Watches
from core.values.documents import items, text
from tests.support.apiserver import ApiServer
from tests.support.waiting import wait_until

CRD_FOLDER = Path(__file__).parents[2] / "ops" / "crds"


@dataclass(frozen=True)
class ClusterWorld:
    """A cluster with the RayJob CRD, and a namespace in it that is ours alone."""

    cluster: Cluster
    watches: Watches
    namespace: str


@contextlib.contextmanager
def sandbox(_: pytest.FixtureRequest) -> Iterator[ClusterWorld]:
    """Yield the sandbox's API server, spoken to by the Kubernetes adapter."""
    with SandboxApi() as api:
        yield _world(ConnectionSettings(host=api.url))


@contextlib.contextmanager
def real_api_server(request: pytest.FixtureRequest) -> Iterator[ClusterWorld]:
    """Yield the real API server of this session."""
    server: ApiServer = request.getfixturevalue("api_server")
    world = _world(ConnectionSettings(kubeconfig=str(server.kubeconfig())))
    yield world
    world.cluster.delete(NAMESPACES, "", world.namespace)


WORLDS = [
    pytest.param(sandbox, id="sandbox"),
    pytest.param(real_api_server, id="apiserver", marks=pytest.mark.apiserver),
]


def _world(settings: ConnectionSettings) -> ClusterWorld:
    transport = connect(settings)
    cluster = KubernetesCluster(transport, page_limit=2)
    _install_rayjobs(cluster)
    namespace = f"contract-{uuid.uuid4().hex[:10]}"
    cluster.create(NAMESPACES, {"metadata": {"name": namespace}})
    return ClusterWorld(cluster, KubernetesWatches(transport), namespace)


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
