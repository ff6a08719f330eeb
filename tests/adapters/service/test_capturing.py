"""Evidence is captured before it can vanish: bounded in size and time, redacted, once."""

import dataclasses
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from jobledger.adapters.service.effects.carrying_out import EffectTask
from jobledger.adapters.service.effects.failures_seen import failure_capture
from jobledger.core.jobs.evidence.evidence import LOG_BYTES_MAX, LOG_LINES_MAX, LOGS_MAX, PODS_MAX
from jobledger.core.jobs.evidence.scene import SceneObject
from jobledger.core.jobs.observations import EffectEnded, EvidenceSeen
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, PODS, RAYCLUSTERS
from jobledger.core.rayjob.events.lifecycle import AttemptFailed
from jobledger.core.rayjob.observations.ray_job import COMMAND_ERROR, Entrypoint
from jobledger.core.rayjob.phases import JobStatus, Phase
from jobledger.core.rayjob.state import KnownSubmitter, known_manifest
from jobledger.core.trainjob.events import TrainAttemptEnded
from jobledger.core.trainjob.state import TrainAttempt, TrainJobState
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.evidence_scene import CLUSTER, Scene, scene
from tests.adapters.service.owned import a_child, controller, uid_of
from tests.adapters.service.parts import SECRET
from tests.support.rayjob_builders import manifest
from tests.support.records import NOON

__all__ = ["scene"]


def test_what_a_deletion_removes_is_captured_before(scene: Scene) -> None:
    uid = uid_of(scene.bench, PODS, "worker-1")
    about: Manifest = {"kind": "Pod", "name": "worker-1", "uid": uid}
    scene.witness.events["Pod/worker-1"] = [
        {"involvedObject": about, "type": "Warning", "reason": "BackOff", "message": "again"}
    ]
    seen = scene.captured()
    worst, head = seen.pods
    assert (worst.name, worst.node, worst.containers[0].exit_code) == ("worker-1", "gpu-7", 137)
    assert (head.name, head.role) == ("head-1", "head")
    (log,) = seen.logs
    assert (log.source, log.last_lines[0]) == ("worker-1", "Traceback")
    assert scene.store.get(log.digest_of_content) is not None
    assert [item.reason for item in seen.kubernetes_events] == ["BackOff"]
    assert seen.occasion.startswith("delete_cluster/")


ENDED = Entrypoint(status=JobStatus.FAILED, error_type=COMMAND_ERROR, exit_code=1)


@pytest.mark.parametrize(
    ("entrypoint", "in_trouble", "asked"),
    [
        (Entrypoint(status=JobStatus.SUCCEEDED), False, False),
        (Entrypoint(status=JobStatus.SUCCEEDED), True, True),
        (Entrypoint(status=JobStatus.FAILED), False, False),
        (ENDED, False, False),
        (ENDED, True, True),
        (replace(ENDED, exit_code=137), False, True),
        (replace(ENDED, error_type="JOB_SUPERVISOR_ACTOR_DIED"), False, True),
        (Entrypoint(status=JobStatus.RUNNING), False, True),
    ],
)
def test_events_are_asked_for_unless_all_is_well(
    scene: Scene, entrypoint: Entrypoint, in_trouble: bool, asked: bool
) -> None:
    if not in_trouble:
        scene.bench.cluster.delete(PODS, "ml", "worker-1")
    scene.captured(entrypoint=entrypoint)
    assert (f"RayCluster/{CLUSTER}" in scene.witness.asked_about) is asked


@pytest.mark.parametrize(
    ("status", "phase", "leaving", "in_trouble", "asked"),
    [
        (JobStatus.RUNNING, Phase.SUSPENDING, False, False, False),
        (JobStatus.RUNNING, Phase.SUSPENDING, False, True, True),
        (JobStatus.PENDING, Phase.SUSPENDING, False, False, True),
        (JobStatus.NEW, Phase.SUSPENDING, False, False, True),
        (JobStatus.RUNNING, Phase.RUNNING, True, False, False),
        (JobStatus.RUNNING, Phase.RUNNING, True, True, True),
        (JobStatus.NEW, Phase.INITIALIZING, True, False, True),
        (JobStatus.RUNNING, Phase.RUNNING, False, False, True),
    ],
)
def test_events_are_not_asked_for_where_somebody_ends_what_runs_well(
    scene: Scene, status: JobStatus, phase: Phase, leaving: bool, in_trouble: bool, asked: bool
) -> None:
    """Hundreds end so at once, and for each the API server looks through all Events there are."""
    if not in_trouble:
        scene.bench.cluster.delete(PODS, "ml", "worker-1")
    told = manifest(deleting=leaving)
    seen = scene.captured(
        entrypoint=Entrypoint(status=status), phase=phase, manifest=known_manifest(told, None)
    )
    assert (f"RayCluster/{CLUSTER}" in scene.witness.asked_about) is asked
    assert "head-1" in {pod.name for pod in seen.pods}, "Pods are looked at all the same"


@pytest.mark.parametrize(("minutes", "asked"), [(-1, False), (1, True)])
def test_a_worker_that_came_after_the_ray_job_began_is_a_reason_to_ask(
    scene: Scene, minutes: int, asked: bool
) -> None:
    scene.bench.cluster.delete(PODS, "ml", "worker-1")
    scene.pod("worker-2", began=NOON + timedelta(minutes=minutes))
    scene.captured(entrypoint=replace(ENDED, started_at=NOON))
    assert (f"RayCluster/{CLUSTER}" in scene.witness.asked_about) is asked


@pytest.mark.parametrize(("entrypoint", "asked"), [(ENDED, 0), (Entrypoint(), 1)])
def test_of_the_submitter_nothing_is_asked_once_the_ray_job_said_why_it_ended(
    scene: Scene, entrypoint: Entrypoint, asked: int
) -> None:
    deletion = scene.bench.effect(scene.job, EffectKind.DELETE_SUBMITTER, scene.job.identity.name)
    state = scene.state(entrypoint=entrypoint)
    scene.capturer.before(scene.job.identity.stream_id, scene.job, state, deletion)
    assert len(scene.bench.said()) == asked


def test_no_secret_gets_into_evidence(scene: Scene) -> None:
    seen = scene.captured()
    assert SECRET not in repr(seen)
    assert all(SECRET.encode() not in content for content in scene.store.contents.values())


def test_a_silent_pod_is_recorded_as_missing_and_holds_up_nobody(scene: Scene) -> None:
    scene.witness.silent = frozenset({"worker-1"})
    seen = scene.captured()
    assert seen.logs == ()
    assert "log of Pod worker-1" in {item.what for item in seen.missing}
    assert any("no answer within" in item.why for item in seen.missing)
    assert len(seen.pods) == 2, "what came in time is kept"


def test_what_may_not_be_read_is_recorded_as_missing(scene: Scene) -> None:
    scene.witness.forbidden = True
    seen = scene.captured()
    found = {item.what: item.why for item in seen.missing}
    assert "forbidden" in found["log of Pod worker-1"]
    assert SECRET not in repr(found)


def test_a_head_that_does_not_answer_is_recorded_as_missing(scene: Scene) -> None:
    assert {"the Ray job", "log of the driver"} <= {item.what for item in scene.captured().missing}


KEEPING = [kind for kind in EffectKind if not kind.value.startswith(("delete", "remove"))]


@pytest.mark.parametrize("kind", KEEPING)
def test_an_effect_that_deletes_nothing_needs_no_evidence(scene: Scene, kind: EffectKind) -> None:
    effect = scene.bench.effect(scene.job, kind, CLUSTER)
    scene.capturer.before(scene.job.identity.stream_id, scene.job, scene.state(), effect)
    assert scene.bench.said() == []


def test_what_goes_with_a_job_that_its_user_deletes_is_captured_before(scene: Scene) -> None:
    stream, state = scene.job.identity.stream_id, scene.state()
    effect = scene.bench.effect(scene.job, EffectKind.REMOVE_FINALIZER, "rayjob")
    scene.capturer.before(stream, scene.job, state, effect)
    (seen,) = scene.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert [pod.name for pod in seen.pods] == ["worker-1", "head-1"]
    assert seen.occasion == f"remove_finalizer/{effect.effect_id}"


@pytest.mark.parametrize(
    "gone", [{"phase": Phase.COMPLETE}, {"phase": Phase.FAILED}, {"attempt": None}], ids=str
)
def test_nothing_is_captured_where_nothing_goes_with_it(scene: Scene, gone: dict[str, Any]) -> None:
    """After the end there is the evidence of the end."""
    state = replace(scene.state(), **gone)
    effect = scene.bench.effect(scene.job, EffectKind.REMOVE_FINALIZER, "rayjob")
    scene.capturer.before(scene.job.identity.stream_id, scene.job, state, effect)
    assert scene.bench.said() == []


def test_nor_of_an_attempt_whose_raycluster_is_gone_already(scene: Scene) -> None:
    state = scene.state()
    assert state.attempt is not None
    state = replace(state, attempt=replace(state.attempt, cleared=True))
    effect = scene.bench.effect(scene.job, EffectKind.REMOVE_FINALIZER, "rayjob")
    scene.capturer.before(scene.job.identity.stream_id, scene.job, state, effect)
    assert scene.bench.said() == []


def test_a_capture_is_bounded(scene: Scene) -> None:
    for number in range(40):
        scene.pod(f"many-{number}", code=1)
        scene.witness.logs[f"many-{number}"] = "é" * 300 + "\n" + "line\n" * 100_000
    seen = scene.captured()
    assert len(seen.pods) == PODS_MAX
    assert len(seen.logs) <= LOGS_MAX
    for log in seen.logs:
        content = scene.store.contents[log.digest_of_content]
        assert len(content) <= LOG_BYTES_MAX
        assert len(content.splitlines()) <= LOG_LINES_MAX
        assert log.cut


def test_an_errand_captures_before_it_deletes(scene: Scene) -> None:
    bench = scene.bench
    effect = scene.deletion()
    bench.hold(scene.job, effect)
    context = dataclasses.replace(bench.context(), evidence=scene.capturer)
    EffectTask(context, scene.job.identity.stream_id, effect)()
    first, second = bench.said()
    assert isinstance(first, EvidenceSeen)
    assert isinstance(second, EffectEnded)
    left = bench.cluster.get(RAYCLUSTERS, "ml", CLUSTER)
    assert left is None or text(left, "metadata", "deletionTimestamp")


def failed() -> AttemptFailed:
    return AttemptFailed(
        at=NOON, attempt=1, reason="AppFailed", message="", failed=1, job_status=JobStatus.FAILED
    )


def test_a_failure_without_a_deletion_is_captured_at_once(scene: Scene) -> None:
    context = dataclasses.replace(scene.bench.context(), evidence=scene.capturer)
    task = failure_capture(
        context, scene.job.identity.stream_id, scene.state(), [failed()], scene.state()
    )
    assert task is not None
    assert task() is None
    (seen,) = scene.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert seen.occasion == "failure/1"


def test_the_same_occasion_of_another_job_is_another(scene: Scene) -> None:
    streams = (scene.job.identity.stream_id, StreamId(UUID(int=7)))
    for stream in streams:
        about = SceneObject(kind="RayCluster", name=CLUSTER)
        scene.capturer.after_failure(stream, scene.job, scene.state(), 1, about)
    assert len(scene.bench.said()) == len(streams)


def test_a_failure_before_a_deletion_is_left_to_it(scene: Scene) -> None:
    context = dataclasses.replace(scene.bench.context(), evidence=scene.capturer)
    stream, state = scene.job.identity.stream_id, scene.state(effects=(scene.deletion(),))
    well = scene.state()
    assert failure_capture(context, stream, state, [failed()], state) is None
    assert failure_capture(scene.bench.context(), stream, well, [failed()], well) is None
    assert failure_capture(context, stream, well, [], well) is None


def with_submitter(scene: Scene) -> KnownSubmitter:
    """Let the attempt have a submitter whose Pod has failed."""
    made = a_child(scene.bench, BATCH_JOBS, scene.job.identity.name, scene.job.manifest)
    labels: Manifest = {"batch.kubernetes.io/job-name": scene.job.identity.name}
    owners = [controller(made)]
    about: Manifest = {"name": "submitter-1", "namespace": "ml", "labels": labels}
    scene.bench.cluster.plant(PODS, {"metadata": {**about, "ownerReferences": owners}, "spec": {}})
    ended: Manifest = {"terminated": {"exitCode": 1, "reason": "Error"}}
    container: Manifest = {"name": "ray-job-submitter", "restartCount": 0, "state": ended}
    shown: Manifest = {"phase": "Failed", "containerStatuses": [container]}
    scene.bench.cluster.edit(PODS, "ml", "submitter-1", status=shown)
    scene.witness.logs["submitter-1"] = "ray: command not found\n"
    uid = text(made, "metadata", "uid")
    return KnownSubmitter(name=scene.job.identity.name, uid=uid, outcome="Failed")


@pytest.mark.parametrize("going", [False, True], ids=["the cluster stays", "the cluster goes"])
def test_the_submitter_of_the_last_attempt_is_captured_too(scene: Scene, *, going: bool) -> None:
    """Its deletion, which comes with a retry, is not waited for: there may be none."""
    context = dataclasses.replace(scene.bench.context(), evidence=scene.capturer)
    state = scene.state(
        submitter=with_submitter(scene), effects=(scene.deletion(),) if going else ()
    )
    task = failure_capture(context, scene.job.identity.stream_id, state, [failed()], state)
    assert task is not None
    assert task() is None
    captured = [one for one in scene.bench.said() if isinstance(one, EvidenceSeen)]
    *_, seen = captured
    assert len(captured) == (1 if going else 2)
    assert (seen.attempt, seen.occasion) == (1, "failure/1/Job")
    (log,) = seen.logs
    assert scene.store.contents[log.digest_of_content] == b"ray: command not found"
    (pod,) = seen.pods
    assert (pod.name, pod.containers[0].exit_code) == ("submitter-1", 1)


def test_a_submitter_is_not_asked_where_the_ray_job_has_said_why(scene: Scene) -> None:
    context = dataclasses.replace(scene.bench.context(), evidence=scene.capturer)
    told = Entrypoint(status=JobStatus.FAILED, error_type=COMMAND_ERROR, exit_code=1)
    state = scene.state(submitter=with_submitter(scene), entrypoint=told)
    task = failure_capture(context, scene.job.identity.stream_id, state, [failed()], state)
    assert task is not None
    task()
    assert [one.occasion for one in scene.bench.said() if isinstance(one, EvidenceSeen)] == [
        "failure/1"
    ]


TRAINJOB, NODE = "train", "train-node-0-0"


@pytest.fixture
def training(scene: Scene) -> Scene:
    """A scene in which a node of a TrainJob's JobSet has failed."""
    labels: Manifest = {"jobset.sigs.k8s.io/jobset-name": TRAINJOB}
    jobset = a_child(scene.bench, JOBSETS, TRAINJOB, scene.job.manifest)
    job = a_child(scene.bench, BATCH_JOBS, f"{TRAINJOB}-node-0", jobset)
    labelled = {**child(job, "metadata"), "labels": labels}
    scene.bench.cluster.edit(BATCH_JOBS, "ml", text(job, "metadata", "name"), metadata=labelled)
    owners = [controller(job)]
    about: Manifest = {"name": NODE, "namespace": "ml", "labels": labels, "ownerReferences": owners}
    scene.bench.cluster.plant(PODS, {"metadata": about, "spec": {"nodeName": "gpu-9"}})
    ended: Manifest = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    container: Manifest = {"name": "node", "restartCount": 0, "state": ended}
    shown: Manifest = {"phase": "Failed", "containerStatuses": [container]}
    scene.bench.cluster.edit(PODS, "ml", NODE, status=shown)
    scene.witness.logs[NODE] = f"step 7\ntoken {SECRET}\n"
    warning: Manifest = {"type": "Warning", "reason": "FailedCreate", "message": "no quota"}
    scene.witness.events[f"JobSet/{TRAINJOB}"] = [
        {**warning, "involvedObject": {"kind": "JobSet", "uid": text(jobset, "metadata", "uid")}}
    ]
    return scene


def train_state(scene: Scene, number: int = 1) -> TrainJobState:
    attempt = TrainAttempt(
        number=number, generation=1, jobset_uid="u", restarts=number - 1, started_at=NOON
    )
    return TrainJobState(identity=scene.job.identity, attempt=attempt)


def check_training(scene: Scene, seen: object) -> None:
    assert isinstance(seen, EvidenceSeen)
    (pod,) = seen.pods
    assert (pod.name, pod.node, pod.containers[0].reason) == (NODE, "gpu-9", "OOMKilled")
    (log,) = seen.logs
    content = scene.store.contents[log.digest_of_content]
    assert content.startswith(b"step 7\ntoken ")
    assert SECRET.encode() not in content
    assert [told.reason for told in seen.kubernetes_events] == ["FailedCreate"]
    assert seen.ray is None
    assert seen.missing == ()


@pytest.mark.parametrize("current", [1, 2], ids=["the last", "its JobSet began the next"])
def test_an_attempt_of_a_trainjob_that_failed_is_captured_at_once(
    training: Scene, current: int
) -> None:
    context = dataclasses.replace(training.bench.context(), evidence=training.capturer)
    ended = TrainAttemptEnded(
        at=NOON, attempt=1, outcome="failed", reason="FailedJobs", message="jobset failed"
    )
    stream = training.job.identity.stream_id
    state = train_state(training, current)
    task = failure_capture(context, stream, state, [ended], state)
    assert task is not None
    assert task() is None
    (seen,) = training.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert (seen.attempt, seen.occasion) == (1, "failure/1")
    check_training(training, seen)


def test_what_the_deletion_of_a_jobset_removes_is_captured_before(training: Scene) -> None:
    stream, state = training.job.identity.stream_id, train_state(training)
    deletion = training.bench.effect(training.job, EffectKind.DELETE_JOBSET, TRAINJOB)
    training.capturer.before(stream, training.job, state, deletion)
    (seen,) = training.bench.said()
    check_training(training, seen)
