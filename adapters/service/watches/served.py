"""Asks whether the API server serves a kind, and lets it be listed."""

from collections.abc import Callable

from jobledger.core.errors import ObjectNotFound, RequestForbidden
from jobledger.core.ports.cluster import Cluster, Resource

_NOTHING = "jobledger.dev/nothing=here"


def is_served(
    cluster: Cluster,
    resource: Resource,
    namespace: str,
    forbidden: Callable[[Resource, RequestForbidden], None],
) -> bool:
    """Return whether the API server knows a kind and lets it be listed; raises as the port.

    `forbidden` is told if it does not let it be listed.
    """
    try:
        cluster.list(resource, namespace=namespace, label_selector=_NOTHING)
    except ObjectNotFound:
        return False
    except RequestForbidden as error:
        forbidden(resource, error)
        return False
    return True
