"""A pool of threads that do what falls due: one of them watches the clock, the others sleep.

If all of them waited for the same instant, all would wake at it, and all but one for nothing. For
the same reason one is woken at a time, and one that watches the clock only if nobody else is left.
"""

import math
import threading
from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from jobledger.adapters.process.threads import join_all
from jobledger.adapters.service.work.rotation import Rotation
from jobledger.adapters.service.work.thread_shares import ThreadShares
from jobledger.core.ports.clock import Clock

Key = TypeVar("Key")
"""What waits for a thread, under its namespace."""
Taken = TypeVar("Taken")
"""What a thread has taken to do."""

STOP_SECONDS_MAX = 6.0
"""How long a stop waits for all threads: a Pod has thirty seconds for everything, in the end of
which its leases are to be given up."""


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


class ThreadPool(ABC, Generic[Key, Taken]):
    """Threads that do what is due, in which namespaces take turns."""

    def __init__(self, clock: Clock, threads: int, name: str) -> None:
        """Take how many threads there are, and what their names begin with."""
        self._clock, self._count, self._name = clock, threads, name
        self._lock = threading.RLock()
        self._timekeeper = Timekeeper(self._lock)
        self._ready: Rotation[Key] = Rotation()
        self._shares = ThreadShares(threads)
        self._open = False
        self._stopping = False
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the threads, once; nothing is done before `open_gate`."""
        with self._lock:
            if self._threads or self._stopping:
                return
            for number in range(self._count):
                name = f"{self._name}-{number}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                thread.start()
                self._threads.append(thread)

    def open_gate(self) -> None:
        """Begin to do what was and will be asked for."""
        with self._lock:
            self._open = True
            self._timekeeper.wake_all()

    def stop(self, timeout_seconds: float = STOP_SECONDS_MAX) -> None:
        """Let what is under way end, for so long in all, and drop what waits."""
        with self._lock:
            self._stopping = True
            self._timekeeper.wake_all()
            threads = list(self._threads)
        join_all(threads, timeout_seconds)

    def run_once(self) -> bool:
        """Do one thing that is due now; return whether there was one."""
        with self._lock:
            taken = self._take()
        if taken is not None:
            self._do(taken)
        return taken is not None

    @abstractmethod
    def _take(self) -> Taken | None:
        """Return what is to be done next, None if nothing is due; called with the lock held."""

    @abstractmethod
    def _do(self, taken: Taken) -> None:
        """Do it; whatever goes wrong must not end the thread."""

    @abstractmethod
    def _next_instant(self) -> float:
        """Return the monotonic instant at which something is due that is not yet; else infinity."""

    def _run(self) -> None:
        while (taken := self._next()) is not None:
            self._do(taken)

    def _next(self) -> Taken | None:
        with self._lock:
            while not self._stopping:
                if (taken := self._take()) is not None:
                    if self._ready.first(self._shares.may) is not None:
                        self._timekeeper.wake()
                    self._timekeeper.leave(self._next_instant())
                    return taken
                self._timekeeper.wait(self._next_instant(), self._clock.monotonic())
            return None
