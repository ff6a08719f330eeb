"""A job that asks for retries on the same RayCluster, handed to KubeRay in mid-retry and back.

KubeRay knows no such retry: what it takes over it retries on a RayCluster of its own. What is given
back never runs twice, keeps its counts, and leaves no RayCluster behind.
"""

from dataclasses import replace
from typing import Any

import pytest

from jobledger.adapters.service.control.control_policy import ControlPolicy
from jobledger.core.jobs.control.control_policy import Control, ControlScope
from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, RAYJOBS
from jobledger.core.ports.ray_jobs import Submission
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import rfc3339
from tests.adapters.service.owned import controller
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP, K8S, assert_whole, created, is_over
from tests.support.service_world import DOOR, IDLE_SECONDS, STEPS_MAX, ServiceWorld

ASKED = {"jobledger.dev/retry-on": "same-cluster"}
PAUSED = {**ASKED, "jobledger.dev/retry-delay-seconds": "3600"}
THEIRS = "train-theirs"
THEIR_JOB = "theirs-2"


def begun(
    mode: str, annotations: dict[str, str], exit_codes: list[int], limit: int = 1
) -> tuple[ServiceWorld, StreamId]:
    """Return a world with a job that asks for the same RayCluster."""
    world = ServiceWorld(exit_codes=exit_codes)
    manifest = a_rayjob(submissionMode=mode, backoffLimit=limit, shutdownAfterJobFinishes=True)
    manifest["metadata"]["annotations"] = annotations
    return world, world.create(manifest)


def status(world: ServiceWorld) -> Manifest:
    return child(world.job("train"), "status")


def counts(world: ServiceWorld) -> tuple[object, object]:
    return status(world).get("failed"), status(world).get("succeeded")


def started_anew(world: ServiceWorld, control: Control) -> None:
    """Start the service with another control policy, and let everything be heard."""
    world.cluster.disconnect()
    policy = ControlPolicy(ControlScope(control=control), take_over=True)
    world.mapper = replace(DOOR, control_policy=policy)
    world.service = world.start_service()
    world.run(world.service.controller.knows_all, "the service to know all")


def given_away(world: ServiceWorld) -> None:
    """Let the service record only; KubeRay drives the job from now on."""
    started_anew(world, Control.NOTHING)


def given_back(world: ServiceWorld) -> None:
    started_anew(world, Control.ALL)


def state_of(world: ServiceWorld, stream: StreamId) -> Any:  # noqa: ANN401 any kind of state
    slot = world.service.slots.held(stream)
    assert slot is not None
    return slot.view.state


def kuberay_writes(world: ServiceWorld, **said: object) -> None:
    """Write the status as KubeRay's controller does: under its name."""
    entry = {
        "manager": "ray-operator",
        "subresource": "status",
        "time": rfc3339(world.clock.now()),
        "fieldsV1": {"f:status": {"f:jobDeploymentStatus": {}, "f:jobStatus": {}}},
    }
    metadata = {**child(world.job("train"), "metadata"), "managedFields": [entry]}
    shown = {**status(world), **said}
    world.cluster.edit(RAYJOBS, "ml", "train", metadata=metadata, status=shown)
    world.run(lambda: True, "that to be heard")


def kuberay_clears(world: ServiceWorld) -> None:
    """Delete what the failed attempt has left, as KubeRay does in Retrying."""
    for resource in (RAYCLUSTERS, BATCH_JOBS):
        for item in world.cluster.peek(resource):
            world.cluster.delete(resource, "ml", text(item, "metadata", "name"))
    world.run(lambda: not world.cluster.peek(RAYCLUSTERS), "the RayCluster to go")


def kuberay_retries(world: ServiceWorld) -> str:
    """Begin the second attempt as KubeRay does, in HTTPMode; return the address of its head."""
    kuberay_clears(world)
    gone: dict[str, object] = {"rayClusterName": "", "jobId": "", "jobStatus": ""}
    kuberay_writes(world, jobDeploymentStatus="", reason="", message="", **gone)
    begins = {"rayClusterName": THEIRS, "jobId": THEIR_JOB}
    since = rfc3339(world.clock.now())
    kuberay_writes(world, jobDeploymentStatus="Initializing", startTime=since, **begins)
    metadata: Manifest = {
        "name": THEIRS,
        "namespace": "ml",
        "labels": {"ray.io/originated-from-cr-name": "train"},
        "ownerReferences": [controller({**world.job("train"), **KIND})],
    }
    head = {"apiVersion": RAYCLUSTERS.api_version, "kind": RAYCLUSTERS.kind}
    spec = child(world.job("train"), "spec", "rayClusterSpec")
    world.cluster.create(RAYCLUSTERS, {**head, "metadata": metadata, "spec": spec})
    world.run(lambda: bool(world.plane.heads), "its head")
    (address,) = world.plane.heads.values()
    submission = Submission(
        entrypoint="python train.py",
        submission_id=THEIR_JOB,
        metadata={},
        runtime_env={},
        resources={},
    )
    world.plane.holds = True
    world.ray.submit(address, submission)
    running = {"dashboardURL": address, "jobStatus": "RUNNING"}
    kuberay_writes(world, jobDeploymentStatus="Running", **running)
    return address


KIND: Manifest = {"apiVersion": RAYJOBS.api_version, "kind": RAYJOBS.kind}


def retrying(mode: str, exit_codes: list[int], limit: int = 1) -> tuple[ServiceWorld, StreamId]:
    """Return a world whose job is in the pause before its retry, with its RayCluster kept."""
    world, stream = begun(mode, PAUSED, exit_codes, limit)
    world.run(lambda: world.phase("train") == "Retrying", "the first attempt to fail")
    (kept,) = world.cluster.peek(RAYCLUSTERS)
    assert not text(kept, "metadata", "deletionTimestamp")
    assert state_of(world, stream).attempt.keeps_cluster
    return world, stream


@pytest.mark.parametrize("mode", [K8S, HTTP])
def test_given_away_in_the_pause_and_back_it_is_retried_on_a_new_raycluster(mode: str) -> None:
    world, stream = retrying(mode, [1, 0])
    given_away(world)
    assert state_of(world, stream).recorded is not None
    assert len(world.cluster.peek(RAYCLUSTERS)) == 1, "who only records deletes nothing"
    given_back(world)
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert (world.phase("train"), *counts(world)) == ("Complete", 1, 1)
    assert (created(world, "rayclusters"), len(world.plane.runs)) == (2, 2)
    assert len({job_id for _, job_id in world.plane.runs}) == 2
    assert_whole(world, stream)


@pytest.mark.parametrize("mode", [K8S, HTTP])
def test_given_back_once_kuberay_has_cleared_away_it_is_retried_on_a_new_one(mode: str) -> None:
    world, stream = retrying(mode, [1, 0])
    given_away(world)
    kuberay_clears(world)
    kuberay_writes(world, jobDeploymentStatus="Retrying")
    given_back(world)
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert (world.phase("train"), *counts(world)) == ("Complete", 1, 1)
    assert (created(world, "rayclusters"), len(world.plane.runs)) == (2, 2)
    assert_whole(world, stream)


@pytest.mark.parametrize(("ends", "limit", "clusters"), [([1, 0], 1, 2), ([1, 1, 0], 2, 3)])
def test_what_kuberay_has_begun_goes_on_here_and_is_followed_by_a_new_raycluster(
    ends: list[int], limit: int, clusters: int
) -> None:
    """Which Ray jobs its head has had is not known, so the next attempt does not run there."""
    world, stream = retrying(HTTP, ends, limit)
    given_away(world)
    address = kuberay_retries(world)
    given_back(world)
    attempt = state_of(world, stream).attempt
    assert (attempt.number, attempt.cluster_name, attempt.job_id) == (2, THEIRS, THEIR_JOB)
    assert not attempt.same_cluster
    world.cluster.edit(RAYJOBS, "ml", "train", metadata=unpaused(world))
    world.plane.holds = False
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert (world.phase("train"), *counts(world)) == ("Complete", limit, 1)
    assert created(world, "rayclusters") == clusters
    assert world.plane.runs.count((address, THEIR_JOB)) == 1
    assert len(world.plane.runs) == len(set(world.plane.runs)) == len(ends)
    assert_whole(world, stream)


def unpaused(world: ServiceWorld) -> Manifest:
    """Return the metadata of the job with no pause before its next retry."""
    return {**child(world.job("train"), "metadata"), "annotations": dict(ASKED)}


@pytest.mark.parametrize("mode", [K8S, HTTP])
def test_a_second_attempt_on_the_same_raycluster_goes_on_there_when_it_comes_back(
    mode: str,
) -> None:
    """It is given away while it runs; KubeRay writes what it sees, and changes nothing."""
    world, stream = begun(mode, ASKED, [1, 0])
    run_until(world, lambda: world.phase("train") == "Retrying", "the first attempt to fail")
    world.plane.holds = True
    name = state_of(world, stream).attempt.cluster_name
    world.run(lambda: status(world).get("jobStatus") == "RUNNING", "it to be told")
    given_away(world)
    kuberay_writes(world, jobDeploymentStatus="Running", jobStatus="RUNNING")
    given_back(world)
    attempt = state_of(world, stream).attempt
    assert (attempt.number, attempt.cluster_name, attempt.same_cluster) == (2, name, True)
    world.plane.holds = False
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert (world.phase("train"), *counts(world)) == ("Complete", 1, 1)
    assert (created(world, "rayclusters"), len(world.plane.runs)) == (1, 2)
    assert_whole(world, stream)


@pytest.mark.faults
@pytest.mark.parametrize("mode", [K8S, HTTP])
def test_given_away_and_back_at_any_step_nothing_runs_twice_and_nothing_is_left(mode: str) -> None:
    """In mid-retry it costs a RayCluster more, at most."""
    clusters = set[int]()
    for step in range(STEPS_MAX):
        world, stream = begun(mode, ASKED, [1, 0])
        for _ in range(step):
            if not world.step():
                world.clock.advance(IDLE_SECONDS)
        if is_over(world, stream):
            break
        given_away(world)
        given_back(world)
        world.run(lambda: is_over(world, stream), "the job to be over")  # noqa: B023 called here
        assert (world.phase("train"), *counts(world)) == ("Complete", 1, 1), step
        assert len(world.plane.runs) == len(set(world.plane.runs)) == 2, step
        assert_whole(world, stream)
        clusters.add(created(world, "rayclusters"))
    assert clusters == {1, 2}


def run_until(world: ServiceWorld, holds: Any, what: str) -> None:  # noqa: ANN401 a condition
    """Take steps until a condition holds, and not one more."""
    for _ in range(STEPS_MAX):
        if holds():
            return
        if not world.step():
            world.clock.advance(IDLE_SECONDS)
    raise AssertionError(f"still not: {what}")
