"""A clock that cannot be set back: it continues when the machine's clock jumps.

A deadline is an instant. Were the machine's clock set forward by an hour, every deadline of the
next hour would have passed at once. Were it an hour behind when a job began, the deadline of that
job would pass an hour early once it is set right: so others may say how far it is off (`lead`).
"""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from jobledger.adapters.telemetry.clock import since_start
from jobledger.core.values.instants import Instant

STEP_MAX = timedelta(seconds=30)
"""The machine's clock is followed as long as it moves no further than this from the expected."""


def _wall() -> Instant:
    return datetime.now(UTC)


class SteadyClock:
    """Implements `core.ports.clock.Clock`. Safe from any thread.

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
