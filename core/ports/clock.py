"""Port: the current time.

The core itself never asks; whoever makes observations, waits or measures does.
"""

from typing import Protocol

from jobledger.core.values.instants import Instant


class Clock(Protocol):
    """The time, as told to whoever needs it. Safe to ask from many threads."""

    def now(self) -> Instant:
        """Return the instant by the wall clock; it may jump either way."""

    def monotonic(self) -> float:
        """Return seconds since some fixed moment; it never runs backwards."""
