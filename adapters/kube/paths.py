"""The URL paths of objects, collections and subresources."""

from urllib.parse import quote

from jobledger.core.errors import RequestInvalid
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest, text


def collection_path(resource: Resource, namespace: str = "") -> str:
    """Return the path of all objects: of one namespace, or of the whole cluster."""
    root = f"/apis/{resource.group}" if resource.group else "/api"
    inside = f"/namespaces/{_segment(namespace)}" if namespace else ""
    return f"{root}/{resource.version}{inside}/{resource.plural}"


def object_path(resource: Resource, namespace: str, name: str, subresource: str = "") -> str:
    """Return the path of one object or of its subresource.

    Raises `RequestInvalid` without a name: the path would be the collection's, and deleting that
    deletes everything.
    """
    if not name:
        raise RequestInvalid(f"{resource.kind} in namespace {namespace!r}: it has no name")
    below = f"/{subresource}" if subresource else ""
    return f"{collection_path(resource, namespace)}/{_segment(name)}{below}"


def manifest_path(resource: Resource, manifest: Manifest, subresource: str = "") -> str:
    """Return the path of the object that the manifest describes."""
    namespace, name = text(manifest, "metadata", "namespace"), text(manifest, "metadata", "name")
    return object_path(resource, namespace, name, subresource)


def _segment(name: str) -> str:
    # Without dots of its own: "." and ".." would be taken for steps up the path.
    if name in {".", ".."}:
        raise RequestInvalid(f"{name!r} is no name of an object or namespace")
    return quote(name, safe="")
