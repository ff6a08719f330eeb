"""Finds jobs by what they have in common, without looking through all of them."""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

KEYS_MAX = 8
"""Keys of one UID in `UidsByLast`: its author may change it all day."""


class UidsBy(Generic[Key]):
    """UIDs by a key that many may share. The caller locks."""

    def __init__(self) -> None:
        self._uids: dict[Key, dict[str, None]] = {}
        """In the order in which they came."""

    def add(self, key: Key, uid: str) -> None:
        """Keep a UID under a key, too."""
        self._uids.setdefault(key, {})[uid] = None

    def discard(self, key: Key, uid: str) -> None:
        """Keep a UID under a key no more, if it was."""
        uids = self._uids.get(key, {})
        uids.pop(uid, None)
        if not uids:
            self._uids.pop(key, None)

    def of(self, key: Key) -> Iterable[str]:
        """Return the UIDs under a key; not to be changed while they are looked at."""
        return self._uids.get(key, ())


class UidsByLast(UidsBy[Key]):
    """The same of what changes: a UID is kept under the last few keys that it was added to."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: dict[str, list[Key]] = {}

    def add(self, key: Key, uid: str) -> None:
        """Keep a UID under a key, too, and no more under the first of too many."""
        keys = self._keys.setdefault(uid, [])
        if key not in keys:
            keys.append(key)
            super().add(key, uid)
        if len(keys) > KEYS_MAX:
            self.discard(keys.pop(0), uid)

    def drop(self, uid: str) -> None:
        """Keep a UID under no key any more."""
        for key in self._keys.pop(uid, ()):
            self.discard(key, uid)
