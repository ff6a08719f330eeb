"""The machine's clock, and one that continues when that jumps."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from jobledger.core.values.instants import Instant

_COUNTING = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux leaves out of CLOCK_MONOTONIC how long the machine was suspended, macOS does not."""


def since_start() -> float:
    """Return seconds since some fixed moment, those in which the machine was suspended included.

    A lease ends meanwhile, whatever the machine sees of it.
    """
    return time.clock_gettime(_COUNTING)


class SystemClock:
    """Implements `core.ports.clock.Clock` by asking the operating system."""

    def now(self) -> Instant:
        """Return the instant by the wall clock."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds since some fixed moment."""
        return since_start()


STEP_MAX = timedelta(seconds=30)
"""The machine's clock is followed as long as it moves no further than this from the expected."""


def _wall() -> Instant:
    return datetime.now(UTC)


class SteadyClock:
    """A clock that cannot be set back. Safe from any thread.

    A deadline is an instant. Were the machine's clock set forward by an hour, every deadline of the
    next hour would have passed at once. Were it an hour behind when a job began, the deadline of
    that job would pass an hour early once it is set right: so others may say how far it is off
    (`lead`).

    Follows the machine's clock while that is slewed or set by a little. A larger step counts only
    once somebody else agrees with it (`believe`); until then time goes on from before.
    """

    def __init__(
        self,
        wall: Callable[[], Instant] = _wall,
        monotonic: Callable[[], float] = since_start,
    ) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._lock = threading.Lock()
        self._known = wall(), monotonic()
        self.lead = timedelta()
        """How far the instant is ahead of what this clock would say by itself."""

    def now(self) -> Instant:
        """Return the instant."""
        return self.unled() + self.lead

    def unled(self) -> Instant:
        """Return the instant by this machine alone."""
        with self._lock:
            wall, expected = self._wall(), self._expected()
            if abs(wall - expected) > STEP_MAX:
                return expected
            self._known = wall, self._monotonic()
            return wall

    def monotonic(self) -> float:
        """Return seconds since some fixed moment."""
        return self._monotonic()

    def stepped(self) -> timedelta:
        """Return by how much the machine's clock was set, and is not followed; 0: it is."""
        with self._lock:
            step = self._wall() - self._expected()
            return step if abs(step) > STEP_MAX else timedelta()

    def believe(self) -> None:
        """Follow the machine's clock from where it is now."""
        with self._lock:
            self._known = self._wall(), self._monotonic()

    def _expected(self) -> Instant:
        wall, monotonic = self._known
        return wall + timedelta(seconds=self._monotonic() - monotonic)
