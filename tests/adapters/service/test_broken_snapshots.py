"""A snapshot that is broken is a failed build until somebody deletes it, as the docs say.

Whenever that is, and whoever was there to see it, the job goes on then.
"""

import pytest

from jobledger.core.ports.cluster import CONFIGMAPS, JOBSETS
from tests.support.train_world import TrainWorld

SNAPSHOT = "train-runtime-snapshot"
GARBLED = {"runtime": "{"}


def settle(world: TrainWorld) -> None:
    """Let the service look around, as it does every minute, and do what follows."""
    world.run(lambda: True, "rest")
    world.service.controller.look_around()
    world.run(lambda: True, "rest")


def broken(*, created: bool) -> TrainWorld:
    """Return a world with a job that cannot be built because of its snapshot.

    It was created before, and its JobSet has gone; or it never was, as a JobSet had its name.
    """
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    if not created:
        about = {"name": "train", "namespace": "ml"}
        world.cluster.create(JOBSETS, {"metadata": about, "spec": {"suspend": True}})
    world.train()
    world.run(world.is_so("Created", "True" if created else "False"), "the first try")
    world.cluster.edit(CONFIGMAPS, "ml", SNAPSHOT, data=GARBLED)
    settle(world)
    world.cluster.delete(JOBSETS, "ml", "train")
    world.run(lambda: world.condition("Created")[1] == "JobsBuildFailed", "the failed build")
    return world


@pytest.mark.parametrize("created", [True, False], ids=["was created", "never was"])
@pytest.mark.parametrize("away", [False, True], ids=["seen", "nobody watches"])
def test_the_job_goes_on_once_it_is_deleted(*, created: bool, away: bool) -> None:
    world = broken(created=created)
    if away:
        world.cluster.disconnect()
    world.cluster.delete(CONFIGMAPS, "ml", SNAPSHOT)
    if away:
        world.service = world.start_service()
    settle(world)
    world.run(world.is_so("Created"), "the objects to be made")
    assert world.jobset


def test_it_does_so_however_often_that_happens() -> None:
    world = broken(created=True)
    for _ in range(6):
        world.cluster.delete(CONFIGMAPS, "ml", SNAPSHOT)
        world.run(world.is_so("Created"), "the objects to be made")
        world.cluster.edit(CONFIGMAPS, "ml", SNAPSHOT, data=GARBLED)
        settle(world)
        world.cluster.delete(JOBSETS, "ml", "train")
        world.run(lambda: world.condition("Created")[1] == "JobsBuildFailed", "the failed build")
