"""What happens to objects whose owner is gone or going, and to the content of a namespace.

Plays kube-controller-manager's garbage collector and namespace controller, promptly: `collect` is
called after changes, takes one object at a time, and ends when nothing is left to do.
Source: k8s.io/kubernetes pkg/controller/garbagecollector/garbagecollector.go (v1.36).
"""

from collections import deque
from typing import Final

from jobledger.sandbox.admission.builtin_kinds import NAMESPACES
from jobledger.sandbox.model.documents import Document, at
from jobledger.sandbox.model.kinds import Kinds, StorageKey
from jobledger.sandbox.model.refusals import Refusal
from jobledger.sandbox.model.storage import Change, Name, Storage, name_of, owner_uids
from jobledger.sandbox.model.targets import Target
from jobledger.sandbox.writing.deletion import FOREGROUND, ORPHAN, DeleteOptions, delete
from jobledger.sandbox.writing.updates import commit

Place = tuple[StorageKey, Name]

MOST_PER_CALL: Final = 500
"""Objects looked at in one call; the caller comes back for the rest."""


class GarbageCollector:
    """Deletes dependents after their owners and content after its namespace."""

    def __init__(self, storage: Storage, kinds: Kinds) -> None:
        self._storage, self._kinds = storage, kinds
        self._queue: deque[Place] = deque()

    def note(self, key: StorageKey, change: Change) -> bool:
        """Take note of a change; return whether there is something to collect."""
        document = change.version.document
        metadata = document["metadata"]
        if change.type == "DELETED":
            self._queue.extend(self._storage.dependents(metadata["uid"]))
            self._queue.extend(self._owners(document))
            if metadata.get("namespace"):
                self._queue.append((NAMESPACES.storage, ("", metadata["namespace"])))
        elif metadata.get("deletionTimestamp") or metadata.get("ownerReferences"):
            self._queue.append((key, name_of(document)))
            if metadata.get("deletionTimestamp"):
                self._queue.extend(self._storage.dependents(metadata["uid"]))
        return bool(self._queue)

    def collect(self) -> bool:
        """Look at what was noted; return whether more is waiting."""
        for _ in range(min(len(self._queue), MOST_PER_CALL)):
            key, name = self._queue.popleft()
            with self._storage.lock:
                version = self._storage.get(key, name)
                if version is not None:
                    self._look_at(key, version.document)
        return bool(self._queue)

    def _look_at(self, key: StorageKey, document: Document) -> None:
        if key == NAMESPACES.storage:
            self._empty_namespace(document)
            return
        metadata = document["metadata"]
        if metadata.get("deletionTimestamp"):
            self._let_go(key, document)
        elif metadata.get("ownerReferences"):
            self._judge(key, document)

    def _judge(self, key: StorageKey, document: Document) -> None:
        """Delete a dependent that no owner keeps; else forget those of its owners that are gone."""
        references = document["metadata"]["ownerReferences"]
        solid, going = [], False
        for reference in references:
            owner = self._owner(document, reference["uid"])
            if owner is None:
                continue
            if FOREGROUND in (owner["metadata"].get("finalizers") or ()) and at(
                owner, "metadata", "deletionTimestamp"
            ):
                going = True
            else:
                solid.append(reference)
        if len(solid) == len(references):
            return
        if solid:
            metadata = document["metadata"] | {"ownerReferences": solid}
            self._put(key, document | {"metadata": metadata})
            return
        blocked = going and bool(self._storage.dependents(document["metadata"]["uid"]))
        self._delete(key, name_of(document), "Foreground" if blocked else "Background")

    def _let_go(self, key: StorageKey, document: Document) -> None:
        """Take off our own finalizers once what they wait for has happened."""
        metadata = document["metadata"]
        finalizers = metadata.get("finalizers") or []
        dependents = self._storage.dependents(metadata["uid"])
        if ORPHAN in finalizers:
            for place in dependents:
                self._disown(place, metadata["uid"])
            self._without_finalizer(key, document, ORPHAN)
        elif FOREGROUND in finalizers and not any(
            self._blocks(place, metadata["uid"]) for place in dependents
        ):
            self._without_finalizer(key, document, FOREGROUND)

    def _blocks(self, place: Place, uid: str) -> bool:
        """Return whether a dependent keeps its owner from going."""
        version = self._storage.get(*place)
        references = version.document["metadata"].get("ownerReferences") or () if version else ()
        return any(r["uid"] == uid and r.get("blockOwnerDeletion") for r in references)

    def _disown(self, place: Place, uid: str) -> None:
        key, name = place
        version = self._storage.get(key, name)
        if version is None:
            return
        metadata = dict(version.document["metadata"])
        rest = [r for r in metadata.get("ownerReferences") or () if r["uid"] != uid]
        metadata["ownerReferences"] = rest
        if not rest:
            del metadata["ownerReferences"]
        self._put(key, version.document | {"metadata": metadata})

    def _without_finalizer(self, key: StorageKey, document: Document, finalizer: str) -> None:
        metadata = dict(document["metadata"])
        metadata["finalizers"] = [f for f in metadata["finalizers"] if f != finalizer]
        if not metadata["finalizers"]:
            del metadata["finalizers"]
        self._put(key, document | {"metadata": metadata})

    def _empty_namespace(self, document: Document) -> None:
        """Delete what is in a namespace on its way out; when nothing is left, the namespace."""
        if not document["metadata"].get("deletionTimestamp"):
            return
        name = document["metadata"]["name"]
        content = list(self._storage.in_namespace(name))
        for key, place in content:
            version = self._storage.get(key, place)
            if version and not version.document["metadata"].get("deletionTimestamp"):
                self._delete(key, place, "Background")
        if not content and not document["metadata"].get("finalizers"):
            self._storage.remove(NAMESPACES.storage, ("", name))

    def _delete(self, key: StorageKey, name: Name, policy: str) -> None:
        kind = self._kinds.stored(key)
        if kind is None:
            return
        target = Target(kind=kind, namespace=name[0], name=name[1])
        try:
            delete(self._storage, target, DeleteOptions(propagation=policy))
        except Refusal:
            return  # it must stay, or is gone by now: either way there is nothing left to do

    def _put(self, key: StorageKey, document: Document) -> None:
        kind = self._kinds.stored(key)
        if kind is not None:
            commit(self._storage, kind, document)

    def _owner(self, dependent: Document, uid: str) -> Document | None:
        """Return the owner of that UID, if it is where an owner of this object can be."""
        place = self._storage.of_uid(uid)
        if place is None:
            return None
        key, (namespace, name) = place
        if namespace and namespace != dependent["metadata"].get("namespace", ""):
            return None
        version = self._storage.get(key, (namespace, name))
        return version.document if version else None

    def _owners(self, document: Document) -> list[Place]:
        found = (self._storage.of_uid(uid) for uid in owner_uids(document))
        return [place for place in found if place is not None]
