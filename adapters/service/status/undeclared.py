"""Remembers which fields of a status the definition of a kind does not declare.

An API server refuses an apply of such a field, so that a status would be sent twice each time. What
one namespace has met is not held against the objects of another. A definition may be replaced, so
it is asked again now and then.
"""

import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

ASK_AGAIN_SECONDS = 600.0

_UNDECLARED = re.compile(r"\.status\.(\w+)(\.[^:\s]{1,300})?: field not declared in schema")
"""An apply of such a field is refused, a patch would drop it. Source: structured-merge-diff."""


def undeclared_in(refusal: str) -> dict[str, bool]:
    """Return the fields of a status that a refusal is about: whether it is about the field itself.

    If not, it is about a field inside of it.
    """
    found: dict[str, bool] = {}
    for name, inside in _UNDECLARED.findall(refusal):
        found[name] = found.get(name, False) or not inside
    return found


@dataclass(slots=True)
class UndeclaredFields:
    """The fields that were refused lately, by kind and namespace. Any thread may ask."""

    _until: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict)
    """Field -> monotonic instant until which it is not sent."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, kind: str, namespace: str, now: float) -> set[str]:
        """Return the fields that are not to be sent at a monotonic instant."""
        if not self._until:
            return set()
        with self._lock:
            known = self._until.get((kind, namespace), {})
            for name in [name for name, until in known.items() if until <= now]:
                del known[name]
            if not known:
                self._until.pop((kind, namespace), None)
            return set(known)

    def note(self, kind: str, namespace: str, fields: Iterable[str], now: float) -> None:
        """Take note that fields were refused as undeclared."""
        with self._lock:
            for name in fields:
                self._until.setdefault((kind, namespace), {})[name] = now + ASK_AGAIN_SECONDS
