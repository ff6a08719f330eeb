"""Tells an object that went back to an earlier form from an old look at it.

A generation never falls, so a look that shows an earlier one than the log knows is mostly old: one
watch lags behind another. But an etcd that was restored from a backup shows what was before, and
goes on from there. Which of the two it is follows from a look that was asked for after the log had
written down the later form, and names that (`instead_of`), or from a deletion, which nobody takes
back: whoever knew a later form would know of it.
"""

from collections.abc import Collection
from typing import Protocol

from jobledger.core.values.instants import Instant

GONE = "gone"
"""`instead_of` of a look that was asked for after the log had the object as gone."""


class _Known(Protocol):
    @property
    def generation(self) -> int: ...
    @property
    def deleting_at(self) -> Instant | None: ...


class _Look(_Known, Protocol):
    @property
    def instead_of(self) -> int: ...


def is_old_look(seen: _Look, known: _Known) -> bool:
    """Return whether a look at a job's object is older than what is known of it, so no news."""
    if seen.generation >= known.generation or seen.instead_of == known.generation:
        return False
    return seen.deleting_at is None or known.deleting_at is not None


def is_late_news(uid: str, gone: Collection[str], instead_of: str) -> bool:
    """Return whether a look shows an object that is known to be gone, so no news.

    One that was asked for after the log had written that down has come back: etcd was restored.
    """
    return uid in gone and instead_of != GONE


def is_older_version(version: str, known_version: str, instead_of: str = "") -> bool:
    """Return whether a look at another object of a job is older than what is known of it.

    resourceVersions are compared as numbers, which Kubernetes allows for objects of one kind
    (KEP-5504). A look that was asked for after that version was written down is none: etcd went
    back.
    """
    if instead_of and instead_of == known_version:
        return False
    both = (version, known_version)
    return all(item.isdecimal() for item in both) and int(version) < int(known_version)
