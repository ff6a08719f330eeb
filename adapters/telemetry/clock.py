"""The machine's clock."""

import time
from datetime import UTC, datetime

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
