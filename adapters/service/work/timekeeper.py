"""Threads that wait for work: one of them watches the clock, the others sleep until they are woken.

If all of them waited for the same instant, all would wake at it, and all but one for nothing. For
the same reason one is woken at a time, and one that watches the clock only if nobody else is left.
"""

import math
import threading


class Timekeeper:
    """Who waits. Everything is called with the lock held."""

    def __init__(self, lock: threading.RLock) -> None:
        self._asleep, self._watching = threading.Condition(lock), threading.Condition(lock)
        self._sleepers = self._watchers = 0
        self._until = math.inf
        self._is_waking = False
        """Whether one who waits is about to look at what there is."""

    def wait(self, until: float, now: float) -> None:
        """Wait until woken, or until a monotonic instant that nobody else waits for yet.

        There is no such instant if it is infinite. Who takes something then wakes the next if there
        is more, and says by `leave` for which instant it waits no longer.
        """
        if until >= self._until:
            self._sleepers += 1
            self._asleep.wait()
            self._sleepers -= 1
        else:
            self._until = until
            self._watchers += 1
            self._watching.wait(max(0.0, until - now))
            self._watchers -= 1
            if self._until == until:
                self._until = math.inf
        self._is_waking = False

    def wake(self) -> None:
        """Have one of those who wait look at what there is, unless one is about to."""
        if not self._is_waking and (self._sleepers or self._watchers):
            (self._asleep if self._sleepers else self._watching).notify()
            self._is_waking = True

    def wake_all(self) -> None:
        """Have all of them look."""
        self._asleep.notify_all()
        self._watching.notify_all()

    def leave(self, until: float) -> None:
        """Let another watch the clock, if nobody waits for an instant as early as this one."""
        if until < self._until:
            self.wake()
