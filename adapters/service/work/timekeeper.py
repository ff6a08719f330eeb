"""One of many waiting threads watches the clock; the others sleep until notified.

If all of them waited for the same instant, all would wake at it, and all but one for nothing.
"""

import math
import threading


class Timekeeper:
    """Who waits for the next instant. Everything is called with the condition held."""

    def __init__(self, changed: threading.Condition) -> None:
        self._changed = changed
        self._until = math.inf

    def wait(self, until: float, now: float) -> None:
        """Wait until told, or until a monotonic instant that nobody else waits for yet.

        There is no such instant if it is infinite.
        """
        if until >= self._until:
            self._changed.wait()
            return
        self._until = until
        self._changed.wait(max(0.0, until - now))
        if self._until == until:
            self._until = math.inf

    def leave(self, until: float) -> None:
        """Let another look at the clock, if nobody waits for an instant as early as this one."""
        if until < self._until:
            self._changed.notify()
