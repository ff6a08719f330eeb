"""The head Service of a RayCluster.

Source: KubeRay, ray-operator/controllers/ray/common/service.go (names, ports, headless by default).
"""

from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.sandbox.controllers.names import controlled_by
from jobledger.sandbox.controllers.raycluster.groups import head_container, head_service_name

DEFAULT_PORTS = {"client": 10001, "gcs-server": 6379, "dashboard": 8265, "serve": 8000}
METRICS_PORT = 8080
MAX_LABEL_CHARS = 63


def identifier(cluster_name: str, node_type: str) -> str:
    """Return the value of the label `ray.io/identifier`."""
    return f"{cluster_name}-{node_type}"[-MAX_LABEL_CHARS:].lstrip("-._")


def head_labels(cluster_name: str) -> dict[str, Json]:
    """Return the labels that select the head Pod."""
    return {
        "ray.io/cluster": cluster_name,
        "ray.io/node-type": "head",
        "ray.io/identifier": identifier(cluster_name, "head"),
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }


def head_service(cluster: Manifest) -> Manifest:
    """Return the Service to create."""
    name = text(cluster, "metadata", "name")
    head = child(cluster, "spec", "headGroupSpec")
    given = child(head, "headService")
    kind = text(head, "serviceType")
    spec: dict[str, Json] = {**child(given, "spec")}
    spec["selector"] = {**child(given, "spec", "selector"), **head_labels(name)}
    spec["ports"] = _ports(cluster, given)
    if kind:
        spec["type"] = kind
    if kind in ("", "ClusterIP") and "clusterIP" not in spec:
        spec.update({"clusterIP": "None", "publishNotReadyAddresses": True})
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": head_service_name(cluster),
            "namespace": text(cluster, "metadata", "namespace"),
            "labels": {**child(given, "metadata", "labels"), **head_labels(name)},
            "annotations": {
                **child(given, "metadata", "annotations"),
                **child(head, "headServiceAnnotations"),
            },
            "ownerReferences": [controlled_by(cluster)],
        },
        "spec": spec,
    }


def _ports(cluster: Manifest, given: Manifest) -> list[Json]:
    wanted = {}
    for declared in items(head_container(cluster), "ports"):
        value = number(declared, "containerPort")
        if value is not None:
            wanted[text(declared, "name") or f"{value}-port"] = value
    wanted = wanted or dict(DEFAULT_PORTS)
    wanted.setdefault("metrics", METRICS_PORT)
    own = {text(port, "name"): port for port in items(given, "spec", "ports")}
    ports: dict[str, Json] = {
        name: {"name": name, "port": value, "protocol": "TCP", "appProtocol": "tcp"}
        for name, value in wanted.items()
    }
    return [port for _, port in sorted({**ports, **own}.items())]
