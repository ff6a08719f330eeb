"""The sandbox's JobSet controller keeps the contract, which is that of the real controller."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.sandbox.api_server import SandboxApi
from jobledger.sandbox.data_plane import DataPlane
from tests.acceptance.real_site import InNamespace
from tests.contracts.jobsets import RULES, Rule
from tests.support.api import Api, api_at, own_namespace
from tests.support.apiserver import ApiServer
from tests.support.jobsets import JOBSETS, Bench
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with SandboxApi() as server, own_namespace(api_at(server.url)) as api:
        transport = connect(ConnectionSettings(host=server.url))
        plane = DataPlane(
            KubernetesCluster(transport),
            KubernetesWatches(transport),
            work_dir=tmp_path_factory.mktemp("pods"),
        )
        plane.start()
        yield api
        _leave_nothing(api)
        plane.stop()
        api.pool.clear()


@pytest.fixture(scope="module")
def real(jobset_server: ApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Only the Pods' processes are ours there: the node agent runs them."""
    with own_namespace(jobset_server.api()) as api:
        transport = connect(ConnectionSettings(kubeconfig=str(jobset_server.kubeconfig())), {})
        plane = DataPlane(
            KubernetesCluster(transport, field_manager="sandbox"),
            InNamespace(KubernetesWatches(transport), api.namespace),
            work_dir=tmp_path_factory.mktemp("pods"),
            batch_jobs=False,
            rayclusters=False,
            jobsets=False,
        )
        plane.start()
        yield api
        _leave_nothing(api)
        plane.stop()
        api.pool.clear()


def _leave_nothing(api: Api) -> None:
    api.request("DELETE", api.path(JOBSETS), {"propagationPolicy": "Background"})
    wait_until(lambda: api.list("v1/pods").body["items"] == [], "no Pod is left", 60.0)


def _bench(api: Api, rule: Rule, directory: Path) -> Bench:
    name = "".join(word[:3] for word in rule.__name__.split("_"))[:30]
    return Bench(api, name, directory)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_sandbox_keeps_the_contract(sandbox: Api, rule: Rule, tmp_path: Path) -> None:
    rule(_bench(sandbox, rule, tmp_path))


@pytest.mark.apiserver
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_real_controller_keeps_the_contract(real: Api, rule: Rule, tmp_path: Path) -> None:
    rule(_bench(real, rule, tmp_path))


def test_there_are_rules_for_everything() -> None:
    """At least thirty, and no name twice."""
    assert len({rule.__name__ for rule in RULES}) == len(RULES) >= 30
