"""The data plane as a client of the sandbox's API server, over HTTP, with the real client."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.core.ports.cluster import BATCH_JOBS, PODS, RAYCLUSTERS
from jobledger.core.values.documents import Manifest, items, text
from jobledger.sandbox.api_server import SandboxApi
from jobledger.sandbox.data_plane import DataPlane
from tests.adapters.sandbox_data_plane.world import head_address, raycluster, submitter
from tests.support.waiting import wait_until


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[KubernetesCluster]:
    with SandboxApi() as api:
        transport = connect(ConnectionSettings(host=api.url))
        client = KubernetesCluster(transport)
        plane = DataPlane(client, KubernetesWatches(transport), work_dir=tmp_path)
        plane.start()
        yield client
        plane.stop()


def _is_complete(job: Manifest | None) -> bool:
    return any(
        text(one, "type") == "Complete" and text(one, "status") == "True"
        for one in items(job, "status", "conditions")
    )


def test_a_cluster_and_a_submitter_run_to_the_end(cluster: KubernetesCluster) -> None:
    document = raycluster("c")
    for part in (document["spec"]["headGroupSpec"], *document["spec"]["workerGroupSpecs"]):
        part["template"]["spec"]["containers"][0]["image"] = "rayproject/ray:2.60.0"
    cluster.create(RAYCLUSTERS, document)
    wait_until(
        lambda: text(cluster.get(RAYCLUSTERS, "default", "c"), "status", "state") == "ready",
        "the cluster is ready",
    )
    cluster.create(BATCH_JOBS, submitter("j", head_address("c"), "job-1", "echo ran"))
    wait_until(lambda: _is_complete(cluster.get(BATCH_JOBS, "default", "j")), "it is complete")
    cluster.delete(RAYCLUSTERS, "default", "c")
    wait_until(
        lambda: not cluster.list(PODS, "default", "ray.io/cluster=c").items, "its Pods have gone"
    )
    cluster.delete(BATCH_JOBS, "default", "j")
    wait_until(lambda: not cluster.list(PODS, "default").items, "all Pods have gone")
