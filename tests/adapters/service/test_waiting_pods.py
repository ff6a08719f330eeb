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
from jobledger.core.jobs.evidence.scene import SceneObject, waiting_beside
from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.ports.cluster import BATCH_JOBS, PODS
from jobledger.core.rayjob.events.lifecycle import (
    AttemptReachedRunning,
    AttemptStarted,
    EntrypointObserved,
)
from jobledger.core.rayjob.observations.ray_job import Entrypoint
from jobledger.core.rayjob.phases import JobStatus, Phase
from jobledger.core.rayjob.state import KnownSubmitter
from jobledger.core.trainjob.events import JobSetObserved, TrainAttemptEnded, TrainAttemptStarted
from jobledger.core.values.documents import Manifest
from tests.adapters.service.evidence_scene import CLUSTER, Scene, scene
from tests.adapters.service.owned import a_child, controller, uid_of
from tests.adapters.service.test_capturing import NODE, TRAINJOB, train_state, training
from tests.support.records import NOON

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
