"""A controller that was off for a while, and the job that another one drove on meanwhile.

No recorder ran in between, so nobody has written down what the other one did.
"""

from dataclasses import replace

import pytest

from jobledger.adapters.service.control.control_policy import ControlPolicy
from jobledger.core.ports.cluster import RAYCLUSTERS, RAYJOBS
from jobledger.core.rayjob.names import ATTEMPT_ANNOTATION
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import rfc3339
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP
from tests.support.service_world import DOOR, ServiceWorld

RUN_SECONDS = 300


def running() -> tuple[ServiceWorld, StreamId]:
    """Return a world with a job that runs, and whose controller has been stopped."""
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(a_rayjob(submissionMode=HTTP, backoffLimit=1))
    world.run(lambda: status(world).get("jobStatus") == "RUNNING", "the job to run")
    world.service.controller.stop()
    world.cluster.disconnect()
    return world, stream


def status(world: ServiceWorld) -> Manifest:
    return child(world.job("train"), "status")


def written_by_kuberay(world: ServiceWorld, **said: object) -> None:
    """Write the status as KubeRay's controller does: under its name."""
    at = rfc3339(world.clock.now())
    fields: dict[str, object] = {f"f:{name}": {} for name in ("jobDeploymentStatus", "jobStatus")}
    entry = {
        "manager": "ray-operator",
        "subresource": "status",
        "time": at,
        "fieldsV1": {"f:status": fields},
    }
    metadata = {**child(world.job("train"), "metadata"), "managedFields": [entry]}
    shown = {**status(world), **said}
    world.cluster.edit(RAYJOBS, "ml", "train", metadata=metadata, status=shown)


def come_back(world: ServiceWorld, *, take_over: bool) -> None:
    """Start the controller anew and let it do what it has to, for five minutes."""
    world.mapper = replace(DOOR, control_policy=ControlPolicy(take_over=take_over))
    world.service = world.start_service("b")
    for _ in range(RUN_SECONDS):
        while world.step():
            pass
        world.clock.advance(1)


@pytest.mark.parametrize("take_over", [False, True])
def test_a_job_that_another_has_completed_is_not_run_again(*, take_over: bool) -> None:
    world, stream = running()
    (made,) = world.cluster.peek(RAYCLUSTERS)
    ended = rfc3339(world.clock.now())
    succeeded = {"jobStatus": "SUCCEEDED", "succeeded": 1, "endTime": ended}
    written_by_kuberay(world, jobDeploymentStatus="Complete", **succeeded)
    runs = list(world.plane.runs)
    world.clock.advance(3600)
    come_back(world, take_over=take_over)
    assert world.phase("train") == "Complete"
    assert world.plane.runs == runs
    assert world.cluster.peek(RAYCLUSTERS) == [made]
    told = [item.record.type for item in world.store.read_stream(stream)]
    assert told.index("ControlReleased") < told.index("JobCompleted") < told.index("ControlTaken")


def test_a_raycluster_that_a_status_names_and_that_went_unseen_is_told_as_gone() -> None:
    """It is adopted by name: nobody here has seen its UID, and no watch tells that it went."""
    world = ServiceWorld()
    world.plane.holds = True
    world.cluster.disconnect()
    shown = {
        "jobDeploymentStatus": "Running",
        "jobStatus": "RUNNING",
        "jobId": "theirs",
        "rayClusterName": "train-theirs",
        "dashboardURL": "train-theirs-head-svc.ml.svc.cluster.local:8265",
        "startTime": rfc3339(world.clock.now()),
    }
    world.create(a_rayjob(submissionMode=HTTP, backoffLimit=2))
    written_by_kuberay(world, **shown)
    world.mapper = replace(DOOR, control_policy=ControlPolicy(take_over=True))
    world.service = world.start_service("b")
    world.run(lambda: status(world).get("failed") == 1, "the loss to be told")
    world.run(lambda: world.cluster.peek(RAYCLUSTERS) != [], "another RayCluster")
    (made,) = world.cluster.peek(RAYCLUSTERS)
    assert text(made, "metadata", "annotations", ATTEMPT_ANNOTATION) == "2"
