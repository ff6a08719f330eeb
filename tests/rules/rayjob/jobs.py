"""RayJobs as an API server serves them, and changes to them by the path of a field."""

import copy
from typing import Any

HEAD_IMAGE = "rayproject/ray:2.52.0"

TEMPLATE: dict[str, Any] = {"spec": {"containers": [{"name": "ray", "image": HEAD_IMAGE}]}}

CLUSTER_SPEC: dict[str, Any] = {
    "rayVersion": "2.52.0",
    "headGroupSpec": {
        "rayStartParams": {},
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "ray-head",
                        "image": HEAD_IMAGE,
                        "ports": [{"name": "dashboard", "containerPort": 8265}],
                    }
                ]
            }
        },
    },
    "workerGroupSpecs": [
        {
            "groupName": "workers",
            "replicas": 1,
            "minReplicas": 1,
            "maxReplicas": 5,
            "rayStartParams": {},
            "template": TEMPLATE,
        }
    ],
}

HEAD = "spec.rayClusterSpec.headGroupSpec"
HEAD_POD = f"{HEAD}.template.spec"
HEAD_ENV = f"{HEAD_POD}.containers.0.env"
WORKERS = "spec.rayClusterSpec.workerGroupSpecs.0"

Change = dict[str, Any]
"""Path of a field -> its new value; None takes the field away.

Steps are parted by dots, or by bars where a key has dots of its own (`ray.io/cluster`).
"""


def rayjob(change: Change | None = None, /, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 any JSON
    """Return a valid RayJob with fields of its `.spec` set, then changed by path."""
    job: dict[str, Any] = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "train", "namespace": "ml", "uid": "uid-of-train", "generation": 1},
        "spec": {
            "entrypoint": "python train.py",
            "submissionMode": "K8sJobMode",
            "rayClusterSpec": copy.deepcopy(CLUSTER_SPEC),
            **spec,
        },
    }
    return changed(job, change or {})


def selecting(change: Change | None = None) -> dict[str, Any]:
    """Return a RayJob that runs on the existing RayCluster `shared`."""
    job = rayjob(clusterSelector={"ray.io/cluster": "shared"})
    del job["spec"]["rayClusterSpec"]
    return changed(job, change or {})


def changed(job: dict[str, Any], change: Change) -> dict[str, Any]:
    """Return a copy of `job` with the named fields changed."""
    result = copy.deepcopy(job)
    for path, value in change.items():
        *parents, last = path.split(".") if "/" not in path else path.split("|")
        here: Any = result
        for key in parents:
            here = here[int(key)] if isinstance(here, list) else here.setdefault(key, {})
        if value is None:
            here.pop(last, None)
        else:
            here[int(last) if isinstance(here, list) else last] = copy.deepcopy(value)
    return result
