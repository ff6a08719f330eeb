"""What a RayJob is made of and somebody deletes: each part in each phase, and what comes back.

The Service of the job's head and Volcano's PodGroup are made again while the job needs them, as by
upstream's next pass; the submitter is not, as it would hand the entrypoint in once more; what has
run on a RayCluster that is gone counts as failed, and the next attempt has another.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jobledger.core.jobs.policy import Policy
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    RAYCLUSTERS,
    RAYJOBS,
    SERVICES,
    VOLCANO_POD_GROUPS,
    Resource,
)
from jobledger.core.rayjob.manifests.gang_scheduling import VOLCANO
from jobledger.core.rayjob.spec.installation import Installation
from jobledger.core.values.documents import child, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import K8S
from tests.support.service_world import DOOR, ServiceWorld

GROUPED = replace(DOOR, policy=Policy(batch_scheduler=VOLCANO)).knowing(
    Installation(batch_scheduler=VOLCANO)
)
SERVICE, GROUP = (SERVICES, "train-head-svc"), (VOLCANO_POD_GROUPS, "ray-train-pg")
part = pytest.mark.parametrize(("resource", "name"), [SERVICE, GROUP], ids=["Service", "PodGroup"])


def begun(phase: str, **spec: Any) -> tuple[ServiceWorld, StreamId]:  # noqa: ANN401 any JSON
    """Return a world with a job that stays in a phase."""
    world = ServiceWorld(mapper=GROUPED)
    world.plane.holds = True
    if phase == "Initializing":
        world.plane._start_head = lambda: False  # type: ignore[method-assign]  # noqa: SLF001 it stays pending
    stream = world.create(
        a_rayjob(**{"submissionMode": K8S, "shutdownAfterJobFinishes": True, **spec})
    )
    world.run(lambda: world.phase("train") == phase, f"the job to be {phase}")
    if phase == "Running":
        world.run(lambda: "EntrypointObserved" in told(world, stream), "Ray to tell of it")
    return world, stream


def told(world: ServiceWorld, stream: StreamId) -> list[str]:
    return [item.record.type for item in world.store.read_stream(stream)]


def uid_of(world: ServiceWorld, resource: Resource, name: str) -> str:
    return text(world.cluster.get(resource, "ml", name) or {}, "metadata", "uid")


def settle(world: ServiceWorld) -> None:
    """Let the service look around, as it does every minute, and do what follows."""
    world.run(lambda: True, "rest")
    world.service.controller.look_around()
    world.run(lambda: True, "rest")


def is_another(world: ServiceWorld, resource: Resource, name: str) -> Callable[[], bool]:
    before = uid_of(world, resource, name)
    assert before, "it is there first"
    return lambda: uid_of(world, resource, name) not in ("", before)


NEEDED = [
    pytest.param(SERVICE, "Running", id="Service-Running"),
    pytest.param(GROUP, "Initializing", id="PodGroup-Initializing"),
]


@pytest.mark.parametrize(("what", "phase"), NEEDED)
@pytest.mark.parametrize("watched", [True, False], ids=["", "while nobody was there"])
def test_it_is_made_again(what: tuple[Resource, str], phase: str, *, watched: bool) -> None:
    world, stream = begun(phase)
    made_again = is_another(world, *what)
    world.cluster.delete(what[0], "ml", what[1])
    if not watched:
        world.restart()
    settle(world)
    assert made_again()
    settled = len(told(world, stream))
    settle(world)
    assert len(told(world, stream)) == settled, "once is enough"
    again = is_another(world, *what)
    world.cluster.delete(what[0], "ml", what[1])
    settle(world)
    assert again(), "as often as it goes"
    assert told(world, stream).count("PartVanished") == 2


def test_the_service_leads_to_the_raycluster_of_the_attempt() -> None:
    world, _ = begun("Running")
    world.cluster.delete(SERVICES, "ml", "train-head-svc")
    settle(world)
    made = world.cluster.get(SERVICES, "ml", "train-head-svc")
    running = text(child(world.job("train"), "status"), "rayClusterName")
    assert text(made, "spec", "selector", "ray.io/cluster") == running


def test_what_has_its_name_and_is_anothers_is_told() -> None:
    world, stream = begun("Running")
    world.cluster.delete(SERVICES, "ml", "train-head-svc")
    theirs: dict[str, Any] = {"metadata": {"name": "train-head-svc", "namespace": "ml"}}
    world.cluster.create(SERVICES, {**theirs, "spec": {"ports": [{"port": 80}]}})
    before = uid_of(world, *SERVICE)
    settle(world)
    assert uid_of(world, *SERVICE) == before
    assert "PartVanished" in told(world, stream)
    assert "EffectFailed" in told(world, stream)


@part
@pytest.mark.parametrize("end", ["Complete", "Suspended", "deleted"])
def test_nothing_is_made_again_that_is_not_needed(resource: Resource, name: str, end: str) -> None:
    world, stream = begun("Running")
    if end == "Complete":
        world.plane.holds = False
    elif end == "Suspended":
        world.cluster.merge_patch(RAYJOBS, "ml", "train", {"spec": {"suspend": True}})
    else:
        kept: dict[str, Any] = {"metadata": {"finalizers": ["example.com/keeps"]}}
        world.cluster.merge_patch(RAYJOBS, "ml", "train", kept)
        world.cluster.delete(RAYJOBS, "ml", "train")
    if end != "deleted":
        world.run(lambda: world.phase("train") == end, f"the job to be {end}")
    settle(world)
    world.cluster.delete(resource, "ml", name)
    settle(world)
    world.restart()
    settle(world)
    assert uid_of(world, resource, name) == ""
    assert "PartVanished" not in told(world, stream)


def test_a_podgroup_of_a_job_that_runs_is_not_missed() -> None:
    """As upstream has it: it is looked at in Initializing alone."""
    world, stream = begun("Running")
    world.cluster.delete(VOLCANO_POD_GROUPS, "ml", "ray-train-pg")
    settle(world)
    assert uid_of(world, *GROUP) == ""
    assert "PartVanished" not in told(world, stream)


@pytest.mark.parametrize("phase", ["Initializing", "Waiting", "Running"])
def test_a_raycluster_that_goes_is_followed_by_another(phase: str) -> None:
    """Before anything was handed in of the same attempt; else that counts as failed."""
    by_hand = {"submissionMode": "InteractiveMode"} if phase == "Waiting" else {"backoffLimit": 1}
    world, _ = begun(phase, **by_hand)
    (before,) = world.cluster.list(RAYCLUSTERS, "ml").items
    world.cluster.delete(RAYCLUSTERS, "ml", text(before, "metadata", "name"))
    world.run(lambda: world.cluster.list(RAYCLUSTERS, "ml").items != [], "another to be there")
    world.run(lambda: world.phase("train") == phase, f"the job to be {phase} again")
    (after,) = world.cluster.list(RAYCLUSTERS, "ml").items
    assert text(after, "metadata", "uid") != text(before, "metadata", "uid")
    names = {text(one, "metadata", "name") for one in (before, after)}
    assert len(names) == (2 if phase == "Running" else 1)
    failed = child(world.job("train"), "status").get("failed")
    assert failed == (1 if phase == "Running" else 0)


def test_a_submitter_that_goes_is_not_made_again_and_the_ray_job_tells_the_end() -> None:
    world, stream = begun("Running")
    before = uid_of(world, BATCH_JOBS, "train")
    assert before
    world.cluster.delete(BATCH_JOBS, "ml", "train")
    settle(world)
    assert uid_of(world, BATCH_JOBS, "train") == ""
    assert "SubmitterVanished" in told(world, stream)
    world.plane.holds = False
    world.run(lambda: world.phase("train") == "Complete", "the job to be complete")
    assert len(world.plane.runs) == 1
