"""Evidence is of the job's own: not of Pods, objects and Events that only look like its own."""

from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.ports.cluster import JOBSETS, PODS, RAYCLUSTERS
from jobledger.core.values.documents import Manifest, text
from tests.adapters.service.evidence_scene import CLUSTER, Scene, scene
from tests.adapters.service.owned import a_child, controller, uid_of
from tests.adapters.service.test_capturing import TRAINJOB, train_state, training

__all__ = ["scene", "training"]  # fixtures


def test_of_the_pods_of_others_nothing_is_captured_whatever_their_labels(scene: Scene) -> None:
    other = a_child(scene.bench, RAYCLUSTERS, "theirs", {"metadata": {"uid": "another"}})
    forged = {**controller(scene.cluster), "controller": False}
    strangers = {"theirs-1": controller(other), "forged-1": forged}
    for name, owner in strangers.items():
        scene.pod(name, code=1, owner=owner)
        scene.witness.logs[name] = "hunter2-of-somebody-else\n"
    seen = scene.captured()
    assert {pod.name for pod in seen.pods} == {"head-1", "worker-1"}
    assert [kept.source for kept in seen.logs] == ["worker-1"]
    assert not any(name in about for name in strangers for about in scene.witness.asked_about)
    assert b"hunter2" not in b"".join(scene.store.contents.values())


def test_of_a_raycluster_of_others_nothing_is_captured(scene: Scene) -> None:
    """As one that the job selected: of that only its own Ray job is asked for."""
    theirs: Manifest = {"metadata": {"ownerReferences": [], "labels": {"of": "others"}}}
    scene.bench.cluster.merge_patch(RAYCLUSTERS, "ml", CLUSTER, theirs)
    seen = scene.captured()
    assert (seen.pods, seen.logs, scene.witness.asked_about) == ((), (), set())
    (missing,) = [told for told in seen.missing if told.what == "Pods"]
    assert missing.why == f"RayCluster {CLUSTER} is not there, or not the job's own"


def test_of_a_raycluster_that_is_gone_the_pods_are_still_the_jobs(scene: Scene) -> None:
    owner = controller(scene.cluster)
    scene.bench.cluster.delete(RAYCLUSTERS, "ml", CLUSTER)
    scene.bench.cluster.collect()
    scene.pod("left", code=1, owner=owner)
    stream = scene.job.identity.stream_id
    deletion = scene.bench.effect(
        scene.job, EffectKind.DELETE_CLUSTER, CLUSTER, uid=text(scene.cluster, "metadata", "uid")
    )
    scene.capturer.before(stream, scene.job, scene.state(), deletion)
    (seen,) = scene.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert [pod.name for pod in seen.pods] == ["left", "head-1"], "the head is still being stopped"


def test_a_log_is_not_kept_if_another_pod_took_the_name_meanwhile(scene: Scene) -> None:
    def taken(namespace: str, name: str, *_: object, **__: object) -> str:
        scene.bench.cluster.delete(PODS, namespace, name)
        scene.pod(name, owner={"kind": "Job", "uid": "another", "controller": True})
        return "hunter2-of-somebody-else\n"

    scene.witness.pod_log = taken  # type: ignore[method-assign]
    seen = scene.captured()
    assert seen.logs == ()
    (missing,) = [told for told in seen.missing if told.what == "log of Pod worker-1"]
    assert missing.why == "another Pod has its name by now"


def test_events_about_an_earlier_object_of_the_name_are_not_captured(scene: Scene) -> None:
    about: Manifest = {"kind": "Pod", "name": "worker-1", "uid": "of-an-earlier-pod"}
    event: Manifest = {"involvedObject": about, "type": "Warning", "reason": "Killed"}
    scene.witness.events["Pod/worker-1"] = [event, {**event, "involvedObject": {"kind": "Pod"}}]
    assert scene.captured().kubernetes_events == ()


def test_of_a_jobset_of_others_nothing_is_captured(training: Scene) -> None:
    theirs: Manifest = {"metadata": {"ownerReferences": []}}
    training.bench.cluster.merge_patch(JOBSETS, "ml", TRAINJOB, theirs)
    stream, state = training.job.identity.stream_id, train_state(training)
    uid = uid_of(training.bench, JOBSETS, TRAINJOB)
    deletion = training.bench.effect(training.job, EffectKind.DELETE_JOBSET, TRAINJOB, uid=uid)
    training.capturer.before(stream, training.job, state, deletion)
    (seen,) = training.bench.said()
    assert isinstance(seen, EvidenceSeen)
    assert (seen.pods, seen.logs, seen.kubernetes_events) == ((), (), ())
