"""How often Kubernetes is asked about tokens that nobody knows yet."""

import threading
from collections import OrderedDict
from collections.abc import Callable

PER_SECOND, AT_ONCE = 1.0, 20.0
"""Questions on behalf of one address: so many a second, and so many at once after a pause."""

ALL_PER_SECOND, ALL_AT_ONCE = 10.0, 100.0
"""The same on behalf of everybody."""

ADDRESSES_MAX = 1000
"""So many addresses are told apart; whoever asked longest ago is forgotten."""


class Bucket:
    """Fills with time and is emptied by questions."""

    def __init__(self, per_second: float, most: float, now: float) -> None:
        """Begin full."""
        self._per_second, self._most = per_second, most
        self._level, self._at = most, now

    def level(self, now: float) -> float:
        """Return how many questions may be asked now."""
        self._level = min(self._most, self._level + (now - self._at) * self._per_second)
        self._at = now
        return self._level

    def take(self) -> None:
        """Ask one."""
        self._level -= 1


class Pace:
    """Limits questions per address and in all. Safe from any thread."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Take a clock in seconds."""
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._all = Bucket(ALL_PER_SECOND, ALL_AT_ONCE, monotonic())
        self._each: OrderedDict[str, Bucket] = OrderedDict()

    def may_ask(self, address: str) -> bool:
        """Return whether a question may be asked on behalf of an address, and count it."""
        with self._lock:
            now = self._monotonic()
            own = self._each.setdefault(address, Bucket(PER_SECOND, AT_ONCE, now))
            self._each.move_to_end(address)
            if len(self._each) > ADDRESSES_MAX:
                self._each.popitem(last=False)
            if own.level(now) < 1 or self._all.level(now) < 1:
                return False
            own.take()
            self._all.take()
            return True
