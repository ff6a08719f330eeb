"""Builds the Service that always points to the head of the job's current RayCluster.

A template of it (`headService`) says what it is but for its name, labels and selector. Where the
head and the template name the same port, upstream's object would be refused; here the template has
its way.

Source: KubeRay's BuildHeadServiceForRayJob and BuildServiceForHeadPod.
"""

from collections.abc import Mapping

from jobledger.core.ports.cluster import RAYJOBS, SERVICES
from jobledger.core.rayjob.manifests.owner_references import owner_reference
from jobledger.core.rayjob.names import (
    APPLICATION,
    CREATED_BY,
    HEAD,
    LABEL_APPLICATION,
    LABEL_CLUSTER,
    LABEL_CREATED_BY,
    LABEL_IDENTIFIER,
    LABEL_NODE_TYPE,
    LABEL_ORIGIN_KIND,
    LABEL_ORIGIN_NAME,
    head_service_name,
)
from jobledger.core.rayjob.spec.go_values import ray_container, texts
from jobledger.core.rayjob.spec.installation import UPSTREAMS, Installation
from jobledger.core.values.documents import Json, Manifest, child, items, number, text

DEFAULT_PORTS: Mapping[str, int] = {
    "client": 10001,
    "gcs-server": 6379,
    "dashboard": 8265,
    "metrics": 8080,
    "serve": 8000,
}
"""Ports of a head whose container names none."""
METRICS_PORT = 8080
LABEL_MAX_CHARACTERS = 63


def build_head_service(
    job: Manifest, cluster_name: str, installation: Installation = UPSTREAMS
) -> Manifest:
    """Return the Service `<rayjob>-head-svc`, leading to the head of a RayCluster."""
    name = text(job, "metadata", "name")
    head = child(job, "spec", "rayClusterSpec", "headGroupSpec")
    template = child(head, "headService")
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": {
            "name": head_service_name(name),
            "namespace": text(job, "metadata", "namespace"),
            "labels": {
                LABEL_ORIGIN_NAME: name,
                LABEL_ORIGIN_KIND: RAYJOBS.kind,
                LABEL_NODE_TYPE: HEAD,
                LABEL_IDENTIFIER: _identifier(name),
            },
            "annotations": dict(texts(child(template, "metadata", "annotations"))),
            "finalizers": [*items(template, "metadata", "finalizers")],
            "ownerReferences": [owner_reference(job)],
        },
        "spec": _spec(head, cluster_name, installation),
    }


def _spec(head: Manifest, cluster_name: str, installation: Installation) -> Manifest:
    given = child(head, "headService", "spec")
    own = items(given, "ports")
    taken = {text(port, "name") for port in own}
    spec: dict[str, Json] = {
        **given,
        "selector": selector_of(cluster_name),
        "ports": [
            *own,
            *(port for name, port in sorted(_ports(head).items()) if name not in taken),
        ],
    }
    if kind := text(given, "type") or text(head, "serviceType"):
        spec["type"] = kind
    is_plain = head.get("headService") is None and kind in ("", "ClusterIP")
    if is_plain and not installation.head_cluster_ip:
        spec.update({"clusterIP": "None", "publishNotReadyAddresses": True})
    return spec


def selector_of(cluster_name: str) -> dict[str, str]:
    """Return the labels of the head's Pod of a RayCluster."""
    return {
        LABEL_CLUSTER: cluster_name,
        LABEL_NODE_TYPE: HEAD,
        LABEL_IDENTIFIER: _identifier(cluster_name),
        LABEL_APPLICATION: APPLICATION,
        LABEL_CREATED_BY: CREATED_BY,
    }


def leads_to(service: Manifest) -> str:
    """Return the name of the RayCluster to whose head a Service leads."""
    return text(service, "spec", "selector", LABEL_CLUSTER)


def _identifier(name: str) -> str:
    return f"{name}-{HEAD}"[-LABEL_MAX_CHARACTERS:].lstrip("-._")


def _ports(head: Manifest) -> dict[str, Json]:
    """Return the ports of a head's container by name; where it has none, those of every head."""
    named: dict[str, int] = {}
    for port in items(ray_container(head), "ports"):
        value = number(port, "containerPort")
        if value is not None:
            named[text(port, "name") or f"{value}-port"] = value
    named = named or dict(DEFAULT_PORTS)
    named.setdefault("metrics", METRICS_PORT)
    return {
        name: {"name": name, "port": value, "appProtocol": "tcp"} for name, value in named.items()
    }
