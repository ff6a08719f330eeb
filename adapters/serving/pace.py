"""How often somebody is heard, or something done: so many a second, and so many after a pause."""

import threading
from collections import OrderedDict
from collections.abc import Callable

PER_SECOND, AT_ONCE = 1.0, 20.0
"""Questions to Kubernetes about tokens that nobody knows yet, on behalf of one address."""

ALL_PER_SECOND, ALL_AT_ONCE = 10.0, 100.0
"""The same on behalf of everybody."""

ADDRESSES_MAX = 1000
"""So many addresses are told apart; whoever asked longest ago is forgotten."""


class Bucket:
    """Fills with time and is emptied by what is done. Not safe from several threads."""

    def __init__(self, per_second: float, most: float, now: float) -> None:
        """Begin full."""
        self._per_second, self._most = per_second, most
        self._level, self._at = most, now

    def level(self, now: float) -> float:
        """Return how often it may be done now."""
        self._level = min(self._most, self._level + (now - self._at) * self._per_second)
        self._at = now
        return self._level

    def take(self) -> None:
        """Count that it is done."""
        self._level -= 1

    def may_take(self, now: float) -> bool:
        """Return whether it may be done now, and count it if so."""
        may = self.level(now) >= 1
        if may:
            self.take()
        return may


class Each:
    """A bucket for each of many; whoever was heard longest ago is forgotten. Safe from any thread.

    Whoever is forgotten begins anew with a full bucket.
    """

    def __init__(
        self, monotonic: Callable[[], float], per_second: float, at_once: float, most: int
    ) -> None:
        """Take a clock in seconds, and how many buckets there may be."""
        self._monotonic, self._most = monotonic, most
        self._per_second, self._at_once = per_second, at_once
        self._lock = threading.Lock()
        self._each: OrderedDict[str, Bucket] = OrderedDict()

    def may_take(self, name: str) -> bool:
        """Return whether one of that name may be heard now, and count it if so."""
        with self._lock:
            now = self._monotonic()
            return self.bucket(name, now).may_take(now)

    def bucket(self, name: str, now: float) -> Bucket:
        """Return the bucket of a name; the caller sees to it that no other thread is here."""
        bucket = self._each.setdefault(name, Bucket(self._per_second, self._at_once, now))
        self._each.move_to_end(name)
        if len(self._each) > self._most:
            self._each.popitem(last=False)
        return bucket


class Pace:
    """Limits questions about tokens per address and in all. Safe from any thread."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Take a clock in seconds."""
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._all = Bucket(ALL_PER_SECOND, ALL_AT_ONCE, monotonic())
        self._each = Each(monotonic, PER_SECOND, AT_ONCE, ADDRESSES_MAX)

    def may_ask(self, address: str) -> bool:
        """Return whether a question may be asked on behalf of an address, and count it."""
        with self._lock:
            now = self._monotonic()
            own = self._each.bucket(address, now)
            may = own.level(now) >= 1 and self._all.may_take(now)
            if may:
                own.take()
            return may
