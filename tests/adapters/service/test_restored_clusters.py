"""An etcd that is restored under a running service counts its versions from an earlier one on.

The watches list anew then; what they tell counts, though its versions look older than the known.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from jobledger.adapters.kinds.batchjob.watched import BatchJobListener
from jobledger.adapters.kinds.rayjob.watching.listeners import ChildListener
from jobledger.adapters.kinds.trainjob.watching.listeners import DependentListener, RuntimeListener
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.job_listener import JobListener
from jobledger.core.ports.cluster import ObjectListener
from tests.adapters.service.parts import Bench, a_rayjob
from tests.support.records import NOON
from tests.support.train_world import a_trainjob, torch_runtime

Document = dict[str, Any]
OWNER = {"controller": True, "uid": "job-1", "name": "x"}
RAYJOB = {"apiVersion": "ray.io/v1", "kind": "RayJob"}
TRAINJOB = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"}


def a_child(kind: str) -> Document:
    owner = {**OWNER, **(RAYJOB if kind in ("RayCluster", "Job") else TRAINJOB)}
    return {"kind": kind, "metadata": {"name": "c", "namespace": "ml", "ownerReferences": [owner]}}


LISTENERS: dict[str, tuple[Callable[[EventHandlers], ObjectListener], Document]] = {
    "RayJob": (lambda around: JobListener(around, "RayJob"), a_rayjob()),
    "TrainJob": (lambda around: JobListener(around, "TrainJob"), a_trainjob()),
    "RayCluster": (lambda around: ChildListener(around, "RayCluster"), a_child("RayCluster")),
    "Job": (lambda around: ChildListener(around, "Job"), a_child("Job")),
    "JobSet": (lambda around: DependentListener(around, "JobSet"), a_child("JobSet")),
    "ConfigMap": (lambda around: DependentListener(around, "ConfigMap"), a_child("ConfigMap")),
    "ClusterTrainingRuntime": (
        lambda around: RuntimeListener(around, "ClusterTrainingRuntime"),
        torch_runtime(),
    ),
}


def shown(manifest: Document, version: int) -> Document:
    metadata = {
        **manifest["metadata"],
        "uid": "u-1",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-11-23T12:00:00Z",
    }
    return {**manifest, "metadata": metadata}


def version_of(bench: Bench, kind: str) -> str | None:
    live = bench.around.live
    if kind in ("RayJob", "TrainJob"):
        job = live.job("u-1")
        return job.version if job is not None else None
    if kind == "ClusterTrainingRuntime":
        runtime = live.runtime((kind, "", "torch"))
        return runtime.version if runtime is not None else None
    child = live.child(kind, "u-1")
    return child.version if child is not None else None


@pytest.mark.parametrize("kind", LISTENERS)
def test_what_a_new_list_tells_counts_whatever_its_version(kind: str) -> None:
    bench = Bench()
    make, manifest = LISTENERS[kind]
    listener = make(bench.around)
    listener.seen(shown(manifest, 900), NOON)
    listener.seen(shown(manifest, 800), NOON)
    assert version_of(bench, kind) == "900", "an older form, told late"
    listener.interrupted(NOON, NOON, "the API server went back to an earlier state")
    listener.seen(shown(manifest, 100), NOON)
    assert version_of(bench, kind) == "100"
    listener.seen(shown(manifest, 90), NOON)
    assert version_of(bench, kind) == "100", "told late again"


CHILDREN = ("RayCluster", "Job", "JobSet", "ConfigMap")


@pytest.mark.parametrize("kind", CHILDREN)
def test_what_came_by_a_look_and_is_not_listed_is_known_no_more(kind: str) -> None:
    """It went before its watch told of it, which broke off meanwhile: nobody tells that."""
    bench = Bench()
    make, manifest = LISTENERS[kind]
    listener = make(bench.around)
    listener.seen(shown(manifest, 900), NOON)
    listener.interrupted(NOON, NOON, "410 Gone")
    assert version_of(bench, kind) == "900", "as long as the list is not whole"
    listener.synced(NOON)
    assert version_of(bench, kind) is None
    listener.seen(shown(manifest, 901), NOON)
    assert version_of(bench, kind) == "901", "it was not told to be gone, and may be there"


@pytest.mark.parametrize("kind", CHILDREN)
def test_what_is_listed_stays(kind: str) -> None:
    bench = Bench()
    make, manifest = LISTENERS[kind]
    listener = make(bench.around)
    listener.seen(shown(manifest, 900), NOON)
    listener.interrupted(NOON, NOON, "410 Gone")
    listener.seen(shown(manifest, 900), NOON)
    listener.synced(NOON)
    assert version_of(bench, kind) == "900"


@pytest.mark.parametrize("kind", CHILDREN)
def test_what_lies_in_another_namespace_stays(kind: str) -> None:
    """Where several are watched, each of its own watch is listed by itself."""
    bench = Bench()
    make, manifest = LISTENERS[kind]
    here, there = (make(replace(bench.around, namespace=one)) for one in ("ml", "nlp"))
    here.seen(shown(manifest, 900), NOON)
    there.interrupted(NOON, NOON, "410 Gone")
    there.synced(NOON)
    assert version_of(bench, kind) == "900"
    here.seen(shown(manifest, 800), NOON)
    assert version_of(bench, kind) == "900", "nor is it in doubt"
    here.interrupted(NOON, NOON, "410 Gone")
    here.synced(NOON)
    assert version_of(bench, kind) is None


def test_a_job_that_came_by_a_late_answer_and_is_not_listed_is_known_no_more() -> None:
    bench = Bench()
    listener = JobListener(bench.around, "RayJob")
    job = shown(a_rayjob(), 900)
    listener.seen(job, NOON)
    listener.gone(job, NOON)
    listener.interrupted(NOON, NOON, "410 Gone")
    listener.synced(NOON)
    listener.seen(job, NOON)
    assert version_of(bench, "RayJob") == "900"
    listener.interrupted(NOON, NOON, "410 Gone")
    listener.synced(NOON)
    assert version_of(bench, "RayJob") is None


def test_a_job_that_is_gone_is_not_told_once_more() -> None:
    """So a watch does that is resumed from too early a version."""
    bench = Bench()
    listener = JobListener(bench.around, "RayJob")
    job = shown(a_rayjob(), 900)
    listener.seen(job, NOON)
    listener.gone(job, NOON)
    bench.said()
    listener.seen(job, NOON)
    assert bench.said() == []


def test_submitters_stay_while_another_watch_of_jobs_is_taken_anew() -> None:
    bench = Bench()
    make, manifest = LISTENERS["Job"]
    submitters, users = make(bench.around), BatchJobListener(bench.around)
    submitters.seen(shown(manifest, 900), NOON)
    users.interrupted(NOON, NOON, "410 Gone")
    users.synced(NOON)
    submitters.synced(NOON)
    assert version_of(bench, "Job") == "900"


def test_a_write_of_our_own_after_it_counts_as_well() -> None:
    bench = Bench()
    listener = JobListener(bench.around, "RayJob")
    listener.seen(shown(a_rayjob(), 900), NOON)
    listener.interrupted(NOON, NOON, "the API server went back to an earlier state")
    bench.around.live.note_version("u-1", "101")
    assert version_of(bench, "RayJob") == "101"
    listener.seen(shown(a_rayjob(), 100), NOON)
    assert version_of(bench, "RayJob") == "101", "the list was taken before the write"
