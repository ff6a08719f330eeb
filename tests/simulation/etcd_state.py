"""What the model of the Kubernetes API keeps, which can be backed up and put back as a whole."""

from collections.abc import Iterator
from dataclasses import dataclass

from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest, text
from tests.simulation.documents import Document, Path

Place = tuple[str, str, str]
"""Plural, namespace, name."""


@dataclass(frozen=True, slots=True)
class Backup:
    """All that etcd holds."""

    objects: dict[Place, Document]
    applied: dict[Place, frozenset[str]]
    sent: dict[Place, frozenset[Path]]
    version: int


class EtcdState:
    """Objects and namespaces, and who has applied which fields of them."""

    def __init__(self) -> None:
        self._objects: dict[Place, Document] = {}
        self._resources: dict[Place, Resource] = {}
        self._namespaces = {"default", "ml"}
        self.terminating: set[str] = set()
        """Namespaces that are on their way out: nothing is made in them any more."""
        self._applied: dict[Place, frozenset[str]] = {}
        """The fields of each status that we have sent last."""
        self._sent: dict[Place, frozenset[Path]] = {}
        """The fields of each object that we have applied last."""
        self._version = 1  # as etcd begins: no object ever has that one

    def takes(self, namespace: str) -> bool:
        """Return whether a namespace is there, and not on its way out."""
        return namespace in self._namespaces and namespace not in self.terminating

    def add_namespace(self, namespace: str) -> None:
        """Have a namespace."""
        self._namespaces.add(namespace)

    def drop_namespace(self, namespace: str) -> None:
        """Have a namespace no more; nothing is in it."""
        self._namespaces.discard(namespace)
        self.terminating.discard(namespace)

    def of_namespace(self, namespace: str) -> Iterator[tuple[Resource, Manifest]]:
        """Yield all objects of a namespace, with their kinds."""
        for place, item in list(self._objects.items()):
            if place[1] == namespace:
                yield self._resources[place], item

    def back_up(self) -> Backup:
        """Return all that is there. Namespaces and Kubernetes Events are left out."""
        return Backup(dict(self._objects), dict(self._applied), dict(self._sent), self._version)

    def _put_back(self, backup: Backup) -> dict[Place, Document]:
        """Have again what was there, versions included; return what was there until now."""
        before, self._objects = (
            self._objects,
            {
                place: item
                for place, item in backup.objects.items()
                if not place[1] or self.takes(place[1])
            },
        )
        self._applied, self._sent = dict(backup.applied), dict(backup.sent)
        self._version = backup.version
        return before


def uid_of(item: Manifest | None) -> str:
    """Return the UID of an object; empty if there is none."""
    return text(item, "metadata", "uid") if item is not None else ""
