"""The clock of one process: the world's, wrong by what somebody stepped it."""

from datetime import timedelta

from jobledger.core.values.instants import Instant
from tests.support.memory.clock import SimulatedClock

SKEW_SECONDS_MAX = 2.0
"""How far the clock of a process may be from the world's."""


class SkewedClock:
    """Implements `core.ports.clock.Clock`; its wall clock may jump, its monotonic one does not."""

    def __init__(self, world: SimulatedClock) -> None:
        self._world = world
        self._skew = timedelta()

    def now(self) -> Instant:
        """Return the instant by the wall clock of this process."""
        return self._world.now() + self._skew

    def monotonic(self) -> float:
        """Return the seconds that have passed in the world."""
        return self._world.monotonic()

    def set_skew(self, seconds: float) -> None:
        """Step the wall clock."""
        assert abs(seconds) <= SKEW_SECONDS_MAX, "clocks are kept roughly right"
        self._skew = timedelta(seconds=seconds)
