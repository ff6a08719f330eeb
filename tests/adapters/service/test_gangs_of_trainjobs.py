"""PodGroups of TrainJobs: two groups of the API have a kind of that name, and both are watched."""

import pytest

from jobledger.core.ports.cluster import POD_GROUPS, VOLCANO_POD_GROUPS, Resource
from jobledger.core.values.documents import number, text
from tests.support.train_world import Document, TrainWorld, torch_runtime

GANGS = pytest.mark.parametrize(
    ("policy", "resource", "other"),
    [
        ("coscheduling", POD_GROUPS, VOLCANO_POD_GROUPS),
        ("volcano", VOLCANO_POD_GROUPS, POD_GROUPS),
    ],
)


def a_gang(policy: str, kinds: tuple[str, ...] = ("RayJob", "TrainJob")) -> TrainWorld:
    """Return a world with a job that runs as a gang."""
    world = TrainWorld()
    world.job_kinds = kinds
    world.restart()
    world.jobsets.holds = True
    runtime = torch_runtime()
    runtime["spec"]["podGroupPolicy"] = {policy: {}}
    world.install_runtime(runtime)
    world.train()
    world.run(world.is_so("Created"), "the objects")
    return world


def uid_of(world: TrainWorld, resource: Resource) -> str:
    return text(world.cluster.get(resource, "ml", "train"), "metadata", "uid")


@GANGS
def test_one_that_somebody_deletes_is_made_again_at_once(
    policy: str, resource: Resource, other: Resource
) -> None:
    world = a_gang(policy)
    before = uid_of(world, resource)
    world.cluster.delete(resource, "ml", "train")
    world.run(lambda: uid_of(world, resource) not in ("", before), "another")
    assert uid_of(world, other) == "", "of the other group nothing is made"


@GANGS
def test_what_somebody_changed_while_the_job_was_suspended_is_taken_back_at_its_resume(
    policy: str, resource: Resource, other: Resource
) -> None:
    del other
    world = a_gang(policy)

    def members() -> int | None:
        return number(world.cluster.get(resource, "ml", "train"), "spec", "minMember")

    def change(members: int) -> None:
        patch: Document = {"spec": {"minMember": members}}
        world.cluster.patch_as("somebody", resource, "ml", "train", patch)

    before = members()
    world.change(suspend=True)
    world.run(world.is_so("Suspended"), "the suspension")
    change(9)
    world.change(suspend=False)
    world.run(world.is_so("Suspended", "False"), "the resume")
    assert members() == before, "a gang of nine would never be placed"
    change(8)
    world.change(runtimePatches=[])
    world.run(lambda: True, "nothing")
    assert members() == 8, "the gang of a job that runs is left alone, as Trainer leaves it"


@GANGS
def test_also_where_trainjobs_are_the_only_kind(
    policy: str, resource: Resource, other: Resource
) -> None:
    del other
    world = a_gang(policy, ("TrainJob",))
    before = uid_of(world, resource)
    world.cluster.delete(resource, "ml", "train")
    world.run(lambda: uid_of(world, resource) not in ("", before), "another")


@GANGS
def test_one_of_the_same_name_in_the_other_group_is_none_of_its_business(
    policy: str, resource: Resource, other: Resource
) -> None:
    world = a_gang(policy)
    theirs: Document = {"metadata": {"namespace": "ml", "name": "train"}, "spec": {"minMember": 7}}
    planted = text(world.cluster.plant(other, theirs), "metadata", "uid")
    ours = uid_of(world, resource)
    world.cluster.delete(other, "ml", "train")
    world.change(suspend=True)
    world.run(world.is_so("Suspended"), "the suspension")
    assert uid_of(world, resource) == ours != planted
    assert uid_of(world, other) == "", "it is not made again"


@GANGS
def test_the_log_says_of_which_kind_it_was(
    policy: str, resource: Resource, other: Resource
) -> None:
    del other
    world = a_gang(policy)
    world.cluster.delete(resource, "ml", "train")
    world.run(lambda: uid_of(world, resource) != "", "another")
    (stream,) = {job.identity.stream_id for job in world.service.live.jobs()}
    told = [item.record.data for item in world.store.read_stream(stream)]
    kinds = [item.get("kind") for item in told if item.get("name") == "train" and "uid" in item]
    assert f"PodGroup.{resource.group}" in kinds
