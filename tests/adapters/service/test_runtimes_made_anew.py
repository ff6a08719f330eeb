"""A runtime that is deleted and made anew, as by `kubectl replace --force`, while no watch tells.

A new list tells of the one that is there, and then that the one before is gone.
"""

import pytest

from jobledger.core.errors import RequestForbidden
from jobledger.core.ports.cluster import CLUSTER_TRAINING_RUNTIMES, JOBSETS, Resource
from jobledger.core.values.documents import Manifest
from tests.support.etcd_backup import list_anew
from tests.support.train_world import TrainWorld, torch_runtime


def test_a_job_that_waits_is_built_from_the_one_that_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was built from the snapshot of the one before, though its objects had never been made."""
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    with monkeypatch.context() as patched:
        patched.setattr(world.cluster, "apply", without_jobsets(world))
        world.train()
        world.run(world.is_so("Created", "False"), "a quota refuses its JobSet")
        replace_unheard(world)
        world.run(lambda: "numNodes: 5" in world.snapshot, "a snapshot of the new one")
    world.run(world.is_so("Created"), "the objects")
    assert "numNodes: 5" in world.snapshot


def without_jobsets(world: TrainWorld) -> object:
    apply = world.cluster.apply

    def refuse(resource: Resource, manifest: Manifest, **more: object) -> Manifest:
        if resource == JOBSETS:
            raise RequestForbidden("exceeded quota")
        return apply(resource, manifest, **more)  # type: ignore[arg-type]  # as it was called

    return refuse


def replace_unheard(world: TrainWorld) -> None:
    """Put another runtime in the place of the one that is there, and list everything anew."""
    before = world.cluster.get(CLUSTER_TRAINING_RUNTIMES, "", "torch")
    changed = torch_runtime()
    changed["spec"]["mlPolicy"]["numNodes"] = 5
    with world.cluster.unheard():
        world.cluster.delete(CLUSTER_TRAINING_RUNTIMES, "", "torch")
        world.cluster.create(CLUSTER_TRAINING_RUNTIMES, changed)
    list_anew(world.cluster, world.clock.now(), [before])
