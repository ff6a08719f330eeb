"""Objects that belong to others, as owner references say."""

from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Json, Manifest, text
from tests.adapters.service.parts import Bench


def controller(manifest: Manifest) -> Manifest:
    """Return the owner reference of what an object controls."""
    head = {key: text(manifest, key) for key in ("apiVersion", "kind")}
    named = {key: text(manifest, "metadata", key) for key in ("name", "uid")}
    return {**head, **named, "controller": True}


def a_child(bench: Bench, resource: Resource, name: str, owner: Manifest) -> Manifest:
    """Create an object that another controls."""
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    owners: Json = [controller(owner)]
    metadata: Manifest = {"name": name, "namespace": "ml", "ownerReferences": owners}
    return bench.cluster.plant(resource, {**head, "metadata": metadata})


def uid_of(bench: Bench, resource: Resource, name: str) -> str:
    """Return the UID of an object."""
    return text(bench.cluster.get(resource, "ml", name), "metadata", "uid")
