"""A clock that moves only when it is told to."""

import threading
from datetime import timedelta

from jobledger.core.values.instants import Instant


class SimulatedClock:
    """Implements `core.ports.clock.Clock`; time passes only by `advance`."""

    def __init__(self, start: Instant) -> None:
        self._start = start
        self._passed = timedelta()
        self._lock = threading.Lock()

    def now(self) -> Instant:
        """Return the start plus all that was advanced."""
        return self._start + self._passed

    def monotonic(self) -> float:
        """Return the seconds advanced so far."""
        return self._passed.total_seconds()

    def set_back(self, seconds: float) -> None:
        """Tell the time as another machine's clock does that is behind by `seconds`."""
        with self._lock:
            self._start -= timedelta(seconds=seconds)

    def advance(self, seconds: float) -> Instant:
        """Let `seconds` (never negative) pass and return the new instant."""
        if seconds < 0:
            raise ValueError(f"{seconds} s: this clock does not run backwards")
        with self._lock:
            self._passed += timedelta(seconds=seconds)
            return self._start + self._passed
