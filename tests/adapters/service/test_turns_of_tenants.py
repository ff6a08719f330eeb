"""A tenant with very many jobs keeps no other tenant's job waiting behind all of them."""

from collections.abc import Callable

import pytest

from jobledger.core.ports.cluster import NAMESPACES, RAYJOBS, TRAINJOBS, Resource
from jobledger.core.values.documents import Manifest, child
from tests.adapters.service.parts import a_rayjob
from tests.support.service_world import ServiceWorld

FLOOD = 500
BEFORE_MAX = 2
"""So many of them may be begun before the job of somebody else: one at a time, in turns."""


def of_rayjobs(namespace: str, name: str) -> Manifest:
    return a_rayjob({"metadata.namespace": namespace, "metadata.name": name})


def of_trainjobs(namespace: str, name: str) -> Manifest:
    """Return one whose runtime is not there: that is said in its status."""
    return {
        "apiVersion": TRAINJOBS.api_version,
        "kind": TRAINJOBS.kind,
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"runtimeRef": {"name": "torch", "kind": "TrainingRuntime"}},
    }


@pytest.mark.parametrize(
    ("resource", "make"),
    [
        pytest.param(RAYJOBS, of_rayjobs, id="RayJob"),
        pytest.param(TRAINJOBS, of_trainjobs, id="TrainJob"),
    ],
)
def test_a_job_is_begun_in_turns_with_five_hundred_of_another_tenant(
    resource: Resource, make: Callable[[str, str], Manifest]
) -> None:
    world = ServiceWorld(job_kinds=(resource.kind,))
    world.run(lambda: True, "it has begun")
    for name in ("flood", "calm"):
        made: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        world.cluster.create(NAMESPACES, made)
    for number in range(FLOOD):
        world.cluster.create(resource, make("flood", f"job-{number}"))
    world.cluster.create(resource, make("calm", "job"))
    begun: list[str] = []
    for _ in range(20_000):
        world.step()
        jobs = world.cluster.list(resource).items
        begun = [str(child(job, "metadata").get("namespace")) for job in jobs if is_begun(job)]
        if "calm" in begun:
            break
    assert begun.count("calm") == 1
    assert begun.count("flood") <= BEFORE_MAX


def is_begun(job: Manifest) -> bool:
    return bool(child(job, "metadata").get("finalizers")) or bool(job.get("status"))
