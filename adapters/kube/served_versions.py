"""Asks which versions of a kind the API server serves.

Where it serves none its definition is gone as a rule, and with it all of its objects. Where it
serves others, as while definitions of two releases follow each other, the objects are there.
"""

from jobledger.adapters.kube.decoding import read_object
from jobledger.adapters.kube.transport import Request, Transport
from jobledger.core.errors import ObjectNotFound, RequestForbidden
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest, items, text


def any_version_served(transport: Transport, resource: Resource) -> bool:
    """Return whether some version of a kind is served, as far as that may be asked.

    A group that was deleted a moment ago may still be listed. Raises `ClusterError` if there is no
    answer.
    """
    group = f"/apis/{resource.group}"
    versions = [text(one, "version") for one in items(_read(transport, group), "versions")]
    return any(
        text(one, "name") == resource.plural
        for version in versions
        for one in items(_read(transport, f"{group}/{version}"), "resources")
    )


def _read(transport: Transport, path: str) -> Manifest:
    """Return what the API server says of a group or version; nothing if it tells of none."""
    request = Request(method="GET", path=path, about=f"which kinds are served ({path})")
    try:
        return read_object(request.what, transport.send(request))
    except (ObjectNotFound, RequestForbidden):
        return {}
