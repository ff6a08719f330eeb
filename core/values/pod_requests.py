"""What a Pod requests, from its specification. Source: Kubernetes' resourcehelper.PodRequests."""

from collections.abc import Callable

from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.core.values.quantities import Amounts, amounts, greatest, total


def pod_requests(pod: Manifest, requests_of: Callable[[Json], Amounts]) -> Amounts:
    """Return what one Pod of this specification requests.

    Init containers run one after the other, before the others; those that are restarted always stay
    beside them. `requests_of` is told a container, or the Pod's own resources.
    """
    running = total(requests_of(item) for item in items(pod, "containers"))
    sidecars: Amounts = {}
    most: Amounts = {}
    for item in items(pod, "initContainers"):
        if text(item, "restartPolicy") == "Always":
            sidecars = total((sidecars, requests_of(item)))
            most = greatest(most, sidecars)
        else:
            most = greatest(most, total((sidecars, requests_of(item))))
    running = greatest(total((running, sidecars)), most)
    whole = {name: found for name, found in requests_of(pod).items() if _of_whole_pod(name)}
    return total(({**running, **whole}, amounts(pod.get("overhead"))))


def requests_or_limits(container: Json) -> Amounts:
    """Return what a container asks for; where it only says its limits, those.

    The API server fills requests in like that when it makes the Pod.
    """
    limits = amounts(child(container, "resources", "limits"))
    return {**limits, **amounts(child(container, "resources", "requests"))}


def _of_whole_pod(resource: str) -> bool:
    """Return whether Kubernetes counts a resource that a Pod asks for as a whole."""
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")
