"""Pods of an attempt that wait say why, in time, and well ones are let be."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_fields

from jobledger.adapters.service.effects.waiting_pods import (
    PAUSES_IN_TROUBLE_SECONDS,
    PAUSES_SECONDS,
    WaitingLook,
    begin_or_end_looks,
    resumed_look,
    waiting_look,
)
from jobledger.adapters.service.evidence.capture import WAITING_MAX
from jobledger.core.catalogue import JobEvent
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs.evidence.evidence import PODS_MAX
from jobledger.core.jobs.evidence.scene import SceneObject, waiting_beside
from jobledger.core.jobs.observations import EvidenceSeen, evidence_of
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, PODS, RAYCLUSTERS
from jobledger.core.rayjob.events.lifecycle import (
    AttemptReachedRunning,
    AttemptStarted,
    EntrypointObserved,
)
from jobledger.core.rayjob.observations.ray_job import Entrypoint
from jobledger.core.rayjob.phases import JobStatus, Phase
from jobledger.core.rayjob.state import KnownSubmitter
from jobledger.core.trainjob.events import JobSetObserved, TrainAttemptEnded, TrainAttemptStarted
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.instants import rfc3339
from tests.adapters.service.evidence_scene import CLUSTER, Scene, scene
from tests.adapters.service.owned import a_child, controller, uid_of
from tests.adapters.service.test_capturing import NODE, TRAINJOB, train_state, training
from tests.support.records import NOON

JOB = f"{TRAINJOB}-node-0"

__all__ = ["scene", "training"]  # fixtures

BEGUN = TrainAttemptStarted(at=NOON, attempt=1, generation=1, jobset_uid="u", restarts=0, cause="")


def shown(training: Scene, state: Manifest) -> None:
    """Let the container of the Pod be in a state."""
    container: Manifest = {"name": "node", "restartCount": 0, "state": state}
    status: Manifest = {"phase": "Pending", "containerStatuses": [container]}
    training.bench.cluster.edit(PODS, "ml", NODE, status=status)


def look(training: Scene) -> WaitingLook:
    """Return the look at the Pods of an attempt that has begun; its first call only waits."""
    context = replace(training.bench.context(), evidence=training.capturer)
    stream = training.job.identity.stream_id
    found = waiting_look(context, stream, train_state(training), [BEGUN])
    assert found is not None
    assert found() == PAUSES_SECONDS[0]
    assert training.bench.said() == []
    return found


PULLING: Manifest = {"waiting": {"reason": "ImagePullBackOff", "message": "manifest unknown"}}


def test_a_pod_that_waits_is_kept_with_why(training: Scene) -> None:
    shown(training, PULLING)
    assert look(training)() == PAUSES_SECONDS[1]
    (seen,) = training.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert (seen.occasion, seen.attempt) == ("waiting/1", 1)
    (pod,) = seen.pods
    assert (pod.name, pod.containers[0].reason) == (NODE, "ImagePullBackOff")


def test_well_pods_are_looked_at_a_few_times_and_nothing_is_kept(training: Scene) -> None:
    shown(training, {"running": {}})
    looking = look(training)
    assert [looking() for _ in PAUSES_SECONDS] == [*PAUSES_SECONDS[1:], None]
    assert training.bench.said() == []
    assert training.store.contents == {}


def test_a_pod_that_comes_to_wait_later_is_kept_then(training: Scene) -> None:
    shown(training, {"waiting": {"reason": "ContainerCreating"}})
    looking = look(training)
    assert looking() == PAUSES_SECONDS[1]
    shown(training, PULLING)
    assert looking() == PAUSES_SECONDS[2]
    assert len(training.bench.said()) == 1


UNPLACED: Manifest = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1 nodes are available",
}


def unplaced(training: Scene) -> None:
    """Let no node take the Pod."""
    status: Manifest = {"phase": "Pending", "conditions": [UNPLACED]}
    training.bench.cluster.edit(PODS, "ml", NODE, status=status)


def test_what_a_pod_waits_for_after_something_else_is_kept_too(training: Scene) -> None:
    unplaced(training)
    looking = look(training)
    looking()
    shown(training, PULLING)
    looking()
    shown(training, {"waiting": {"reason": "ErrImagePull"}})
    looking()
    seen = [one for one in training.bench.said() if isinstance(one, EvidenceSeen)]
    assert [one.occasion for one in seen] == ["waiting/1", "waiting/1//2"]
    assert [waiting_beside(one.occasion, 1) for one in seen] == ["", ""]


def test_a_pod_that_waits_on_is_looked_at_less_and_less_often(training: Scene) -> None:
    unplaced(training)
    looking = look(training)
    pauses = [*PAUSES_SECONDS, *PAUSES_IN_TROUBLE_SECONDS]
    assert [looking() for _ in pauses] == [*pauses[1:], None]
    assert len(training.bench.said()) == 1


def test_so_many_captures_are_made_of_one_attempt_that_waits(training: Scene) -> None:
    stream, state = training.job.identity.stream_id, train_state(training)
    about = SceneObject(kind="JobSet", name=TRAINJOB)
    for turn in range(8):
        if turn % 2:
            shown(training, PULLING)
        else:
            unplaced(training)
        before = frozenset({"another"})
        training.capturer.while_waiting(stream, training.job, state, about, before)
    assert len(training.bench.said()) == WAITING_MAX


def test_what_an_earlier_service_has_kept_is_kept_once(training: Scene) -> None:
    shown(training, PULLING)
    stream = training.job.identity.stream_id
    state = replace_fields(train_state(training), captured=("waiting/1",))
    context = replace(training.bench.context(), evidence=training.capturer)
    found = waiting_look(context, stream, state, [BEGUN])
    assert found is not None
    found()
    found()
    assert training.bench.said() == []
    unplaced(training)
    found()
    (seen,) = training.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert seen.occasion == "waiting/1//2"


def test_an_attempt_that_is_over_is_not_looked_at(training: Scene) -> None:
    shown(training, PULLING)
    looking = look(training)
    looking.is_dropped = True
    assert looking() is None
    assert training.bench.said() == []


@pytest.mark.parametrize("ended", [True, False])
def test_only_an_attempt_that_has_begun_and_goes_on_is_looked_at(
    training: Scene, *, ended: bool
) -> None:
    context = replace(training.bench.context(), evidence=training.capturer)
    stream, state = training.job.identity.stream_id, train_state(training)
    over = TrainAttemptEnded(at=NOON, attempt=1, outcome="failed", reason="x", message="")
    assert waiting_look(context, stream, state, [BEGUN, over] if ended else []) is None


SUBMITTER = "train-submitter"
STARTED = AttemptStarted(at=NOON, attempt=1, generation=1, cluster_name=CLUSTER, job_id="j")
RUNNING = AttemptReachedRunning(at=NOON, attempt=1, address="head:8265")
HEARD = EntrypointObserved(at=NOON, job_id="j", status=JobStatus.PENDING)


def ray_look(scene: Scene, *events: JobEvent) -> WaitingLook | None:
    """Return the look at the Pods of a RayJob's attempt after events."""
    context = replace(scene.bench.context(), evidence=scene.capturer)
    submitter = KnownSubmitter(name=SUBMITTER, uid=uid_of(scene.bench, BATCH_JOBS, SUBMITTER))
    state = scene.state(submitter=submitter)
    return waiting_look(context, scene.job.identity.stream_id, state, events)


@pytest.fixture
def submitting(scene: Scene) -> Scene:
    """A scene in which the Pod of the submitter does not start."""
    job = a_child(scene.bench, BATCH_JOBS, SUBMITTER, scene.job.manifest)
    labels: Manifest = {BATCH_JOBS.pod_label: SUBMITTER}
    about: Manifest = {"name": "s-1", "namespace": "ml", "labels": labels}
    owned: Manifest = {**about, "ownerReferences": [controller(job)]}
    scene.bench.cluster.plant(PODS, {"metadata": owned})
    container: Manifest = {"name": "submitter", "state": PULLING}
    shown: Manifest = {"phase": "Pending", "containerStatuses": [container]}
    scene.bench.cluster.edit(PODS, "ml", "s-1", status=shown)
    return scene


@pytest.mark.parametrize(
    ("event", "occasion", "first"),
    [(STARTED, "waiting/1", "worker-1"), (RUNNING, "waiting/1/Job", "s-1")],
    ids=["of the RayCluster, until it is ready", "then of the submitter"],
)
def test_the_pods_for_which_a_rayjob_waits_are_looked_at(
    submitting: Scene, event: JobEvent, occasion: str, first: str
) -> None:
    looking = ray_look(submitting, event)
    assert looking is not None
    assert looking() == PAUSES_SECONDS[0]
    assert looking() == PAUSES_SECONDS[1]
    (seen,) = submitting.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert (seen.occasion, seen.pods[0].name) == (occasion, first)


def test_once_ray_knows_the_job_it_waits_for_no_pod(submitting: Scene) -> None:
    assert ray_look(submitting, RUNNING, HEARD) is None
    assert begin_or_end_looks("RayJob").issuperset(map(type, (STARTED, RUNNING, HEARD)))


def test_a_rayjob_that_hands_in_itself_has_no_submitter_to_wait_for(scene: Scene) -> None:
    context = replace(scene.bench.context(), evidence=scene.capturer)
    stream = scene.job.identity.stream_id
    assert waiting_look(context, stream, scene.state(), [RUNNING]) is None


@pytest.mark.parametrize(
    ("phase", "status", "kind"),
    [
        (Phase.INITIALIZING, JobStatus.NEW, "RayCluster"),
        (Phase.RUNNING, JobStatus.NEW, "Job"),
        (Phase.RUNNING, JobStatus.PENDING, ""),
        (Phase.RETRYING, JobStatus.NEW, ""),
    ],
)
def test_whoever_takes_a_rayjob_over_looks_at_what_it_waits_for(
    scene: Scene, phase: Phase, status: JobStatus, kind: str
) -> None:
    context = replace(scene.bench.context(), evidence=scene.capturer)
    submitter = KnownSubmitter(name=SUBMITTER, uid="s")
    heard = Entrypoint(status=status)
    state = scene.state(phase=phase, submitter=submitter, entrypoint=heard)
    looking = resumed_look(context, scene.job.identity.stream_id, state)
    assert (looking.about.kind if looking is not None else "") == kind


def test_an_observation_of_a_jobset_ends_no_look() -> None:
    """Its Pods may fail and be put in place again later."""
    assert JobSetObserved not in begin_or_end_looks("TrainJob")


def refused(scene: Scene, kind: str, name: str, uid: str, word: str = "Warning") -> None:
    """Let Kubernetes Events say that Pods of an object were refused."""
    event: Manifest = {"type": word, "reason": "FailedCreate", "message": "exceeded quota: q"}
    scene.witness.events[f"{kind}/{name}"] = [{**event, "involvedObject": {"uid": uid}}]


def without_pods(training: Scene, **status: int) -> str:
    """Let the Job of a TrainJob have no Pod; return its UID."""
    training.bench.cluster.delete(PODS, "ml", NODE)
    training.witness.events.clear()
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
