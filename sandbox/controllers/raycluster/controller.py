"""The simulated RayCluster controller: head Service, head Pod, worker Pods, status.

It does what a RayJob controller relies on (KubeRay's contract between the two) and leaves out the
rest: no autoscaling, no ingress, no authentication, no Redis.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import ObjectChanged, ObjectExists, ObjectNotFound
from jobledger.core.ports.cluster import PODS, RAYCLUSTERS, SERVICES, Cluster
from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.core.values.instants import rfc3339
from jobledger.sandbox.controllers.conditions import condition_is_true
from jobledger.sandbox.controllers.loop import ControllerLoop
from jobledger.sandbox.controllers.owners import is_still_there
from jobledger.sandbox.controllers.raycluster.groups import (
    HEAD_GROUP,
    head_container,
    head_service_name,
    worker_groups,
)
from jobledger.sandbox.controllers.raycluster.pods import SLOT_ANNOTATION, Slot, ray_pod
from jobledger.sandbox.controllers.raycluster.service import head_service
from jobledger.sandbox.controllers.raycluster.status import raycluster_status
from jobledger.sandbox.controllers.store import (
    Store,
    controller_uid,
    is_being_deleted,
    key_of,
    uid_of,
)

OPERATOR = "ray.io/kuberay-operator"
"""The value of `spec.managedBy` that this controller answers to, besides none."""

NO_HEAD_RESTART = "ray.io/disable-provisioned-head-restart"
EXISTS_RETRY_SECONDS = 0.2
"""Until a cluster is looked at again when the watch lags behind our own writes."""

_log = structlog.get_logger("sandbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class RayClusterStores:
    """The watches this controller lives on."""

    clusters: Store
    pods: Store
    services: Store


@dataclass(slots=True)
class _Memory:
    """What is remembered of one cluster between reconciles; losing it does no harm."""

    incarnations: dict[tuple[str, int], int] = field(default_factory=dict)
    doomed: set[str] = field(default_factory=set)
    """UIDs of Pods that we have deleted and the watch still shows."""


class RayClusterController:
    """A reconciler of RayClusters."""

    def __init__(self, cluster: Cluster, stores: RayClusterStores, loop: ControllerLoop) -> None:
        self._cluster, self._stores, self._loop = cluster, stores, loop
        self._clock = SystemClock()
        self._memory: dict[str, _Memory] = {}

    def start(self) -> None:
        """Listen to the stores; what they hold already is looked at as well."""
        self._stores.clusters.tell(self._cluster_told)
        self._stores.pods.tell(self._part_told)
        self._stores.services.tell(self._part_told)
        for found in self._stores.clusters.all():
            self._cluster_told(found, False)  # noqa: FBT003  # as the store calls it

    def reconcile(self, namespace: str, name: str) -> float | None:
        """Create and delete what differs from the specification, then write the status."""
        found = self._stores.clusters.get(namespace, name)
        if found is None or is_being_deleted(found) or not _is_ours(found):
            return None
        if not head_container(found):
            _log.warning("sandbox_raycluster_invalid", namespace=namespace, name=name)
            return None
        memory = self._memory.setdefault(uid_of(found), _Memory())
        try:
            service = self._service(found)
            self._bring_pods(found, memory)
        except ObjectExists:
            return EXISTS_RETRY_SECONDS  # created by us, and not told yet
        self._write_status(found, self._live_pods(found, memory), service)
        return None

    def _cluster_told(self, manifest: Manifest, is_gone: bool) -> None:  # noqa: FBT001  # as the store calls it
        if is_gone:
            self._memory.pop(uid_of(manifest), None)
            return
        self._loop.add((self, *key_of(manifest)))

    def _part_told(self, manifest: Manifest, is_gone: bool) -> None:  # noqa: FBT001  # as the store calls it
        owner = controller_uid(manifest)
        for reference in items(manifest, "metadata", "ownerReferences"):
            if text(reference, "uid") != owner or text(reference, "kind") != RAYCLUSTERS.kind:
                continue
            memory = self._memory.get(owner)
            if is_gone and memory is not None:
                memory.doomed.discard(uid_of(manifest))
            self._loop.add((self, key_of(manifest)[0], text(reference, "name")))

    def _service(self, cluster: Manifest) -> Manifest | None:
        namespace = text(cluster, "metadata", "namespace")
        known = self._stores.services.get(namespace, head_service_name(cluster))
        if known is not None:
            return known
        made = self._cluster.create(SERVICES, head_service(cluster))
        self._stores.services.note(made)
        return made

    def _live_pods(self, cluster: Manifest, memory: _Memory) -> list[Manifest]:
        return [
            pod
            for pod in self._stores.pods.owned_by(uid_of(cluster))
            if not is_being_deleted(pod) and uid_of(pod) not in memory.doomed
        ]

    def _bring_pods(self, cluster: Manifest, memory: _Memory) -> None:
        wants_none = child(cluster, "spec").get("suspend") is True
        groups: list[tuple[str, Json, int]] = [
            (HEAD_GROUP, child(cluster, "spec", "headGroupSpec"), 0 if wants_none else 1)
        ]
        groups += [
            (group.name, group.spec, 0 if wants_none else group.wanted)
            for group in worker_groups(cluster)
        ]
        self._count(cluster, memory)
        live = self._live_pods(cluster, memory)
        for pod in live:
            if _is_over(pod):
                self._delete(pod, memory)
        known = {name for name, _, _ in groups}
        for pod in live:
            if _slot_of(pod)[0] not in known:
                self._delete(pod, memory)
        for name, spec, wanted in groups:
            self._bring_group(cluster, memory, (name, spec, wanted))

    def _bring_group(
        self, cluster: Manifest, memory: _Memory, group: tuple[str, Json, int]
    ) -> None:
        name, spec, wanted = group
        live = [pod for pod in self._live_pods(cluster, memory) if _slot_of(pod)[0] == name]
        surplus = max(0, len(live) - wanted)
        live.sort(key=lambda pod: (_stays(pod, spec), -_slot_of(pod)[1]))
        for pod in live[:surplus]:
            self._delete(pod, memory)
        del live[:surplus]
        if name == HEAD_GROUP and not live and wanted and _head_stays_away(cluster):
            return
        taken = {_slot_of(pod)[1] for pod in live}
        free = (index for index in range(wanted + len(live)) if index not in taken)
        for _ in range(wanted - len(live)):
            index = next(free)
            before = memory.incarnations.get((name, index), 0)
            if before and not is_still_there(self._cluster, RAYCLUSTERS, cluster):
                return
            slot = Slot(group=name, index=index, spec=spec, incarnation=before)
            self._stores.pods.note(self._cluster.create(PODS, ray_pod(cluster, slot)))
            memory.incarnations[name, index] = before + 1

    def _count(self, cluster: Manifest, memory: _Memory) -> None:
        """Take note of Pods that were made before this controller was, or whose answer was lost."""
        shown = Counter(_slot_of(pod) for pod in self._stores.pods.owned_by(uid_of(cluster)))
        for slot, number in shown.items():
            memory.incarnations[slot] = max(memory.incarnations.get(slot, 0), number)

    def _delete(self, pod: Manifest, memory: _Memory) -> None:
        memory.doomed.add(uid_of(pod))
        try:
            self._cluster.delete(PODS, *key_of(pod), uid=uid_of(pod))
        except ObjectChanged:
            return  # another Pod has its name: ours is gone

    def _write_status(
        self, cluster: Manifest, pods: Sequence[Manifest], service: Manifest | None
    ) -> None:
        now = self._clock.now()
        status = raycluster_status(cluster, pods, service, now)
        known = child(cluster, "status")
        if all(known.get(name) == value for name, value in status.items()):
            return
        metadata: dict[str, Json] = {"uid": uid_of(cluster)}
        try:
            written = self._cluster.merge_patch(
                RAYCLUSTERS,
                *key_of(cluster),
                {"metadata": metadata, "status": {**status, "lastUpdateTime": rfc3339(now)}},
                subresource="status",
            )
        except (ObjectNotFound, ObjectChanged):
            return  # the cluster is gone, or another has its name: the watch will say so
        self._stores.clusters.note(written)


def _is_ours(cluster: Manifest) -> bool:
    return text(cluster, "spec", "managedBy") in ("", OPERATOR)


def _slot_of(pod: Manifest) -> tuple[str, int]:
    index = text(pod, "metadata", "annotations", SLOT_ANNOTATION)
    group = text(pod, "metadata", "labels", "ray.io/group")
    return group, int(index) if index.isdigit() else 0


def _stays(pod: Manifest, group: Json) -> bool:
    """Tell whether the Pod is to stay: it is not named in `scaleStrategy.workersToDelete`."""
    return text(pod, "metadata", "name") not in items(group, "scaleStrategy", "workersToDelete")


def _is_over(pod: Manifest) -> bool:
    """Tell whether a Pod has to be replaced."""
    if text(pod, "status", "phase") in ("Failed", "Succeeded"):
        return True
    if text(pod, "spec", "restartPolicy") != "Never":
        return False
    first = text(next(iter(items(pod, "spec", "containers")), None), "name")
    return any(
        text(entry, "name") == first and bool(child(entry, "state", "terminated"))
        for entry in items(pod, "status", "containerStatuses")
    )


def _head_stays_away(cluster: Manifest) -> bool:
    wanted = text(cluster, "metadata", "annotations", NO_HEAD_RESTART) == "true"
    return wanted and condition_is_true(cluster, "RayClusterProvisioned")
