"""Pods are looked at when they are seen to fail or to go: a job's own, once, and nobody waits."""

from collections.abc import Callable
from concurrent.futures import Future

import pytest
from msgspec.structs import replace

from jobledger.adapters.service.evidence import failing_pods
from jobledger.adapters.service.evidence.failing_pods import FailingPods
from jobledger.adapters.service.evidence.pod_watches import (
    JobOwnerListener,
    PodListener,
    pod_watches,
)
from jobledger.adapters.service.objects.kept_children import CachedChild
from jobledger.adapters.service.objects.packing import pack
from jobledger.adapters.service.work.turn_pool import TurnPool
from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, PODS, RAYCLUSTERS, Resource
from jobledger.core.trainjob.phases import Phase
from jobledger.core.values.documents import Manifest, child, text
from tests.adapters.service.evidence_scene import CLUSTER, Scene, scene
from tests.adapters.service.owned import a_child, controller, uid_of
from tests.adapters.service.parts import SECRET, hold
from tests.adapters.service.test_capturing import NODE, TRAINJOB, train_state, training
from tests.support.records import NOON

__all__ = ["scene", "training"]  # fixtures

KEPT_AS: dict[Resource, tuple[str, ...]] = {
    JOBSETS: ("JobSet",),
    RAYCLUSTERS: ("RayCluster",),
    BATCH_JOBS: ("Job", "Job of an attempt"),
}


def keep(scene: Scene, resource: Resource, name: str) -> None:
    """Let the watch have told of an object of the job."""
    item = CachedChild(
        namespace="ml",
        name=name,
        uid=uid_of(scene.bench, resource, name),
        version="1",
        owner_uid=scene.job.identity.uid,
        owner_kind=scene.job.kind,
        packed=pack({}),
    )
    scene.bench.live.put_child(resource.kind, item)


class AtOnce(TurnPool[None]):
    """Takes each look at once, on the thread that asks for it."""

    def submit(self, namespace: str, call: Callable[[], None]) -> Future[None]:
        """See `TurnPool.submit`."""
        del namespace
        call()
        return Future()


@pytest.fixture
def pods(training: Scene) -> FailingPods:
    """What has the Pods of a scene looked at; the TrainJob is worked on here."""
    keep(training, JOBSETS, TRAINJOB)
    keep(training, RAYCLUSTERS, CLUSTER)
    bench = training.bench
    work_on(training)
    return FailingPods(training.capturer, bench.live, bench.slots, KEPT_AS, AtOnce(1, "looks"))


def work_on(training: Scene, phase: Phase = Phase.RUNNING) -> None:
    state = replace(train_state(training), phase=phase)
    hold(training.bench.slots, training.job.identity.stream_id, state)  # type: ignore[arg-type] # any state


def the_pod(training: Scene, name: str = NODE) -> Manifest:
    found = training.bench.cluster.get(PODS, "ml", name)
    assert found is not None
    return found


def told(training: Scene) -> list[EvidenceSeen]:
    """Return the looks that were taken."""
    return [one for one in training.bench.said() if isinstance(one, EvidenceSeen)]


def going(manifest: Manifest) -> Manifest:
    metadata = {**child(manifest, "metadata"), "deletionTimestamp": "2026-11-21T12:00:00Z"}
    return {**manifest, "metadata": metadata}


def well(manifest: Manifest) -> Manifest:
    container: Manifest = {"name": "node", "restartCount": 0, "state": {"running": {}}}
    shown: Manifest = {"phase": "Running", "containerStatuses": [container]}
    return {**manifest, "status": shown}


def test_a_pod_is_looked_at_when_it_is_seen_to_fail(training: Scene, pods: FailingPods) -> None:
    PodListener(JOBSETS, pods).seen(the_pod(training), NOON)
    (seen,) = told(training)
    assert (seen.attempt, seen.occasion.rpartition("/")[0][:6]) == (1, "pod/1/")
    (pod,) = seen.pods
    assert (pod.name, pod.containers[0].reason) == (NODE, "OOMKilled")
    (log,) = seen.logs
    content = training.store.contents[log.digest_of_content]
    assert content.startswith(b"step 7")
    assert SECRET.encode() not in content


def test_seen_again_it_is_no_news(training: Scene, pods: FailingPods) -> None:
    for _ in range(3):
        pods.seen(JOBSETS, the_pod(training))
    assert len(told(training)) == 1


def test_a_look_that_is_in_the_log_is_not_taken_again(training: Scene, pods: FailingPods) -> None:
    """As by whoever takes the job over."""
    pod = the_pod(training)
    occasion = f"pod/1/{text(pod, 'metadata', 'uid')[:8]}/1"
    state = replace(train_state(training), phase=Phase.RUNNING, captured=(occasion,))
    hold(training.bench.slots, training.job.identity.stream_id, state)  # type: ignore[arg-type] # any state
    pods.seen(JOBSETS, pod)
    assert told(training) == []


@pytest.mark.parametrize("known", [False, True], ids=["its Job is asked for", "its Job is known"])
def test_a_pod_of_others_is_passed_over_whatever_its_labels(
    training: Scene, pods: FailingPods, *, known: bool
) -> None:
    theirs = a_child(training.bench, JOBSETS, "theirs", training.job.manifest)
    job = a_child(training.bench, BATCH_JOBS, "theirs-node-0", theirs)
    if known:
        JobOwnerListener(training.bench.live.job_owners).seen(job, NOON)
    pod = the_pod(training)
    metadata = {**child(pod, "metadata"), "ownerReferences": [controller(job)]}
    pods.seen(JOBSETS, {**pod, "metadata": metadata})
    assert told(training) == []


def test_a_pod_whose_job_is_gone_already_is_known_by_what_it_was(
    training: Scene, pods: FailingPods
) -> None:
    """In a deletion in the background its Job goes first."""
    name = f"{TRAINJOB}-node-0"
    job = training.bench.cluster.get(BATCH_JOBS, "ml", name)
    assert job is not None
    listener = JobOwnerListener(training.bench.live.job_owners)
    listener.seen(job, NOON)
    listener.gone(job, NOON)
    training.bench.cluster.delete(BATCH_JOBS, "ml", name)
    pods.seen(JOBSETS, going(well(the_pod(training))))
    (seen,) = told(training)
    assert seen.occasion.endswith("/deleted")
    assert [log.source for log in seen.logs] == [NODE]


@pytest.mark.parametrize("phase", [Phase.COMPLETE, Phase.FAILED])
def test_nothing_is_looked_at_once_the_job_has_ended(
    training: Scene, pods: FailingPods, phase: Phase
) -> None:
    work_on(training, phase)
    pods.seen(JOBSETS, the_pod(training))
    assert told(training) == []


def test_what_failed_while_nobody_worked_on_its_job_is_looked_at_by_whoever_does(
    training: Scene, pods: FailingPods
) -> None:
    training.bench.slots.drop([training.job.identity.stream_id])
    pods.seen(JOBSETS, the_pod(training))
    assert told(training) == []
    work_on(training)
    pods.resume(training.job.identity.uid)
    assert len(told(training)) == 1


def test_but_not_if_it_is_gone_by_then(training: Scene, pods: FailingPods) -> None:
    training.bench.slots.drop([training.job.identity.stream_id])
    pod = the_pod(training)
    pods.seen(JOBSETS, pod)
    PodListener(JOBSETS, pods).gone(pod, NOON)
    work_on(training)
    pods.resume(training.job.identity.uid)
    assert told(training) == []


def test_so_many_pods_are_kept(
    training: Scene, pods: FailingPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failing_pods, "KEPT_MAX", 2)
    pod = the_pod(training)
    training.bench.slots.drop([training.job.identity.stream_id])
    for number in range(5):
        metadata = {**child(pod, "metadata"), "uid": f"{number}-another"}
        pods.seen(JOBSETS, {**pod, "metadata": metadata})
    work_on(training)
    pods.resume(training.job.identity.uid)
    assert {one.occasion for one in told(training)} == {"pod/1/3-anothe/1", "pod/1/4-anothe/1"}


def test_a_kubelet_that_is_silent_holds_up_neither_the_watch_nor_a_deletion(
    training: Scene,
    pods: FailingPods,
) -> None:
    bench = training.bench
    pods = FailingPods(training.capturer, bench.live, bench.slots, KEPT_AS)
    training.witness.silent = frozenset({NODE})
    for number in range(20):  # more than there are threads
        metadata = {**child(the_pod(training), "metadata"), "uid": f"another-{number}"}
        pods.seen(JOBSETS, {**the_pod(training), "metadata": metadata})
    seen = training.captured()
    assert any(log.source == "worker-1" for log in seen.logs)
    pods.stop()


def test_of_a_job_that_is_gone_before_its_end_what_is_left_is_looked_at(
    training: Scene, pods: FailingPods
) -> None:
    pods.job_gone(training.job)
    (seen,) = told(training)
    assert seen.occasion == "deleted/1/JobSet"
    assert [log.source for log in seen.logs] == [NODE]
    work_on(training, Phase.COMPLETE)
    pods.job_gone(training.job)
    assert told(training) == []


def test_the_pods_of_jobsets_are_not_watched_twice(training: Scene, pods: FailingPods) -> None:
    watched = pod_watches(pods, training.bench.live.job_owners)
    selectors = {one.name: one.selector for kinds in watched.values() for one in kinds}
    assert selectors == {
        "Jobs of JobSets": "jobset.sigs.k8s.io/jobset-name",
        "Pods of JobSets": "jobset.sigs.k8s.io/jobset-name",
        "Pods of RayClusters": "ray.io/cluster",
        "Pods of Jobs": "batch.kubernetes.io/job-name,!jobset.sigs.k8s.io/jobset-name",
    }


@pytest.mark.parametrize(("let_go", "looks"), [(True, 0), (False, 1)])
def test_a_job_that_goes_before_the_log_tells_of_the_last_look_is_not_looked_at_again(
    scene: Scene, *, let_go: bool, looks: int
) -> None:
    stream, state = scene.job.identity.stream_id, scene.state()
    if let_go:
        effect = scene.bench.effect(scene.job, EffectKind.REMOVE_FINALIZER, "rayjob")
        scene.capturer.before(stream, scene.job, state, effect)
    before = len(scene.bench.said())
    scene.capturer.after_deletion(stream, scene.job, state)
    assert (before, len(scene.bench.said())) == (int(let_go), looks)
