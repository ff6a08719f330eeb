"""The machine's clock."""

import time
from datetime import UTC, datetime

from jobledger.core.values.instants import Instant


class SystemClock:
    """Implements `core.ports.clock.Clock` by asking the operating system."""

    def now(self) -> Instant:
        """Return the instant by the wall clock."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds since some fixed moment."""
        return time.monotonic()
