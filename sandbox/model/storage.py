"""Where the sandbox keeps objects: in memory only, behind one lock, with one revision counter.

Nothing survives the process. Revisions begin at the milliseconds since 1970, so that a restarted
server's are higher than all it gave out before: an old resourceVersion is then too old (410) rather
than from the future, as with a real API server that was restarted.
"""

import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

from jobledger.sandbox.model.documents import Document, encode, in_seconds
from jobledger.sandbox.model.kinds import Kind, StorageKey

Name: TypeAlias = tuple[str, str]
"""Namespace (empty for cluster-wide objects) and name."""

HISTORY_LIMIT: Final = 4_000
"""Changes kept per resource, for watches that resume; older ones are answered with 410."""


class Version:
    """One stored version of an object; the document is never changed in place."""

    __slots__ = ("_encoded", "document", "revision")

    def __init__(self, document: Document, revision: int) -> None:
        self.document, self.revision = document, revision
        self._encoded: dict[str, bytes] = {}

    def encoded(self, kind: Kind) -> bytes:
        """Return the JSON text in the version of `kind`, computed once."""
        text = self._encoded.get(kind.api_version)
        if text is None:
            text = encode(shown_as(kind, self.document))
            self._encoded[kind.api_version] = text
        return text


def shown_as(kind: Kind, document: Document) -> Document:
    """Return a stored document in the version of `kind`, apiVersion and kind first."""
    head = {"apiVersion": kind.api_version, "kind": kind.kind}
    return head | kind.from_storage(document) | head


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that happened to one object."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    version: Version
    """The object after the change; for DELETED its last state, at the revision of the deletion."""
    before: Document | None


@dataclass(slots=True)
class Shelf:
    """The objects of one resource and what lately happened to them."""

    floor: int
    """Changes up to this revision are no longer known."""
    objects: dict[Name, Version] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    dropped: int = 0
    """How many changes were dropped from the front of the list, ever."""
    listeners: set[Callable[[], None]] = field(default_factory=set)

    def position_after(self, revision: int) -> int:
        """Return the place of the first change after a revision, counted from the first ever."""
        later = bisect_right(self.changes, revision, key=lambda change: change.version.revision)
        return self.dropped + later

    def since(self, position: int) -> list[Change] | None:
        """Return the changes from a position on, or None if some of them were dropped."""
        return None if position < self.dropped else self.changes[position - self.dropped :]


class Storage:
    """All objects of the sandbox. Every method may be called from any thread."""

    def __init__(
        self,
        history_limit: int = HISTORY_LIMIT,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        begin: int | None = None,
    ) -> None:
        """Take how much history is kept, the time, and the revision to begin with, if not by it."""
        self.lock = threading.RLock()
        self.clock = now
        self.revision = time.time_ns() // 1_000_000 if begin is None else begin
        self._history_limit = history_limit
        self._begin = self.revision
        self._shelves: dict[StorageKey, Shelf] = {}
        self._uids: dict[str, tuple[StorageKey, Name]] = {}
        self._dependents: dict[str, set[tuple[StorageKey, Name]]] = {}
        self.on_change: Callable[[StorageKey, Change], None] = lambda _key, _change: None

    def now(self) -> str:
        """Return this instant in Kubernetes' whole seconds (RFC 3339, UTC)."""
        return in_seconds(self.clock())

    def shelf(self, key: StorageKey) -> Shelf:
        """Return the shelf of a resource."""
        with self.lock:
            return self._shelves.setdefault(key, Shelf(self._begin))

    def get(self, key: StorageKey, name: Name) -> Version | None:
        """Return the current version of an object, or None."""
        return self.shelf(key).objects.get(name)

    def versions(self, key: StorageKey, namespace: str = "") -> list[Version]:
        """Return the current versions (of one namespace), ordered by namespace and name."""
        with self.lock:
            objects = self.shelf(key).objects
            names = sorted(n for n in objects if not namespace or n[0] == namespace)
            return [objects[name] for name in names]

    def put(self, key: StorageKey, document: Document) -> Version:
        """Store an object under the next revision, which becomes its resourceVersion."""
        with self.lock:
            name = name_of(document)
            before = self.get(key, name)
            self.revision += 1
            stored = _at_revision(document, self.revision)
            version = Version(stored, self.revision)
            self.shelf(key).objects[name] = version
            self._index(key, name, before.document if before else None, stored)
            old = before.document if before else None
            self._note(key, Change("MODIFIED" if before else "ADDED", version, old))
            return version

    def remove(self, key: StorageKey, name: Name) -> Version:
        """Remove an object; return its last state at the revision of the removal."""
        with self.lock:
            before = self.shelf(key).objects.pop(name)
            self.revision += 1
            last = Version(_at_revision(before.document, self.revision), self.revision)
            self._index(key, name, before.document, None)
            self._note(key, Change("DELETED", last, before.document))
            return last

    def of_uid(self, uid: str) -> tuple[StorageKey, Name] | None:
        """Return which object has a UID, or None."""
        return self._uids.get(uid)

    def dependents(self, uid: str) -> list[tuple[StorageKey, Name]]:
        """Return the objects that name a UID among their owners."""
        with self.lock:
            return sorted(self._dependents.get(uid, ()))

    def in_namespace(self, namespace: str) -> Iterator[tuple[StorageKey, Name]]:
        """Yield every object in a namespace, as it is now."""
        with self.lock:
            found = [
                (key, name)
                for key, shelf in self._shelves.items()
                for name in shelf.objects
                if name[0] == namespace
            ]
        yield from found

    def _index(
        self, key: StorageKey, name: Name, old: Document | None, new: Document | None
    ) -> None:
        """Keep the two directories (by UID, by owner) as the objects are."""
        place = (key, name)
        for uid in owner_uids(old):
            self._dependents.get(uid, set()).discard(place)
        if new is None and old is not None:
            self._uids.pop(old["metadata"]["uid"], None)
        if new is not None:
            self._uids[new["metadata"]["uid"]] = place
        for uid in owner_uids(new):
            self._dependents.setdefault(uid, set()).add(place)

    def _note(self, key: StorageKey, change: Change) -> None:
        shelf = self.shelf(key)
        shelf.changes.append(change)
        if len(shelf.changes) > 2 * self._history_limit:
            surplus = len(shelf.changes) - self._history_limit
            shelf.floor = shelf.changes[surplus - 1].version.revision
            shelf.dropped += surplus
            del shelf.changes[:surplus]
        for listener in tuple(shelf.listeners):
            listener()
        self.on_change(key, change)


def name_of(document: Document) -> Name:
    """Return where a document is stored on its shelf."""
    metadata = document["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def owner_uids(document: Document | None) -> set[str]:
    """Return the UIDs an object names as its owners."""
    if document is None:
        return set()
    return {owner["uid"] for owner in document["metadata"].get("ownerReferences") or ()}


def _at_revision(document: Document, revision: int) -> Document:
    return document | {"metadata": document["metadata"] | {"resourceVersion": str(revision)}}
