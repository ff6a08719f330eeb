"""TrainJobs and runtimes for the tests of plugins, and the objects that are built from them."""

from collections.abc import Sequence
from typing import Any

from jobledger.core.trainjob.building.build import build
from jobledger.core.trainjob.building.framework import BuiltObject, Plugin
from jobledger.core.trainjob.plugins import all_plugins
from jobledger.core.values.documents import Manifest

Document = dict[str, Any]
OWNER = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "name": "train",
    "uid": "uid-of-train",
    "controller": True,
    "blockOwnerDeletion": True,
}
TRAINER_LABEL = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
INDEX = {
    "fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}
}


def trainjob(**spec: object) -> Document:
    """Return a TrainJob called `train` on the runtime `plain`."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {
            "name": "train",
            "namespace": "ml",
            "uid": "uid-of-train",
            "labels": {"team": "a"},
        },
        "spec": {"runtimeRef": {"name": "plain"}, **spec},
    }


def replicated_job(
    name: str = "node", *, ancestor: str = "trainer", container: str = "node", **fields: object
) -> Document:
    """Return a replicatedJob of one container; `fields` are the container's."""
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": ancestor} if ancestor else {}
    job: Document = {
        "name": name,
        "template": {
            "spec": {
                "template": {
                    "spec": {"containers": [{"name": container, "image": "busybox", **fields}]}
                }
            }
        },
    }
    if labels:
        job["template"]["metadata"] = {"labels": labels}
    return job


def runtime(
    *jobs: Document, policy: Document | None = None, gang: Document | None = None, **jobset: object
) -> Document:
    """Return a cluster's runtime called `plain`."""
    spec: Document = {
        "mlPolicy": {"numNodes": 1} if policy is None else policy,
        "template": {
            "metadata": {"labels": {"from": "runtime"}},
            "spec": {"replicatedJobs": list(jobs) or [replicated_job()], **jobset},
        },
    }
    if gang is not None:
        spec["podGroupPolicy"] = gang
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "plain"},
        "spec": spec,
    }


def objects(job: Document, on: Document, *others: Plugin) -> dict[str, BuiltObject]:
    """Return what is built, by `Kind/name`, in the order in which it is applied."""
    return {item.name: item for item in build(all_plugins(*others), job, on)}


def jobset(job: Document, on: Document, *others: Plugin) -> Document:
    """Return the JobSet that is built."""
    return dict(objects(job, on, *others)["JobSet/train"].manifest)


def container(built: Document, number: int = 0) -> Document:
    """Return the first container of a replicatedJob of a JobSet."""
    found: Document = pod(built, number)["containers"][0]
    return found


def pod(built: Document, number: int = 0) -> Document:
    """Return the Pod's specification of a replicatedJob of a JobSet."""
    job = built["spec"]["replicatedJobs"][number]
    found: Document = job["template"]["spec"]["template"]["spec"]
    return found


def names(found: Sequence[Manifest]) -> list[object]:
    """Return the names of items."""
    return [item["name"] for item in found]
