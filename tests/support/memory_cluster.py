"""A Kubernetes API in memory: the ports `Cluster` and `Watches`, for tests of their clients.

resourceVersion, uid, conflicts, the status subresource, label selectors, deletion with finalizers,
garbage collection of what an owner leaves behind; each watch tells from a thread of its own.
"""

import copy
import queue
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from core.errors import ObjectChanged, ObjectExists, ObjectNotFound
from core.ports.cluster import (
    Cluster,
    ObjectList,
    ObjectListener,
    Propagation,
    Resource,
    Subscription,
    Watches,
)
from core.values.documents import Manifest, child
from core.values.instants import rfc3339

Document = dict[str, Any]
Place = tuple[Resource, str, str]

PRECONDITIONS = ("uid", "resourceVersion")
PRECONDITIONS_OF_STATUS = ("resourceVersion",)
"""In a patch of a custom object's status; an API server takes no notice of the UID there."""


class MemoryCluster(Cluster, Watches):
    """One API server without history. `writes` counts what was written, for tests of thrift."""

    def __init__(self) -> None:
        self._objects: dict[Place, Document] = {}
        self._version = 1  # as etcd begins: no object ever has that one
        self._lock = threading.RLock()
        self._watchers: list[_Watcher] = []
        self._removed: set[str] = set()
        self.writes: list[tuple[str, str, str]] = []

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        with self._lock:
            return copy.deepcopy(self._objects.get((resource, namespace, name)))

    def list(self, resource: Resource, namespace: str = "", label_selector: str = "") -> ObjectList:
        with self._lock:
            found = [
                copy.deepcopy(document)
                for (kind, where, _), document in self._objects.items()
                if kind == resource
                and namespace in ("", where)
                and _matches(document, label_selector)
            ]
            return ObjectList(items=found, resource_version=str(self._version))

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        document: Document = copy.deepcopy(dict(manifest))
        metadata = document.setdefault("metadata", {})
        place = (resource, metadata.get("namespace", ""), metadata["name"])
        with self._lock:
            if place in self._objects:
                raise ObjectExists(f"{resource.plural} {metadata['name']} is there already")
            metadata["uid"] = str(uuid.uuid4())
            metadata["creationTimestamp"] = rfc3339(datetime.now(UTC))
            metadata["generation"] = 1
            document.pop("status", None)
            created = self._store(place, document, "create")
            if self._removed.intersection(_owners(document)):
                self.delete(*place)  # made by somebody who has not heard of its owner's end
            return created

    def replace(self, resource: Resource, manifest: Manifest, subresource: str = "") -> Manifest:
        document: Document = copy.deepcopy(dict(manifest))
        metadata = document["metadata"]
        place = (resource, metadata.get("namespace", ""), metadata["name"])
        with self._lock:
            known = self._known(place, metadata)
            if subresource == "status":
                return self._store(place, {**known, "status": document["status"]}, "status")
            document["status"] = known.get("status", {})
            document["metadata"] = {**known["metadata"], **metadata}
            return self._store(place, document, "replace")

    def merge_patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Manifest,
        *,
        subresource: str = "",
    ) -> Manifest:
        place = (resource, namespace, name)
        with self._lock:
            fields = PRECONDITIONS_OF_STATUS if subresource == "status" else PRECONDITIONS
            known = self._known(place, child(patch, "metadata"), fields)
            merged: Document = _merged(known, patch)
            kept = "spec" if subresource == "status" else "status"
            if kept in known:
                merged[kept] = known[kept]
            if subresource != "status" and merged.get("spec") != known.get("spec"):
                merged["metadata"]["generation"] = known["metadata"]["generation"] + 1
            if merged == known:
                return copy.deepcopy(known)
            return self._store(place, merged, subresource or "patch")

    def apply(
        self,
        resource: Resource,
        manifest: Manifest,
        *,
        field_manager: str,
        subresource: str = "",
        force: bool = False,
    ) -> Manifest:
        raise NotImplementedError

    def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        propagation: Propagation = "Background",
    ) -> None:
        del propagation  # always in the background
        place = (resource, namespace, name)
        with self._lock:
            known = self._objects.get(place)
            if known is None:
                return
            if uid and known["metadata"]["uid"] != uid:
                raise ObjectChanged(f"{name} is another object by now")
            if known["metadata"].get("finalizers"):
                marked = copy.deepcopy(known)
                marked["metadata"]["deletionTimestamp"] = rfc3339(datetime.now(UTC))
                self._store(place, marked, "delete")
            else:
                self._remove(place)

    def watch(
        self,
        resource: Resource,
        listener: ObjectListener,
        *,
        namespace: str = "",
        selector: str = "",
    ) -> Subscription:
        with self._lock:
            watcher = _Watcher(resource, listener, namespace)
            for document in self.list(resource, namespace, selector).items:
                watcher.put("seen", document)
            watcher.put("synced", {})
            self._watchers.append(watcher)
        return watcher

    def _known(
        self, place: Place, metadata: Mapping[str, Any], fields: Iterable[str] = PRECONDITIONS
    ) -> Document:
        known = self._objects.get(place)
        if known is None:
            raise ObjectNotFound(f"there is no {place[0].plural} {place[2]}")
        for field in fields:
            if metadata.get(field) not in (None, known["metadata"][field]):
                raise ObjectChanged(f"{place[2]} has another {field}")
        return known

    def _store(self, place: Place, document: Document, verb: str) -> Document:
        self._version += 1
        document["metadata"]["resourceVersion"] = str(self._version)
        metadata = document["metadata"]
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            self._remove(place)
            return document
        self._objects[place] = document
        self.writes.append((verb, place[0].plural, place[2]))
        self._tell(place, "seen", document)
        return copy.deepcopy(document)

    def _remove(self, place: Place) -> None:
        self._version += 1
        document = self._objects.pop(place)
        self.writes.append(("remove", place[0].plural, place[2]))
        self._tell(place, "gone", document)
        uid = document["metadata"]["uid"]
        self._removed.add(uid)
        for other, candidate in list(self._objects.items()):
            if uid in _owners(candidate):
                self.delete(*other)

    def _tell(self, place: Place, news: str, document: Document) -> None:
        for watcher in self._watchers:
            if watcher.resource == place[0] and watcher.namespace in ("", place[1]):
                watcher.put(news, copy.deepcopy(document))


def _owners(document: Document) -> list[str]:
    return [owner["uid"] for owner in document["metadata"].get("ownerReferences", [])]


class _Watcher(Subscription):
    def __init__(self, resource: Resource, listener: ObjectListener, namespace: str) -> None:
        self.resource, self.namespace = resource, namespace
        self._listener = listener
        self._news: queue.Queue[tuple[str, Manifest] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def put(self, news: str, document: Manifest) -> None:
        self._news.put((news, document))

    def stop(self) -> None:
        self._news.put(None)
        self._thread.join()

    def _run(self) -> None:
        calls: dict[str, Callable[[Manifest, datetime], None]] = {
            "seen": self._listener.seen,
            "gone": self._listener.gone,
        }
        while (news := self._news.get()) is not None:
            kind, document = news
            if kind == "synced":
                self._listener.synced(datetime.now(UTC))
            else:
                calls[kind](document, datetime.now(UTC))


def _merged(known: Any, patch: Any) -> Any:  # noqa: ANN401  # free JSON
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    found = dict(known) if isinstance(known, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = _merged(found.get(name), value)
    return found


def _matches(document: Document, selector: str) -> bool:
    labels = document["metadata"].get("labels", {})
    wanted = [part.partition("=") for part in selector.split(",") if part]
    return all(labels.get(name) == value for name, _, value in wanted)
