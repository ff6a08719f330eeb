"""What went with its owner is not made again, though the watch of the owner is slower."""

import pytest

from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, PODS, RAYCLUSTERS, Resource
from jobledger.core.values.documents import Manifest, text
from jobledger.sandbox.controllers.batch_job.controller import BatchJobController
from jobledger.sandbox.controllers.jobset.controller import JobSetController, JobSetStores
from jobledger.sandbox.controllers.loop import ControllerLoop, Reconciler
from jobledger.sandbox.controllers.raycluster.controller import (
    RayClusterController,
    RayClusterStores,
)
from jobledger.sandbox.controllers.store import Store
from tests.adapters.sandbox_data_plane.world import batch_job, raycluster
from tests.support.jobsets import group, jobset
from tests.support.memory_cluster import MemoryCluster
from tests.support.records import NOON


def batch_job_controller(cluster: MemoryCluster, owners: Store, children: Store) -> Reconciler:
    return BatchJobController(cluster, owners, children, ControllerLoop("test"))


def raycluster_controller(cluster: MemoryCluster, owners: Store, children: Store) -> Reconciler:
    stores = RayClusterStores(clusters=owners, pods=children, services=Store())
    return RayClusterController(cluster, stores, ControllerLoop("test"))


def jobset_controller(cluster: MemoryCluster, owners: Store, children: Store) -> Reconciler:
    stores = JobSetStores(jobsets=owners, jobs=children, services=Store())
    return JobSetController(cluster, stores, ControllerLoop("test"))


CONTAINER = {"name": "main", "image": "busybox", "command": ["sleep", "1"]}
CASES = {
    "Job": (BATCH_JOBS, PODS, batch_job_controller, batch_job("one", CONTAINER)),
    "RayCluster": (RAYCLUSTERS, PODS, raycluster_controller, raycluster("one", workers=0)),
    "JobSet": (JOBSETS, BATCH_JOBS, jobset_controller, jobset("one", group("workers"))),
}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("is_there", [False, True], ids=["with its owner", "alone"])
def test_what_went_is_made_again_only_for_an_owner_that_is_there(
    kind: str, *, is_there: bool
) -> None:
    resource, part, controller_of, manifest = CASES[kind]
    cluster, owners, children = MemoryCluster(), Store(), Store()
    controller = controller_of(cluster, owners, children)
    named = {**manifest, "metadata": {**manifest["metadata"], "namespace": "default"}}
    owners.seen(cluster.create(resource, named), NOON)
    controller.reconcile("default", "one")
    owners.seen(shown(cluster, resource), NOON)
    (child,) = cluster.list(part, "default").items
    if is_there:
        cluster.delete(part, "default", text(child, "metadata", "name"))
    else:
        cluster.delete(resource, "default", "one")
    assert cluster.list(part, "default").items == [], "the garbage is collected"
    children.gone(child, NOON)
    cluster.writes.clear()
    controller.reconcile("default", "one")
    made = [plural for verb, plural, _ in cluster.writes if verb == "create"]
    assert made.count(part.plural) == int(is_there)


def shown(cluster: MemoryCluster, resource: Resource) -> Manifest:
    found = cluster.get(resource, "default", "one")
    assert found is not None
    return found
