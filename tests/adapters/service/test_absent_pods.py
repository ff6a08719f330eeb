"""What Pods wait for that no status of them tells: it is kept from Kubernetes Events, in time."""

import pytest

from jobledger.adapters.service.effects.waiting_pods import PAUSES_SECONDS
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs.evidence.evidence import PODS_MAX
from jobledger.core.jobs.observations import EvidenceSeen, evidence_of
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, PODS, RAYCLUSTERS
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.instants import rfc3339
from tests.adapters.service.evidence_scene import CLUSTER, Scene, scene
from tests.adapters.service.owned import uid_of
from tests.adapters.service.test_capturing import NODE, TRAINJOB, training
from tests.adapters.service.test_waiting_pods import STARTED, look, ray_look
from tests.support.records import NOON

__all__ = ["scene", "training"]  # fixtures

JOB = f"{TRAINJOB}-node-0"


def refused(scene: Scene, kind: str, name: str, uid: str, word: str = "Warning") -> None:
    """Let Kubernetes Events say that Pods of an object were refused."""
    event: Manifest = {"type": word, "reason": "FailedCreate", "message": "exceeded quota: q"}
    scene.witness.events[f"{kind}/{name}"] = [{**event, "involvedObject": {"uid": uid}}]


def without_pods(training: Scene, **status: int) -> str:
    """Let the Job of a TrainJob, whose JobSet was taken up, have no Pod; return its UID."""
    training.bench.cluster.delete(PODS, "ml", NODE)
    training.witness.events.clear()
    taken_up: Manifest = {"replicatedJobsStatus": [{"name": "node"}]}
    training.bench.cluster.edit(JOBSETS, "ml", TRAINJOB, status=taken_up)
    training.bench.cluster.edit(BATCH_JOBS, "ml", JOB, spec={"parallelism": 1}, status=status)
    return uid_of(training.bench, BATCH_JOBS, JOB)


def test_that_a_quota_refuses_the_pods_of_a_trainjob_is_kept(training: Scene) -> None:
    refused(training, "Job", JOB, without_pods(training))
    assert look(training)() == PAUSES_SECONDS[1]
    (seen,) = training.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert (seen.occasion, seen.pods) == ("waiting/1", ())
    assert [one.message for one in seen.kubernetes_events] == ["exceeded quota: q"]


@pytest.mark.parametrize(
    ("word", "status", "asked"),
    [
        ("Normal", {}, True),  # nothing warns
        ("Warning", {"active": 1}, False),  # its Pod is there
        ("Warning", {"failed": 1}, False),  # its controller waits before it tries again
    ],
)
def test_nothing_is_kept_and_no_event_asked_for_where_no_pod_is_lacking(
    training: Scene, word: str, status: dict[str, int], *, asked: bool
) -> None:
    refused(training, "Job", JOB, without_pods(training, **status), word)
    assert look(training)() == PAUSES_SECONDS[1]
    assert training.bench.said() == []
    assert (f"Job/{JOB}" in training.witness.asked_about) is asked


def test_events_about_another_object_of_the_name_say_nothing(training: Scene) -> None:
    without_pods(training)
    refused(training, "Job", JOB, "another")
    assert look(training)() == PAUSES_SECONDS[1]
    assert training.bench.said() == []


def test_that_a_quota_refuses_the_jobs_of_a_jobset_is_kept(training: Scene) -> None:
    without_pods(training)
    training.bench.cluster.delete(BATCH_JOBS, "ml", JOB)
    replicated: Manifest = {"replicatedJobs": [{"name": "node"}]}
    training.bench.cluster.edit(JOBSETS, "ml", TRAINJOB, spec=replicated)
    refused(training, "JobSet", TRAINJOB, uid_of(training.bench, JOBSETS, TRAINJOB))
    assert look(training)() == PAUSES_SECONDS[1]
    (seen,) = training.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert [one.reason for one in seen.kubernetes_events] == ["FailedCreate"]


def test_that_no_controller_has_taken_a_jobset_up_is_kept(training: Scene) -> None:
    without_pods(training)
    training.bench.cluster.delete(BATCH_JOBS, "ml", JOB)
    training.bench.cluster.edit(JOBSETS, "ml", TRAINJOB, status={})
    assert look(training)() == PAUSES_SECONDS[1]
    (seen,) = training.bench.said()
    assert isinstance(seen, EvidenceSeen)
    (missing,) = seen.missing
    assert (missing.what, seen.occasion) == ("Pods", "waiting/1")
    assert missing.why == f"no controller has taken it up: JobSet {TRAINJOB} has no status"


def test_that_no_controller_has_taken_a_raycluster_up_is_kept(scene: Scene) -> None:
    for pod in scene.bench.cluster.list(PODS).items:
        of_nobody = {**child(pod, "metadata"), "labels": {}, "ownerReferences": []}
        scene.bench.cluster.edit(PODS, "ml", text(pod, "metadata", "name"), metadata=of_nobody)
    scene.bench.cluster.edit(RAYCLUSTERS, "ml", CLUSTER, status={})
    looking = ray_look(scene, STARTED)
    assert looking is not None
    looking()
    looking()
    (seen,) = scene.bench.said()
    assert isinstance(seen, EvidenceSeen)
    (missing,) = seen.missing
    assert missing.why == f"no controller has taken it up: RayCluster {CLUSTER} has no status"


@pytest.mark.parametrize(("desired", "kept"), [(1, False), (2, True)])
def test_that_a_quota_refuses_workers_of_a_raycluster_is_kept(
    scene: Scene, desired: int, *, kept: bool
) -> None:
    scene.bench.cluster.edit(PODS, "ml", "worker-1", status={"phase": "Running"})
    scene.bench.cluster.edit(RAYCLUSTERS, "ml", CLUSTER, status={"desiredWorkerReplicas": desired})
    refused(scene, "RayCluster", CLUSTER, uid_of(scene.bench, RAYCLUSTERS, CLUSTER))
    looking = ray_look(scene, STARTED)
    assert looking is not None
    looking()
    looking()
    assert bool(scene.bench.said()) is kept


def begins(training: Scene, node: str, container: Manifest, *, ready: bool = True) -> None:
    """Let the Pod be on a node, with a container in a state."""
    training.witness.events.clear()
    waits: Manifest = {"name": "node", "restartCount": 0, "state": container}
    since = rfc3339(NOON)
    condition: Manifest = {"type": "Ready", "status": str(ready), "lastTransitionTime": since}
    shown: Manifest = {
        "phase": "Running" if "running" in container else "Pending",
        "containerStatuses": [waits],
        "conditions": [condition],
    }
    training.bench.cluster.edit(PODS, "ml", NODE, spec={"nodeName": node}, status=shown)


def warns(training: Scene, reason: str) -> None:
    """Let a Kubernetes Event about the Pod say that there is no ConfigMap of a name."""
    missing: Manifest = {"type": "Warning", "reason": reason, "message": "configmap not found"}
    about: Manifest = {"uid": uid_of(training.bench, PODS, NODE), "kind": "Pod", "name": NODE}
    training.witness.events[f"Pod/{NODE}"] = [{**missing, "involvedObject": about}]


CREATING: Manifest = {"waiting": {"reason": "ContainerCreating"}}


def test_that_a_pod_waits_for_a_volume_is_kept(training: Scene) -> None:
    begins(training, "gpu-9", CREATING)
    warns(training, "FailedMount")
    assert look(training)() == PAUSES_SECONDS[1]
    (seen,) = training.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert [one.message for one in seen.kubernetes_events] == ["configmap not found"]
    (kept,) = evidence_of(seen, (), 1)
    assert (
        in_words(kept)
        == f"Pod {NODE} of attempt 1 does not begin: FailedMount: configmap not found"
    )


@pytest.mark.parametrize(
    ("node", "container", "reason"),
    [
        ("gpu-9", CREATING, "FailedScheduling"),  # of before it had a node
        ("gpu-9", {"running": {}}, "Unhealthy"),
        ("", CREATING, "FailedMount"),
    ],
)
def test_of_a_pod_that_begins_nothing_is_kept(
    training: Scene, node: str, container: Manifest, reason: str
) -> None:
    begins(training, node, container)
    warns(training, reason)
    assert look(training)() == PAUSES_SECONDS[1]
    assert training.bench.said() == []


def test_the_one_pod_of_many_that_waits_is_found(training: Scene) -> None:
    begins(training, "gpu-9", CREATING, ready=False)
    warns(training, "FailedMount")
    waiting = training.bench.cluster.get(PODS, "ml", NODE)
    assert waiting is not None
    for number in range(PODS_MAX):
        about = {**child(waiting, "metadata"), "name": f"a-{number}", "uid": f"a-{number}"}
        training.bench.cluster.plant(PODS, {"metadata": about, "spec": {"nodeName": "gpu-1"}})
        well: Manifest = {"phase": "Running"}
        training.bench.cluster.edit(PODS, "ml", f"a-{number}", status=well)
    assert look(training)() == PAUSES_SECONDS[1]
    (seen,) = training.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert seen.pods[0].name == NODE
    assert [one.message for one in seen.kubernetes_events] == ["configmap not found"]
