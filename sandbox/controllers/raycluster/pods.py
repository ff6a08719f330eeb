"""The Pods of a RayCluster: the user's template with labels, environment and `ray start`.

Source: KubeRay, ray-operator/controllers/ray/common/pod.go, simplified: no autoscaler, no wait
container for workers, no redis, no `ulimit`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.sandbox.controllers.names import controlled_by, derived_name
from jobledger.sandbox.controllers.raycluster.groups import HEAD_GROUP, head_service_name
from jobledger.sandbox.controllers.raycluster.service import identifier

SLOT_ANNOTATION = "sandbox.jobledger.dev/slot"
"""Which of its group's Pods this is (0, 1, …)."""

OVERWRITE_ANNOTATION = "ray.io/overwrite-container-cmd"
GCS_PORT, DASHBOARD_PORT = "6379", "8265"
_FLAGS = frozenset({"block", "head", "no-monitor", "disable-usage-stats", "include-dashboard"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One Pod that a RayCluster wants."""

    group: str
    """Name of the worker group, or `HEAD_GROUP`."""
    index: int
    spec: Json
    """The head group's or worker group's part of the RayCluster."""
    incarnation: int = 0
    """How many Pods of this slot there were before."""

    @property
    def node_type(self) -> str:
        """`head` or `worker`."""
        return "head" if self.group == HEAD_GROUP else "worker"


def ray_pod(cluster: Manifest, slot: Slot) -> Manifest:
    """Return the Pod to create for a slot."""
    template = child(slot.spec, "template")
    metadata = child(template, "metadata")
    name = text(cluster, "metadata", "name")
    containers = list(items(template, "spec", "containers"))
    overwrites = text(cluster, "metadata", "annotations", OVERWRITE_ANNOTATION) == "true"
    containers[0] = _ray_container(cluster, slot, child(containers[0]), keeps_command=overwrites)
    spec: dict[str, Json] = {**child(template, "spec"), "containers": containers}
    spec.setdefault("restartPolicy", "Always")
    prefix = f"{name}-head" if slot.node_type == "head" else f"{name}-{slot.group}-worker"
    cause = (slot.group, str(slot.index), str(slot.incarnation))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": derived_name(prefix.lower(), text(cluster, "metadata", "uid"), *cause),
            "namespace": text(cluster, "metadata", "namespace"),
            "labels": {**child(metadata, "labels"), **_labels(name, slot)},
            "annotations": {**child(metadata, "annotations"), SLOT_ANNOTATION: str(slot.index)},
            "ownerReferences": [controlled_by(cluster)],
        },
        "spec": spec,
    }


def _labels(cluster_name: str, slot: Slot) -> dict[str, Json]:
    return {
        "ray.io/is-ray-node": "yes",
        "ray.io/cluster": cluster_name,
        "ray.io/node-type": slot.node_type,
        "ray.io/group": slot.group,
        "ray.io/identifier": identifier(cluster_name, slot.node_type),
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }


def _ray_container(
    cluster: Manifest, slot: Slot, container: Manifest, *, keeps_command: bool
) -> Json:
    namespace = text(cluster, "metadata", "namespace")
    service = f"{head_service_name(cluster)}.{namespace}.svc.cluster.local"
    parameters = _parameters(slot, container, service)
    found: dict[str, Json] = {**container}
    words = [*items(container, "command"), *items(container, "args")]
    own = " ".join(str(word) for word in words)
    if not keeps_command and "ray start" not in own:
        start = _ray_start(slot.node_type, parameters)
        blocks = parameters.get("block", "").lower() == "true"
        line = f"{own} && {start}" if own else start
        found["command"] = ["/bin/bash", "-c", "--"]
        found["args"] = [line if blocks else f"{line} && sleep infinity"]
    found["env"] = [*items(container, "env"), *_environment(cluster, slot, container, service)]
    if slot.node_type == "head":
        found["ports"] = _head_ports(container)
        port = int(parameters.get("dashboard-port") or DASHBOARD_PORT)
        found.setdefault(
            "readinessProbe",
            {"httpGet": {"path": "/api/gcs_healthz", "port": port}, "failureThreshold": 10},
        )
    return found


def _parameters(slot: Slot, container: Manifest, service: str) -> dict[str, str]:
    given = child(slot.spec, "rayStartParams")
    found = {str(name): str(value) for name, value in given.items()}
    found.setdefault("block", "true")
    found.setdefault("metrics-export-port", "8080")
    if slot.node_type == "head":
        found.setdefault("dashboard-host", "0.0.0.0")  # noqa: S104  # what KubeRay passes; the agent binds the Pod's own address
    else:
        found.setdefault("address", f"{service}:{GCS_PORT}")
    cpus = str(child(container, "resources", "limits").get("cpu", ""))
    if cpus.isdigit():
        found.setdefault("num-cpus", cpus)
    return found


def _ray_start(node_type: str, parameters: Mapping[str, str]) -> str:
    words = ["ray", "start"] + (["--head"] if node_type == "head" else [])
    for name, value in sorted(parameters.items()):
        if name in _FLAGS and value.lower() in ("true", "false"):
            if value.lower() == "true":
                words.append(f"--{name}")
        else:
            words.append(f"--{name}={value}")
    return " ".join(words)


def _environment(cluster: Manifest, slot: Slot, container: Manifest, service: str) -> list[Json]:
    present = {text(entry, "name") for entry in items(container, "env")}
    label = "metadata.labels['ray.io/cluster']"
    address = "127.0.0.1" if slot.node_type == "head" else service
    wanted: dict[str, dict[str, Json]] = {
        "RAY_CLUSTER_NAME": {"valueFrom": {"fieldRef": {"fieldPath": label}}},
        "RAY_NODE_TYPE_NAME": {"value": slot.group},
        "FQ_RAY_IP": {"value": service},
        "RAY_PORT": {"value": GCS_PORT},
        "RAY_ADDRESS": {"value": f"{address}:{GCS_PORT}"},
        "RAY_USAGE_STATS_KUBERAY_IN_USE": {"value": "1"},
    }
    del cluster
    return [{"name": name, **value} for name, value in wanted.items() if name not in present]


def _head_ports(container: Manifest) -> list[Json]:
    found = list(items(container, "ports"))
    if not any(text(port, "name") == "metrics" for port in found):
        found.append({"name": "metrics", "containerPort": 8080})
    return found
