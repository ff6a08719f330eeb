"""KubeRay's and Trainer's controllers as far as others notice, one write at a time.

They write under their own field managers, with the names, labels, owner references and statuses
that upstream leaves. Nothing is done by itself: a test says what they do next.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from jobledger.core.trainjob.building.build import build
from jobledger.core.trainjob.plugins import all_plugins
from tests.acceptance.witness import BATCH_JOBS, RAYCLUSTERS, RAYJOBS, TRAINJOBS
from tests.support.api import MERGE, PODS, SERVICES, Api
from tests.support.waiting import wait_until

Document = dict[str, Any]

SUBMITTER = "ray-job-submitter"
SUBMITTER_IMAGE = "rayproject/ray:2.52.0"


def ago(seconds: float) -> str:
    """Return the instant so long ago as Kubernetes writes it."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def owned_by(owner: Document) -> Document:
    """Return the metadata of what a controller makes for an object."""
    return {
        "ownerReferences": [
            {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    }


@dataclass(frozen=True, slots=True)
class OtherController:
    """Who writes, and as which field manager."""

    api: Api
    manager: str

    def create(self, resource: str, document: Document) -> Document:
        """Create an object and return it."""
        reply = self.api.create(resource, document, fieldManager=self.manager)
        assert reply.code == 201, reply
        return dict(reply.body)

    def write_status(self, resource: str, name: str, status: Document) -> None:
        """Put a status in place of what there was, as controller-runtime does: again if need be."""

        def is_written() -> bool:
            now = {**self.api.get(resource, name).body, "status": status}
            reply = self.api.put(resource, now, "status", fieldManager=self.manager)
            assert reply.code in (200, 409), reply
            return reply.code == 200  # OK; else somebody wrote in between

        wait_until(is_written, f"the status of {name} is written")

    def patch(self, resource: str, name: str, patch: Document) -> None:
        """Merge something into an object."""
        path = self.api.path(resource, name)
        reply = self.api.request(
            "PATCH", path, patch, content_type=MERGE, fieldManager=self.manager
        )
        assert reply.code == 200, reply


@dataclass(frozen=True, slots=True)
class KubeRay(OtherController):
    """KubeRay's RayJob controller, and what its RayCluster controller shows."""

    manager: str = "ray-operator"

    def shows(self, name: str, phase: str, **fields: object) -> None:
        """Write the status of a RayJob; the counters are always there."""
        phase_field = {"jobDeploymentStatus": phase} if phase else {}
        counters = {"succeeded": 0, "failed": 0}
        self.write_status(RAYJOBS, name, {**counters, **phase_field, **fields})

    def take(self, job: Document) -> None:
        """Put the finalizer on a RayJob."""
        finalizers = {"metadata": {"finalizers": ["ray.io/rayjob-finalizer"]}}
        self.patch(RAYJOBS, job["metadata"]["name"], finalizers)

    def makes_cluster(self, job: Document, name: str, state: str = "") -> Document:
        """Create a RayCluster of a RayJob, in a state."""
        made = self.create(
            RAYCLUSTERS,
            {
                "apiVersion": "ray.io/v1",
                "kind": "RayCluster",
                "metadata": {"name": name, "labels": _labels(job), **owned_by(job)},
                "spec": job["spec"]["rayClusterSpec"],
            },
        )
        if state:
            head = {"serviceName": f"{name}-head-svc", "podIP": "10.1.1.1"}
            shown: Document = {"state": state, "desiredWorkerReplicas": 0}
            self.write_status(
                RAYCLUSTERS, name, shown | ({"head": head} if state == "ready" else {})
            )
        return made

    def makes_head(self, cluster: str, submitter: Mapping[str, object]) -> Document:
        """Create the head's Pod of a RayCluster, its submitter in a state (SidecarMode)."""
        owner = self.api.get(RAYCLUSTERS, cluster).body
        names = ("ray-head", SUBMITTER)
        made = self.create(
            PODS,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{cluster}-head",
                    "labels": {"ray.io/cluster": cluster, "ray.io/node-type": "head"},
                    **owned_by(owner),
                },
                "spec": {
                    "restartPolicy": "Never",
                    "nodeSelector": {"no-such-node": "true"},
                    "containers": [{"name": name, "image": SUBMITTER_IMAGE} for name in names],
                },
            },
        )
        states = ({"running": {"startedAt": ago(500)}}, submitter)
        statuses = [
            {"name": name, "image": SUBMITTER_IMAGE, "imageID": "", "restartCount": 0}
            | {"ready": "running" in state, "state": state}
            for name, state in zip(names, states, strict=True)
        ]
        status: Document = {"phase": "Running", "containerStatuses": statuses}
        self.write_status(PODS, f"{cluster}-head", status)
        return made

    def makes_submitter(self, job: Document) -> Document:
        """Create the submitter of a RayJob; no Pod of it can be placed here."""
        container = {"name": SUBMITTER, "image": SUBMITTER_IMAGE, "command": ["true"]}
        labels = {**_labels(job), "app.kubernetes.io/created-by": "kuberay-operator"}
        return self.create(
            BATCH_JOBS,
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {
                    "name": job["metadata"]["name"],
                    "labels": labels,
                    **owned_by(job),
                },
                "spec": {
                    "backoffLimit": 2,
                    "template": {
                        "metadata": {"labels": labels},
                        "spec": {
                            "restartPolicy": "Never",
                            "nodeSelector": {"no-such-node": "true"},
                            "containers": [container],
                        },
                    },
                },
            },
        )

    def makes_service(self, job: Document, cluster: str) -> Document:
        """Create the Service that leads to the head of a RayJob's RayCluster."""
        return self.create(
            SERVICES,
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {
                    "name": f"{job['metadata']['name']}-head-svc",
                    "labels": _labels(job),
                    **owned_by(job),
                },
                "spec": {
                    "clusterIP": "None",
                    "selector": {"ray.io/cluster": cluster, "ray.io/node-type": "head"},
                    "ports": [{"name": "dashboard", "port": 8265}],
                },
            },
        )

    def deletes(self, resource: str, name: str) -> None:
        """Delete an object."""
        assert self.api.delete(resource, name).code == 200


def _labels(job: Document) -> dict[str, str]:
    return {
        "ray.io/originated-from-cr-name": job["metadata"]["name"],
        "ray.io/originated-from-crd": "RayJob",
        "ray.io/job-submission-mode": job["spec"].get("submissionMode", "K8sJobMode"),
    }


@dataclass(frozen=True, slots=True)
class Trainer(OtherController):
    """Trainer's TrainJob controller, and what JobSet's controller shows."""

    manager: str = "trainer-controller-manager"

    def shows(self, name: str, *conditions: Document, active: int | None = None) -> None:
        """Write the status of a TrainJob."""
        status: Document = {"conditions": list(conditions)} if conditions else {}
        if active is not None:
            status["jobsStatus"] = [counts(active)]
        self.write_status(TRAINJOBS, name, status)

    def makes_objects(self, job: Document, runtime: Document) -> None:
        """Apply the JobSet of a TrainJob and what else is built of its runtime.

        Upstream's builder is in Go; ours makes the same of upstream's runtimes, which has tests of
        its own. The nodes' Pods can be placed nowhere.
        """
        for built in build(all_plugins(), job, runtime):
            document = cast("Document", built.manifest)
            resource = f"{built.resource.api_version}/{built.resource.plural}"
            reply = self.api.apply(resource, document, self.manager)
            assert reply.code in (200, 201), reply


def counts(active: int) -> Document:
    """Return the counters of the one replicatedJob."""
    zero = {"ready": 0, "succeeded": 0, "failed": 0, "suspended": 0}
    return {"name": "node", "active": active, **zero}


def condition(kind: str, reason: str, *, holds: bool = True, seconds_ago: float = 60) -> Document:
    """Return a condition as upstream writes it."""
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "reason": reason,
        "message": f"{kind} because of {reason}",
        "lastTransitionTime": ago(seconds_ago),
    }
