"""One redactor per job knows what all its parts declare, whichever of them was seen first."""

import itertools
import json
from typing import Any

import msgspec
import pytest
import yaml

from jobledger.adapters.kinds.trainjob.watching.listeners import DependentListener, RuntimeListener
from jobledger.adapters.service.objects.declared_secrets import (
    KINDS_OF_PODS_MAX,
    secrets_of,
    secrets_of_pods,
)
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.watches.job_listener import JobListener
from jobledger.core.batchjob.names import MANAGED_BY
from jobledger.core.log.redaction.redact import UNCOUNTED, joined
from jobledger.core.log.redaction.secret_values import KNOWN_MAX
from jobledger.core.ports.cluster import PODS
from jobledger.core.trainjob.names import SNAPSHOT_KEY, snapshot_name
from jobledger.core.values.documents import Json, Manifest, child
from tests.adapters.service.evidence_scene import Scene, scene
from tests.adapters.service.owned import controller
from tests.adapters.service.parts import Bench
from tests.rules.rayjob.jobs import selecting
from tests.support.records import NOON
from tests.support.train_world import a_trainjob

__all__ = ["scene"]

PLANTED = "xK9-planted-vQ7-elsewhere"
ENV: Json = [{"name": "STORE_PASSWORD", "value": PLANTED}]
POD: Json = {"spec": {"containers": [{"name": "main", "env": ENV}]}}


def is_hidden(job: CachedJob | None) -> bool:
    assert job is not None
    return PLANTED not in job.redactor.text(f"cannot log in with {PLANTED}!", 1000)


def shared_cluster(name: str = "shared", generation: int = 1) -> Manifest:
    return {
        "metadata": {
            "uid": "shared-uid",
            "name": name,
            "namespace": "ml",
            "resourceVersion": str(10 + generation),
            "generation": generation,
        },
        "spec": {"headGroupSpec": {"template": POD}},
        "status": {"state": "ready", "reason": f"FailedCreate: {PLANTED}"},
    }


def a_selecting_job(bench: Bench) -> CachedJob:
    manifest = selecting({"spec.clusterSelector": {"ray.io/cluster": "shared"}})
    manifest["metadata"] |= {"uid": "job-uid", "resourceVersion": "3"}
    return bench.see(manifest)


@pytest.mark.parametrize("first", ["the job", "the RayCluster"])
def test_a_job_on_a_shared_raycluster_knows_its_secrets(first: str) -> None:
    bench = Bench()
    if first == "the RayCluster":
        bench.clusters.seen(shared_cluster(), NOON)
        job = a_selecting_job(bench)
        bench.clusters.seen(shared_cluster(generation=2), NOON)
    else:
        job = a_selecting_job(bench)
        bench.clusters.seen(shared_cluster(), NOON)
    assert is_hidden(bench.live.job(job.identity.uid))
    said = bench.said()
    assert said
    assert PLANTED not in msgspec.json.encode(said, enc_hook=dict).decode()


def test_what_a_raycluster_declares_is_looked_for_once_per_generation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench, looked = Bench(), []
    real = secrets_of_pods.__globals__["secrets_in"]

    def counted(manifest: Manifest, runtime_env: Json) -> frozenset[str]:
        looked.append(manifest)
        found: frozenset[str] = real(manifest, runtime_env)
        return found

    job = a_selecting_job(bench)
    monkeypatch.setattr("jobledger.adapters.service.objects.kept_children.secrets_in", counted)
    for version in ("11", "12", "13"):
        shown: dict[str, Any] = json.loads(json.dumps(shared_cluster()))
        shown["metadata"]["resourceVersion"] = version
        bench.clusters.seen(shown, NOON)
        assert looked == [], "nobody has said anything of the job"
    for _ in range(2):
        assert is_hidden(bench.live.job(job.identity.uid))
        assert len(looked) == 1
    bench.clusters.seen(shared_cluster(generation=9), NOON)
    assert len(looked) == 2


def trainjob() -> Manifest:
    manifest = a_trainjob()
    manifest["metadata"] |= {"uid": "train-uid", "resourceVersion": "3", "generation": 1}
    return manifest


def batch_job() -> Manifest:
    metadata: Manifest = {"name": "etl", "namespace": "ml"}
    spec: Manifest = {"managedBy": MANAGED_BY, "template": POD}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


RUNTIME: Manifest = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "torch", "resourceVersion": "5"},
    "spec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": POD}]}}},
}
OWNED: Manifest = {
    "namespace": "ml",
    "resourceVersion": "6",
    "generation": 1,
    "ownerReferences": [
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "name": "train",
            "uid": "train-uid",
            "controller": True,
        }
    ],
}
JOBSET: Manifest = {
    "metadata": {**OWNED, "name": "train", "uid": "jobset-uid"},
    "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": POD}}}]},
}
SNAPSHOT: Manifest = {
    "kind": "ConfigMap",
    "metadata": {**OWNED, "name": snapshot_name("train"), "uid": "snapshot-uid"},
    "data": {SNAPSHOT_KEY: yaml.safe_dump(RUNTIME)},
}
BROKEN: Manifest = {**SNAPSHOT, "data": {SNAPSHOT_KEY: f"a: [\nstore_password: {PLANTED}\n"}}


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("ClusterTrainingRuntime", RUNTIME),
        ("ConfigMap", SNAPSHOT),
        ("ConfigMap", BROKEN),
        ("JobSet", JOBSET),
    ],
    ids=["its runtime", "the snapshot of it", "one that cannot be read", "its JobSet"],
)
@pytest.mark.parametrize("first", ["the job", "the part"])
def test_a_trainjob_knows_the_secrets_of_what_it_runs_from(
    kind: str, part: Manifest, first: str
) -> None:
    bench = Bench()
    jobs = JobListener(bench.around, "TrainJob")
    parts: RuntimeListener | DependentListener = (
        RuntimeListener(bench.around, kind)
        if kind == "ClusterTrainingRuntime"
        else DependentListener(bench.around, kind)
    )
    for listener, manifest in (
        [(jobs, trainjob()), (parts, part)]
        if first == "the job"
        else [(parts, part), (jobs, trainjob())]
    ):
        listener.seen(manifest, NOON)
    assert is_hidden(bench.live.job("train-uid"))


PLACES: tuple[tuple[str, Manifest], ...] = (
    (
        "a runtime patch of a TrainJob",
        {"spec": {"runtimePatches": [{"trainingRuntimeSpec": {"template": {"spec": POD}}}]}},
    ),
    ("a pod template override", {"spec": {"podTemplateOverrides": [POD]}}),
    ("the initializer of a dataset", {"spec": {"initializer": {"dataset": {"env": ENV}}}}),
    ("the initializer of a model", {"spec": {"initializer": {"model": {"env": ENV}}}}),
    ("the trainer", {"spec": {"trainer": {"env": ENV}}}),
    ("the submitter's template", {"spec": {"submitterPodTemplate": POD}}),
    (
        "a group of workers",
        {"spec": {"rayClusterSpec": {"workerGroupSpecs": [{"template": POD}]}}},
    ),
    (
        "a sidecar",
        {"spec": {"containers": [{"name": "main"}, {"name": "proxy", "env": ENV}]}},
    ),
    ("an init container", {"spec": {"initContainers": [{"env": ENV}]}}),
    ("a runtimeEnv", {"spec": {"runtimeEnvYAML": f"env_vars: {{DB_PASSWORD: {PLANTED}}}"}}),
    (
        "the Secret of an MPI job",
        {"kind": "Secret", "data": {"ssh-privatekey": PLANTED}},
    ),
)


@pytest.mark.parametrize(("rule", "manifest"), PLACES, ids=[rule for rule, _ in PLACES])
def test_every_place_of_a_job_declares(rule: str, manifest: Manifest) -> None:
    assert PLANTED in secrets_of(manifest), rule


def test_what_a_pod_was_given_on_its_way_is_hidden_in_logs_and_answers(scene: Scene) -> None:
    """An admission webhook put it there: no object of the job names it. The log came first."""
    labels: Manifest = {"ray.io/cluster": "train-x2x2x", "ray.io/node-type": "worker"}
    owners: Json = [controller(scene.cluster)]
    pod: Manifest = {
        "metadata": {
            "name": "worker-2",
            "namespace": "ml",
            "labels": labels,
            "ownerReferences": owners,
        },
        "spec": {"containers": [{"name": "main", "env": ENV}]},
    }
    scene.bench.cluster.plant(PODS, pod)
    scene.witness.logs["worker-1"] = f"Traceback\n{PLANTED}\n"
    scene.witness.events["RayCluster/train-x2x2x"] = [
        {
            "involvedObject": controller(scene.cluster),
            "type": "Warning",
            "reason": "FailedCreate",
            "message": f"refused: {PLANTED}",
        }
    ]
    seen = scene.captured()
    assert {kept.source for kept in seen.logs} >= {"worker-1"}
    kept = msgspec.json.encode(seen).decode() + repr(scene.store.contents)
    assert PLANTED not in kept
    assert is_hidden(scene.bench.live.job(scene.job.identity.uid)), "from now on everywhere"


def test_very_many_different_pods_are_not_all_looked_at() -> None:
    pods: list[Manifest] = [
        {"spec": {"containers": [{"env": [{"name": "A_PASSWORD", "value": f"hunter-{n:04}"}]}]}}
        for n in range(KINDS_OF_PODS_MAX + 10)
    ]
    assert len(secrets_of_pods(pods)) == KINDS_OF_PODS_MAX


def test_a_job_that_is_edited_again_and_again_knows_no_more_than_there_is_room_for() -> None:
    known = frozenset(f"older-{number}" for number in range(KNOWN_MAX - 1))
    fits = joined(known, frozenset({"newest-secret"}))
    assert fits == known | {"newest-secret"}
    assert joined(fits, frozenset({"newest-secret"})) is fits
    beyond = joined(fits, frozenset({"one-too-many"}))
    assert beyond == {UNCOUNTED}
    assert joined(beyond, known) == {UNCOUNTED}
    assert joined(known, beyond) == {UNCOUNTED}


@pytest.mark.parametrize("kind", ["RayJob", "TrainJob"])
def test_a_job_is_looked_through_once_for_each_form_that_its_author_gave_it(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A status, a finalizer or a deletion cost nothing; before, the last two cost two walks."""
    bench, walks = Bench(), []
    real = secrets_of_pods.__globals__["secrets_in"]

    def counted(manifest: Manifest, runtime_env: Json) -> frozenset[str]:
        walks.append("declared")
        found: frozenset[str] = real(manifest, runtime_env)
        return found

    monkeypatch.setattr("jobledger.adapters.service.objects.declared_secrets.secrets_in", counted)
    manifest = selecting() if kind == "RayJob" else trainjob()
    listener = bench.jobs if kind == "RayJob" else JobListener(bench.around, "TrainJob")
    versions = itertools.count(100)

    def see(status: Manifest, **changed: Json) -> int:
        metadata: Manifest = {
            **child(manifest, "metadata"),
            "uid": "the-uid",
            "resourceVersion": str(next(versions)),
            "generation": 1,
            **changed,
        }
        before = len(walks)
        listener.seen({**manifest, "metadata": metadata, "status": status}, NOON)
        return len(walks) - before

    assert see({}) == 0, "nobody has asked what it may not show"
    for message in ("one", "two", "three"):
        assert see({"message": message, "conditions": [{"type": "C", "message": message}]}) == 0
    assert see({}, finalizers=["somebody.example/s"]) == 0
    assert see({}, deletionTimestamp="2026-11-21T12:00:00Z") == 0
    assert see({}, annotations={"edited": "once"}) == 2, "the form before as well"
    assert see({"message": "later"}, annotations={"edited": "once"}) == 0
    assert see({}, generation=2, annotations={"edited": "once"}) == 1
    assert bench.said(), "what is news was told"


@pytest.mark.parametrize("first", ["a runtime without", "one that cannot be read"])
def test_a_snapshot_that_is_written_over_declares_what_it_holds_now(first: str) -> None:
    """A ConfigMap counts no generation; before, it declared for ever what it did at first."""
    bench = Bench()
    JobListener(bench.around, "TrainJob").seen(trainjob(), NOON)
    held = "kind: ClusterTrainingRuntime" if first == "a runtime without" else "a: ["
    metadata: Manifest = {
        key: value for key, value in child(SNAPSHOT, "metadata").items() if key != "generation"
    }
    listener = DependentListener(bench.around, "ConfigMap")
    listener.seen({**SNAPSHOT, "metadata": metadata, "data": {SNAPSHOT_KEY: held}}, NOON)
    assert not is_hidden(bench.live.job("train-uid"))
    listener.seen({**SNAPSHOT, "metadata": {**metadata, "resourceVersion": "7"}}, NOON)
    assert is_hidden(bench.live.job("train-uid"))


@pytest.mark.parametrize("kind", ["RayJob", "TrainJob", "Job"])
def test_so_it_is_with_what_its_author_writes_into_it_edit_by_edit(kind: str) -> None:
    """Before, what earlier forms declared became legible once it was too much to search for."""
    bench = Bench()
    manifest = {"RayJob": selecting(), "TrainJob": trainjob(), "Job": batch_job()}[kind]
    listener = JobListener(bench.around, kind)
    each = KNOWN_MAX // 4
    for edit in range(6):
        env: Json = [
            {"name": f"T{number}_PASSWORD", "value": f"edit-{edit}-{number:05}-xK9vQ7"}
            for number in range(each)
        ]
        metadata: Manifest = {
            **child(manifest, "metadata"),
            "uid": "the-uid",
            "resourceVersion": str(100 + edit),
            "generation": 2 + edit,
        }
        spec: Manifest = {**child(manifest, "spec"), "env": env}
        listener.seen({**manifest, "metadata": metadata, "spec": spec}, NOON)
    job = bench.live.job("the-uid")
    assert job is not None
    assert job.secrets == {UNCOUNTED}
    said = "the first one, edit-0-00000-xK9vQ7"
    assert job.redactor.text(said, 500) == job.redactor.marker(said)
    written = msgspec.json.encode(bench.said(), enc_hook=dict).decode()
    assert "xK9vQ7" not in written
