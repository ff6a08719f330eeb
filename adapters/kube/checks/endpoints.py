"""Asks who stands behind a Service."""

from collections.abc import Iterator

from jobledger.core.ports.cluster import Cluster, Resource
from jobledger.core.values.documents import Manifest, child, items

SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")


def ready_endpoints(cluster: Cluster, namespace: str, service: str) -> Iterator[Manifest]:
    """Yield the endpoints of a Service that are ready; raises as `Cluster.list` does."""
    slices = cluster.list(SLICES, namespace, f"kubernetes.io/service-name={service}").items
    for one in slices:
        for endpoint in items(one, "endpoints"):
            told = child(endpoint)
            if child(told, "conditions").get("ready") is not False and items(told, "addresses"):
                yield told


def is_answered(cluster: Cluster, namespace: str, service: str) -> bool:
    """Return whether a Service has a ready endpoint; raises as `Cluster.list` does."""
    return any(True for _ in ready_endpoints(cluster, namespace, service))
