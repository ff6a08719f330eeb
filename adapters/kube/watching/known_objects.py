"""Remembers the objects of a watch, so that a new list shows which of them are gone."""

from collections.abc import Container, Iterator

from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest, child, text


class KnownObjects:
    """The objects told so far, by UID; of each only what identifies it is kept."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._told: dict[str, tuple[str, str, str]] = {}

    def __len__(self) -> int:
        return len(self._told)

    def note(self, manifest: Manifest) -> str:
        """Remember an object that is told, and return its UID."""
        metadata = child(manifest, "metadata")
        uid, name = text(metadata, "uid"), text(metadata, "name")
        namespace = text(metadata, "namespace")
        self._told[uid] = (namespace, name, text(metadata, "resourceVersion"))
        return uid

    def forget(self, manifest: Manifest) -> None:
        """Forget an object whose end is told."""
        self._told.pop(text(manifest, "metadata", "uid"), None)

    def take_missing(self, present: Container[str]) -> Iterator[Manifest]:
        """Forget the objects that are not `present` (UIDs), and yield what is known of each."""
        missing = [(uid, kept) for uid, kept in self._told.items() if uid not in present]
        for uid, (namespace, name, version) in missing:
            del self._told[uid]
            metadata = {"name": name, "uid": uid, "resourceVersion": version}
            if namespace:
                metadata["namespace"] = namespace
            yield {
                "apiVersion": self._resource.api_version,
                "kind": self._resource.kind,
                "metadata": metadata,
            }
