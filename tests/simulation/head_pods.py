"""The Pods of heads, and the submitter beside a head (SidecarMode): they come, end and go.

In seeds from `WIDE_FROM` on alone, so that the dice of older ones fall as they did.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from jobledger.core.ports.cluster import PODS, RAYCLUSTERS
from jobledger.core.rayjob.names import (
    HEAD,
    LABEL_CLUSTER,
    LABEL_NODE_TYPE,
    NO_HEAD_RESTART_ANNOTATION,
    SUBMITTER_CONTAINER,
)
from jobledger.core.rayjob.observations.children import dashboard_address
from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.core.values.instants import rfc3339
from tests.simulation.nature import Move, Nature
from tests.support.memory.ray_jobs import TERMINAL

WIDE_FROM = 10_000_000
"""From this seed on."""

DISRUPTED: Manifest = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
}
EVICTED = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}


@dataclass
class HeadPods:
    """KubeRay's RayCluster controller and the kubelet, as far as a head's Pod goes."""

    nature: Nature
    present: bool
    exact: bool = False
    """Whether a RayCluster is ready with a head alone, and gets another until it was ready once."""

    def __post_init__(self) -> None:
        self.api, self.heads = self.nature.api, self.nature.heads
        self._begun: set[str] = set()
        """UIDs of RayClusters that have had a head."""
        if self.exact:
            self.nature.has_head = lambda cluster: self.pod_of(cluster) is not None

    def possible(self) -> list[Move]:
        """Return what can happen next."""
        return [*self._of_clusters(), *self._of_sidecars()] if self.present else []

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        return list(self._of_trouble()) if self.present else []

    def _of_clusters(self) -> Iterator[Move]:
        for cluster in self.api.all(RAYCLUSTERS):
            metadata = child(cluster, "metadata")
            name, uid = text(metadata, "name"), text(metadata, "uid")
            begun = text(cluster, "status", "state") == "ready" or not self.exact
            may_come = not (begun and uid in self._begun) or not text(
                metadata, "annotations", NO_HEAD_RESTART_ANNOTATION
            )
            if text(metadata, "deletionTimestamp"):
                continue
            pod = self.pod_of(cluster)
            place = (PODS, text(metadata, "namespace"), f"{name}-head")
            may_come = may_come and self.api.takes(place[1])
            if pod is None and may_come and self.api.get(*place) is None:
                yield f"the head's Pod of {name} comes", partial(self._make, cluster)
            elif pod is not None and text(pod, "status", "phase") == "Failed":
                yield f"KubeRay deletes the head's Pod of {name}", partial(self._remove, pod)

    def _of_sidecars(self) -> Iterator[Move]:
        for pod, address, job_id in self._sidecars():
            name, status = text(pod, "metadata", "name"), self.heads.status(address, job_id)
            if status in TERMINAL:
                code = int(status != "SUCCEEDED")
                yield f"submitter in {name}: {code}", partial(self._end_sidecar, pod, code)
            elif not status and address in self.heads.up:
                yield f"{name} submits {job_id}", partial(self.heads.take, address, job_id)

    def _of_trouble(self) -> Iterator[Move]:
        for cluster in self.api.all(RAYCLUSTERS):
            pod = self.pod_of(cluster)
            if pod is None or text(cluster, "metadata", "deletionTimestamp"):
                continue
            name = text(pod, "metadata", "name")
            yield f"somebody deletes {name}", partial(self._remove, pod)
            if text(pod, "status", "phase") != "Failed":
                yield f"{name} is evicted", partial(self._evict, pod)
                disrupted: Manifest = {**child(pod, "status"), "conditions": [DISRUPTED]}
                yield f"{name} is preempted", partial(self._show, pod, disrupted)
        for pod, _, _ in self._sidecars():
            name = text(pod, "metadata", "name")
            for code in (0, 1):
                yield f"submitter in {name} is off: {code}", partial(self._end_sidecar, pod, code)

    def _sidecars(self) -> Iterator[tuple[Manifest, str, str]]:
        """Yield Pods with a submitter that goes on, the head's address and the submission id."""
        for cluster in self.api.all(RAYCLUSTERS):
            pod = self.pod_of(cluster)
            job_id = submission_beside(cluster)
            if pod is None or not job_id or text(pod, "status", "phase") == "Failed":
                continue
            if not any("terminated" in child(one, "state") for one in _statuses(pod)):
                yield pod, dashboard_address(cluster), job_id

    def pod_of(self, cluster: Manifest) -> Manifest | None:
        """Return the Pod of a head; None if there is none."""
        uid = text(cluster, "metadata", "uid")
        for pod in self.api.all(PODS):
            if any(text(one, "uid") == uid for one in items(pod, "metadata", "ownerReferences")):
                return pod
        return None

    def _make(self, cluster: Manifest) -> None:
        metadata = child(cluster, "metadata")
        name, uid = text(metadata, "name"), text(metadata, "uid")
        owner: Manifest = {
            "apiVersion": RAYCLUSTERS.api_version,
            "kind": "RayCluster",
            "controller": True,
        }
        about: Manifest = {
            "name": f"{name}-head",
            "namespace": text(metadata, "namespace"),
            "labels": {LABEL_CLUSTER: name, LABEL_NODE_TYPE: HEAD},
            "ownerReferences": [{**owner, "name": name, "uid": uid}],
        }
        self._begun.add(uid)
        template = child(cluster, "spec", "headGroupSpec", "template")
        pod = self.api.create(PODS, {"metadata": about, "spec": child(template, "spec")})
        if (address := dashboard_address(cluster)) not in self.heads.up:
            self.heads.start(address)
        named = (text(one, "name") for one in items(template, "spec", "containers"))
        running: Json = [{"name": one, "state": {"running": {}}} for one in named]
        self._show(pod, {"phase": "Running", "containerStatuses": running})

    def _end_sidecar(self, pod: Manifest, code: int) -> None:
        ended: Manifest = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "finishedAt": rfc3339(self.nature.now()),
        }
        others = [one for one in items(pod, "status", "containerStatuses") if not _is_sidecar(one)]
        one: Manifest = {"name": SUBMITTER_CONTAINER, "state": {"terminated": ended}}
        self._show(pod, {**child(pod, "status"), "containerStatuses": [*others, one]})

    def _evict(self, pod: Manifest) -> None:
        self._stop_head(pod)
        self._show(pod, {**child(pod, "status"), **EVICTED})

    def _remove(self, pod: Manifest) -> None:
        self._stop_head(pod)
        metadata = child(pod, "metadata")
        self.api.delete(PODS, text(metadata, "namespace"), text(metadata, "name"))

    def _stop_head(self, pod: Manifest) -> None:
        name = text(pod, "metadata", "labels", LABEL_CLUSTER)
        cluster = self.api.get(RAYCLUSTERS, text(pod, "metadata", "namespace"), name)
        if cluster is not None:
            self.heads.stop_head(dashboard_address(cluster))

    def _show(self, pod: Manifest, status: Manifest) -> None:
        about: Manifest = {"metadata": child(pod, "metadata"), "status": status}
        self.api.replace(PODS, about, "status")


def submission_beside(cluster: Manifest) -> str:
    """Return the submission id that the submitter beside a head names; empty if there is none."""
    containers = items(cluster, "spec", "headGroupSpec", "template", "spec", "containers")
    for container in containers:
        if text(container, "name") == SUBMITTER_CONTAINER:
            env = {text(one, "name"): text(one, "value") for one in items(container, "env")}
            return env.get("RAY_JOB_SUBMISSION_ID", "")
    return ""


def _statuses(pod: Manifest) -> list[Json]:
    return [one for one in items(pod, "status", "containerStatuses") if _is_sidecar(one)]


def _is_sidecar(status: Json) -> bool:
    return text(status, "name") == SUBMITTER_CONTAINER
