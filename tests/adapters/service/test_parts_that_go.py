"""What a TrainJob is made of and somebody deletes is made again while the job needs it.

As upstream does it at its next pass, with new keys in a Secret that is gone; each part at each time
of a job's life, seen by a watch, by a look around, or after a time in which nobody was there.
"""

from collections.abc import Callable
from typing import Any

import pytest

from jobledger.core.errors import RequestForbidden
from jobledger.core.ports.cluster import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIGMAPS,
    JOBSETS,
    POD_GROUPS,
    SECRETS,
    Resource,
)
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId
from tests.support.train_world import TrainWorld, torch_runtime

PARTS = {
    "the runtime's snapshot": (CONFIGMAPS, "train-runtime-snapshot"),
    "the hosts": (CONFIGMAPS, "train-mpi-hostfile"),
    "the keys": (SECRETS, "train-mpi-ssh-auth"),
    "the gang": (POD_GROUPS, "train"),
    "the JobSet": (JOBSETS, "train"),
}
part = pytest.mark.parametrize(("resource", "name"), PARTS.values(), ids=list(PARTS))


def gang_runtime() -> dict[str, Any]:
    """Return a runtime of MPI in a gang, which makes all kinds of objects."""
    runtime: dict[str, Any] = torch_runtime()
    spec = runtime["spec"]
    spec["mlPolicy"] = {"numNodes": 2, "mpi": {"mpiImplementation": "OpenMPI"}}
    spec["podGroupPolicy"] = {"coscheduling": {"scheduleTimeoutSeconds": 60}}
    (node,) = spec["template"]["spec"]["replicatedJobs"]
    spec["template"]["spec"]["replicatedJobs"] = [{**node, "name": "launcher"}, node]
    return runtime


def begun(*, until: str = "Created", suspend: bool = False) -> tuple[TrainWorld, StreamId]:
    """Return a world with a job whose Pods run, or wait, until they are let end."""
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime(gang_runtime())
    stream = world.train(suspend=suspend)
    world.run(world.is_so(until), f"the job to be {until}")
    return world, stream


def uid_of(world: TrainWorld, resource: Resource, name: str) -> str:
    return text(world.cluster.get(resource, "ml", name) or {}, "metadata", "uid")


def is_another(world: TrainWorld, resource: Resource, name: str) -> Callable[[], bool]:
    """Return a question: whether there is an object that is not the one of now."""
    before = uid_of(world, resource, name)
    assert before, "it is there first"
    return lambda: uid_of(world, resource, name) not in ("", before)


def settle(world: TrainWorld) -> None:
    """Let the service look around, as it does every minute, and do what follows."""
    world.run(lambda: True, "rest")
    world.service.controller.look_around()
    world.run(lambda: True, "rest")


@part
@pytest.mark.parametrize("suspend", [False, True], ids=["runs", "suspended"])
def test_it_is_made_again(resource: Resource, name: str, *, suspend: bool) -> None:
    world, stream = begun(until="Suspended" if suspend else "Created", suspend=suspend)
    made_again = is_another(world, resource, name)
    world.cluster.delete(resource, "ml", name)
    settle(world)
    assert made_again()
    settled = len(world.told(stream))
    settle(world)
    assert len(world.told(stream)) == settled, "once is enough"


@part
def test_it_is_made_again_after_a_time_in_which_nobody_watched(
    resource: Resource, name: str
) -> None:
    world, _ = begun()
    made_again = is_another(world, resource, name)
    world.cluster.disconnect()
    world.cluster.delete(resource, "ml", name)
    world.service = world.start_service()
    settle(world)
    assert made_again()


@part
def test_it_is_made_again_while_the_objects_cannot_all_be_made(
    resource: Resource, name: str
) -> None:
    """Suspended, with a runtime that cannot be built: what went comes back once it can."""
    world, _ = begun(until="Suspended", suspend=True)
    world.change(suspend=True, trainer={"env": [{"name": "OMPI_MCA_plm_rsh_args", "value": "x"}]})
    world.run(world.is_so("Created", "False"), "the build to be refused")
    made_again = is_another(world, resource, name)
    world.cluster.delete(resource, "ml", name)
    settle(world)
    world.change(suspend=True, trainer={"command": ["run"]})
    world.run(world.is_so("Created"), "the build to succeed")
    assert made_again()


@part
def test_after_the_end_nothing_is_made(resource: Resource, name: str) -> None:
    world, stream = begun()
    world.jobsets.holds = False
    world.run(world.is_so("Complete"), "the job to be over")
    world.cluster.delete(resource, "ml", name)
    settle(world)
    world.restart()
    settle(world)
    assert uid_of(world, resource, name) == ""
    assert "DependentVanished" not in world.told(stream)


def test_the_keys_stay_as_they_are_while_their_secret_is_there() -> None:
    """Pods of one job that started at different times have to know each other's keys."""
    world, _ = begun()

    def keys() -> Manifest:
        return child(world.cluster.get(SECRETS, "ml", "train-mpi-ssh-auth") or {}, "data")

    before = keys()
    world.cluster.delete(CONFIGMAPS, "ml", "train-mpi-hostfile")
    world.cluster.delete(JOBSETS, "ml", "train")
    settle(world)
    world.restart()
    settle(world)
    assert keys() == before != {}


def test_what_may_not_be_read_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The right to read Secrets may be taken away while the job runs."""
    world, stream = begun()
    get = world.cluster.get
    asked: list[str] = []

    def forbidden(resource: Resource, namespace: str, name: str) -> Manifest | None:
        if resource == SECRETS:
            asked.append(name)
            message = "secrets is forbidden"
            raise RequestForbidden(message)
        return get(resource, namespace, name)

    monkeypatch.setattr(world.cluster, "get", forbidden)
    before = len(world.told(stream))
    settle(world)
    assert asked == ["train-mpi-ssh-auth"], "once for each look"
    assert len(world.told(stream)) == before


def test_a_part_that_the_runtime_no_longer_has_is_looked_for_once() -> None:
    """Until everything was created once a changed runtime counts: its parts may be others."""
    world, stream = begun()
    world.cluster.edit(CLUSTER_TRAINING_RUNTIMES, "", "torch", spec=torch_runtime("torch")["spec"])
    world.cluster.delete(CONFIGMAPS, "ml", "train-runtime-snapshot")
    settle(world)
    world.cluster.delete(SECRETS, "ml", "train-mpi-ssh-auth")
    settle(world)
    told = len(world.told(stream))
    for _ in range(3):
        settle(world)
    assert len(world.told(stream)) == told
    assert uid_of(world, SECRETS, "train-mpi-ssh-auth") == ""
