"""What the Pods of RayJobs leave behind: workers, submitters, those that wait."""

import json
import re

from tests.acceptance.jobs import Document, cluster_spec, rayjob
from tests.acceptance.node import WORKER
from tests.acceptance.stories_of_pods import (
    FAILS,
    ON_A_NODE,
    Story,
    batch_job,
    explained,
    kept_logs,
    wait_for_capture,
)
from tests.acceptance.trainjobs import Trainings
from tests.acceptance.witness import BATCH_JOBS
from tests.support.api import PODS

ABSENT = "registry.invalid/train:4.2"
"""An image that no registry can have."""
GATED = [{"name": "jobledger.dev/no-scheduler-here"}]
NO_ROOM = "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
LOST = "ray.exceptions.WorkerCrashedError: The worker died unexpectedly while executing this task."


def on_a_node(cluster: Document, **worker: object) -> Document:
    """Return a RayCluster with one worker, whose Pods are on the node: a log is asked for there."""
    head = cluster["headGroupSpec"]["template"]["spec"]
    bound = {**ON_A_NODE, "restartPolicy": "Always"}
    container = {"name": "ray-worker", "image": head["containers"][0]["image"]}
    group = {
        "groupName": "gpu",
        "replicas": 1,
        "minReplicas": 1,
        "maxReplicas": 1,
        "rayStartParams": {},
        "template": {"spec": {**bound, "containers": [container], **worker}},
    }
    template = {"spec": {**head, **bound}}
    head_group = {**cluster["headGroupSpec"], "template": template}
    return {**cluster, "headGroupSpec": head_group, "workerGroupSpecs": [group]}


def submitted_by(name: str, restart_policy: str, backoff_limit: int) -> Document:
    """Return a RayJob whose submitter's program cannot be imported."""
    one = {"name": "ray-job-submitter", "image": "x", "command": ["python", "-c", FAILS]}
    pod = {**ON_A_NODE, "restartPolicy": restart_policy, "containers": [one]}
    return rayjob(
        name,
        "true",
        mode="K8sJobMode",
        rayClusterSpec=on_a_node(cluster_spec()),
        submitterPodTemplate={"spec": pod},
        submitterConfig={"backoffLimit": backoff_limit},
    )


def wait_for_phase(at: Trainings, name: str, phase: str) -> None:
    """Wait until the ledger has a job in a phase."""
    at.site.wait_for_true(
        f"{name} is {phase}",
        "SELECT count(*) > 0 FROM job WHERE name = %s AND phase = %s",
        name,
        phase,
    )


def a_worker_that_is_killed_for_its_memory(at: Trainings) -> None:
    """While the job goes on, and then as the cause of its failure, whatever the driver says."""
    gate = at.site.directory / "gate"
    program = f"sh -c 'until [ -e {gate} ]; do sleep 0.05; done; echo \"{LOST}\" >&2; exit 1'"
    at.site.submit(rayjob("hungry", program, rayClusterSpec=on_a_node(cluster_spec())))
    wait_for_phase(at, "hungry", "Running")
    at.site.node.kill_processes(WORKER, "OOMKilled")
    wait_for_capture(at, "pod/1/")
    told = explained(at, "hungry")
    assert "OOMKilled" in told
    gate.touch()
    wait_for_phase(at, "hungry", "Failed")
    wait_for_capture(at, "failure/1")
    told = explained(at, "hungry")
    assert "memory" in told.splitlines()[0]
    assert cause_of(at, "hungry") == "out-of-memory"


def cause_of(at: Trainings, name: str) -> str:
    """Return the class of a failure."""
    account = json.loads(at.site.terminal.jobledger("explain", name, "-o", "json").out)
    return str(account["failure_class"])


def submitters_that_fail(at: Trainings) -> None:
    """One is started again in place and removed by its Job's controller, the other is left."""
    at.site.submit(submitted_by("again", "OnFailure", 1))
    at.site.submit(submitted_by("once", "Never", 0))
    for name in ("again", "once"):
        wait_for_phase(at, name, "Failed")
    at.site.wait_for_true(
        "the logs of both are kept",
        "SELECT count(DISTINCT stream_id) = 2 FROM event WHERE type = 'EvidenceCaptured' "
        "AND json_array_length(coalesce(data->'logs', '[]')) > 0",
    )
    for name in ("again", "once"):
        told = explained(at, name)
        assert "ModuleNotFoundError: No module named 'no_such_module'" in told.splitlines()[0]
        assert cause_of(at, name) == "missing-module"
        assert any("epoch 3" in log for log in kept_logs(at, name))


def pods_that_wait(at: Trainings) -> None:
    """For an image, for a node: what for, and since when, while the jobs go on."""
    at.site.submit(rayjob("pulling", "true", rayClusterSpec=cluster_spec(image=ABSENT)))
    at.site.submit(
        rayjob(
            "crowded",
            "true",
            rayClusterSpec=on_a_node(cluster_spec(), nodeName=None, schedulingGates=GATED),
        )
    )
    job = batch_job("etl", "pass")
    job["spec"]["template"]["spec"]["containers"][0]["image"] = ABSENT
    assert at.admin.create(BATCH_JOBS, job).code == 201  # Created
    leave_without_room(at)
    for name, says in (("pulling", ABSENT), ("crowded", NO_ROOM), ("etl", ABSENT)):
        at.site.wait_for_true(
            f"it is known why {name} waits",
            "SELECT count(*) > 0 FROM event e JOIN job j USING (stream_id) "
            "WHERE e.type = 'EvidenceCaptured' AND j.name = %s",
            name,
        )
        (waits,) = [one for one in explained(at, name).splitlines() if one.startswith("It waits")]
        assert re.search(f" since 20[^ ]+Z: .*{re.escape(says)}", waits), waits


def leave_without_room(at: Trainings) -> None:
    """Say of the worker what a scheduler says, of which there is none."""

    def gated() -> list[str]:
        found = at.admin.list(PODS, labelSelector=WORKER).body["items"]
        return [one["metadata"]["name"] for one in found if "schedulingGates" in one["spec"]]

    at.witness.wait_until(lambda: gated() != [], "the worker waits")
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": NO_ROOM,
        "lastTransitionTime": "2026-11-21T12:00:00Z",
    }
    (name,) = gated()
    reply = at.admin.merge(PODS, name, {"status": {"conditions": [condition]}}, "status")
    assert reply.code == 200, reply.message  # OK


STORIES: tuple[Story, ...] = (
    a_worker_that_is_killed_for_its_memory,
    submitters_that_fail,
    pods_that_wait,
)
