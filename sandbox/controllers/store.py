"""What a watch has told so far: the last known form of every object of one kind."""

import threading
from collections.abc import Callable
from typing import TypeAlias

from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.instants import Instant

Key: TypeAlias = tuple[str, str]
"""Namespace and name."""

GONE_MAX = 4096
"""So many objects that are no longer there are known by their UID, the last ones to go."""

Told: TypeAlias = Callable[[Manifest, bool], None]
"""Called with an object and whether it is gone; must return quickly."""


class Store:
    """An `ObjectListener` that remembers, and tells others. Safe for many threads."""

    def __init__(self) -> None:
        self._objects: dict[Key, Manifest] = {}
        self._owned: dict[str, set[Key]] = {}
        self._gone: dict[str, None] = {}
        """UIDs, in the order in which their objects went."""
        self._told: list[Told] = []
        self._lock = threading.RLock()
        self._synced = threading.Event()

    def tell(self, told: Told) -> None:
        """Call `told` for every change from now on."""
        self._told.append(told)

    def get(self, namespace: str, name: str) -> Manifest | None:
        """Return the object, if there is one."""
        return self._objects.get((namespace, name))

    def all(self) -> list[Manifest]:
        """Return every object."""
        with self._lock:
            return list(self._objects.values())

    def owned_by(self, uid: str) -> list[Manifest]:
        """Return the objects whose controller has `uid`, by name."""
        with self._lock:
            return [self._objects[key] for key in sorted(self._owned.get(uid, ()))]

    def wait_until_synced(self, limit_seconds: float) -> bool:
        """Wait for the first list; False if the limit passed."""
        return self._synced.wait(limit_seconds)

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Take an object as it is."""
        del at
        key = key_of(manifest)
        with self._lock:
            known = self._objects.get(key)
            if known is not None and _is_older(manifest, known):
                return
            self._put(key, manifest)
            replaced = known if known is not None and uid_of(known) != uid_of(manifest) else None
            if replaced is not None:
                self._bury(replaced)
        if replaced is not None:
            self._pass_on(replaced, is_gone=True)
        self._pass_on(manifest, is_gone=False)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Take the last form of an object that is no longer there."""
        del at
        key = key_of(manifest)
        with self._lock:
            known = self._objects.get(key)
            if known is not None and uid_of(known) == uid_of(manifest):
                self._drop(key)
            self._bury(manifest)
        self._pass_on(manifest, is_gone=True)

    def synced(self, at: Instant) -> None:
        """Take note that everything has been told."""
        del at
        self._synced.set()

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Nothing to do: the relist that follows tells all that matters."""

    def note(self, manifest: Manifest) -> None:
        """Take the answer to a write of our own before the watch tells it.

        The answer may come after the watch has told of the object's end: it stays ended.
        """
        with self._lock:
            if uid_of(manifest) in self._gone:
                return
            known = self._objects.get(key_of(manifest))
            if known is None or not _is_older(manifest, known):
                self._put(key_of(manifest), manifest)

    def _put(self, key: Key, manifest: Manifest) -> None:
        self._drop(key)
        self._objects[key] = manifest
        owner = controller_uid(manifest)
        if owner:
            self._owned.setdefault(owner, set()).add(key)

    def _drop(self, key: Key) -> None:
        known = self._objects.pop(key, None)
        owner = controller_uid(known) if known is not None else ""
        if owner and owner in self._owned:
            self._owned[owner].discard(key)
            if not self._owned[owner]:
                del self._owned[owner]

    def _bury(self, manifest: Manifest) -> None:
        self._gone[uid_of(manifest)] = None
        if len(self._gone) > GONE_MAX:
            del self._gone[next(iter(self._gone))]

    def _pass_on(self, manifest: Manifest, *, is_gone: bool) -> None:
        for told in self._told:
            told(manifest, is_gone)


def key_of(manifest: Manifest) -> Key:
    """Return namespace and name of an object."""
    return text(manifest, "metadata", "namespace"), text(manifest, "metadata", "name")


def uid_of(manifest: Manifest) -> str:
    """Return the UID of an object."""
    return text(manifest, "metadata", "uid")


def controller_uid(manifest: Manifest) -> str:
    """Return the UID of the object's controller, or an empty string."""
    for reference in items(manifest, "metadata", "ownerReferences"):
        if child(reference).get("controller") is True:
            return text(reference, "uid")
    return ""


def is_being_deleted(manifest: Manifest) -> bool:
    """Tell whether a deletion has been asked for."""
    return bool(text(manifest, "metadata", "deletionTimestamp"))


def _is_older(manifest: Manifest, known: Manifest) -> bool:
    """Tell whether `manifest` is an earlier form of `known` than the one we have.

    resourceVersions of one object are ordered numbers since Kubernetes 1.35 (KEP-5504), and have
    been all along with etcd.
    """
    if uid_of(manifest) != uid_of(known):
        return False
    versions = (
        text(manifest, "metadata", "resourceVersion"),
        text(known, "metadata", "resourceVersion"),
    )
    return all(version.isdigit() for version in versions) and int(versions[0]) < int(versions[1])
