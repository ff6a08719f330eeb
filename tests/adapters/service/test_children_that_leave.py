"""What a job runs on loses its controller, or gets another: it is the job's no more.

Whoever may change such an object can take its owner reference away; an orphaning deletion does so
as well. Then it counts as gone, for every kind of job, whether a watch tells of it or a look after
a restart: else the job waits for ever for an object of which it hears nothing more. Nothing that is
nobody's is written or deleted.
"""

from collections.abc import Callable

import pytest

from jobledger.core.ports.cluster import BATCH_JOBS, CONFIGMAPS, JOBSETS, RAYCLUSTERS, Resource
from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.owned import controller
from tests.adapters.service.races import begun
from tests.support.job_world import JobWorld, a_job
from tests.support.service_world import ServiceWorld
from tests.support.train_world import TrainWorld

World = TrainWorld | JobWorld
LOOKS, LOOK_SECONDS = 8, 20.0
"""So often everybody looks around afterwards, each after so many seconds."""


def rayjob_by_http() -> tuple[World, StreamId, Resource]:
    race = begun("RayJob by HTTP")
    return race.world, race.stream, RAYCLUSTERS


def rayjobs_submitter() -> tuple[World, StreamId, Resource]:
    race = begun("RayJob")
    return race.world, race.stream, BATCH_JOBS


def trainjob() -> tuple[World, StreamId, Resource]:
    race = begun("TrainJob")
    return race.world, race.stream, JOBSETS


def batch_job() -> tuple[World, StreamId, Resource]:
    world = JobWorld()
    world.holds = True
    stream = world.give(a_job(retries=1))
    world.run(lambda: child(world.etl, "status").get("ready") == 1, "its Pod is ready")
    return world, stream, BATCH_JOBS


def its(world: World, resource: Resource) -> Manifest:
    """Return the one object of the kind that a job controls."""
    (found,) = [
        one for one in world.cluster.peek(resource) if items(one, "metadata", "ownerReferences")
    ]
    return found


def own(world: World, resource: Resource, one: Manifest, owners: Json) -> None:
    patch: Manifest = {"metadata": {"ownerReferences": owners}}
    world.cluster.patch_as("somebody", resource, "ml", text(one, "metadata", "name"), patch)


def look_around(world: ServiceWorld) -> None:
    for _ in range(LOOKS):
        world.run(lambda: True, "nothing is left to do")
        world.clock.advance(LOOK_SECONDS)
        world.service.controller.look_around()
    world.run(lambda: True, "nothing is left to do")


Begun = Callable[[], tuple[World, StreamId, Resource]]
WAYS: dict[Begun, str] = {
    rayjob_by_http: "ClusterVanished",
    rayjobs_submitter: "SubmitterVanished",
    trainjob: "JobSetVanished",
    batch_job: "AttemptJobVanished",
}


@pytest.mark.parametrize("anothers", [False, True], ids=["nobody's", "another's"])
@pytest.mark.parametrize("down", [False, True], ids=["told", "while nobody watches"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_loses_its_controller_counts_as_gone(
    way: Begun, *, anothers: bool, down: bool
) -> None:
    world, stream, resource = way()
    before = its(world, resource)
    other: Manifest = {"apiVersion": "v1", "kind": "ConfigMap"}
    other = {**other, "metadata": {"name": "other", "namespace": "ml"}}
    owners: Json = [controller(world.cluster.plant(CONFIGMAPS, other))] if anothers else None
    if down:
        world.cluster.disconnect()
    own(world, resource, before, owners)
    if down:
        world.service = world.start_service()
    look_around(world)
    assert world.told(stream).count(WAYS[way]) == 1
    name, uid = text(before, "metadata", "name"), text(before, "metadata", "uid")
    after = world.cluster.get(resource, "ml", name) or {}
    assert text(after, "metadata", "uid") == uid, "nobody deletes it"
    assert after.get("spec") == before.get("spec"), "nor writes to it"
    assert not text(after, "metadata", "deletionTimestamp")
