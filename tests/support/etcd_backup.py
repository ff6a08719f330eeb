"""A backup of the cluster in memory, restored as one of etcd is: versions count on from there."""

import copy
from collections.abc import Sequence
from typing import Any

from jobledger.core.values.instants import Instant
from tests.support.stepped_cluster import SteppedCluster

LOST_VERSIONS = 1000
"""How far the versions come until they are lost: further than a restored etcd comes in a test."""


class EtcdBackup:
    """All objects as they are now."""

    def __init__(self, cluster: SteppedCluster) -> None:
        self._cluster = cluster
        self._storage = cluster._storage  # noqa: SLF001 a test's own way behind the API
        self._revision = self._storage.revision
        self._objects = copy.deepcopy(self._shown())
        self._storage.revision += LOST_VERSIONS

    def restore(self) -> list[Any]:
        """Put everything back, unheard by the watches; return what is no longer there."""
        before = [one for shelf in self._shown().values() for one in shelf.values()]
        with self._cluster.unheard():
            for key, documents in self._shown().items():
                for name in documents:
                    self._storage.remove(key, name)
            self._storage.revision = self._revision
            for key, documents in self._objects.items():
                for document in documents.values():
                    self._storage.put(key, document)
        there = {
            one["metadata"]["uid"] for shelf in self._shown().values() for one in shelf.values()
        }
        return [one for one in before if one["metadata"]["uid"] not in there]

    def _shown(self) -> dict[Any, dict[Any, Any]]:
        shelves = self._storage._shelves  # noqa: SLF001 as above
        return {
            key: {name: version.document for name, version in shelf.objects.items()}
            for key, shelf in shelves.items()
        }


def list_anew(cluster: SteppedCluster, at: Instant, lost: Sequence[Any] = ()) -> None:
    """Let every watch list anew, as one whose server has gone back does.

    It tells what is there, and what it knew and is not: these are among `lost`.
    """
    for told in list(cluster._watchers):  # noqa: SLF001 as above
        box: Any = told.mailbox
        listener = box._listener  # noqa: SLF001 as above
        listener.interrupted(at, at, "the API server went back")
        for manifest in cluster.list(box.resource).items:
            listener.seen(manifest, at)
        for manifest in lost:
            if (manifest["kind"], manifest["apiVersion"]) == (
                box.resource.kind,
                box.resource.api_version,
            ):
                listener.gone(manifest, at)
