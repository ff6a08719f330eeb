"""The durations and pauses of watches, with the clock and random source they use."""

from collections.abc import Callable
from dataclasses import dataclass

from jobledger.core.ports.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPace:
    """How long a watch lasts, and how long it waits. All in seconds."""

    watch_seconds: int = 300
    """What the server is asked to end a watch after; up to a fifth is added by dice."""
    silence_seconds: float = 90.0
    """A watch without a word for so long is dead, and resumed. Bookmarks come about every 60
    seconds; of a custom resource to which nothing happens less often (121 were measured)."""
    healthy_seconds: float = 5.0
    """A watch that lasted so long has worked, even if nothing happened."""
    first_pause_seconds: float = 0.2
    """The first pause after a failure; each further one is twice as long."""
    longest_pause_seconds: float = 30.0
    stop_seconds: float = 2.0
    """`stop` waits no longer than this for the thread; it tells nothing more in any case."""
    page_limit: int = 500
    """Objects per page of a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTiming:
    """A pace, and what it is measured and varied by."""

    clock: Clock
    random: Callable[[], float]
    """The dice: a number from 0 up to 1."""
    pace: WatchPace


_MAX_DOUBLINGS = 30
"""Far beyond any cap; keeps the power from growing for ever."""


class Backoff:
    """Delays that double up to a cap, each cut by up to a half so that clients do not march."""

    def __init__(
        self, random: Callable[[], float], *, first_seconds: float, cap_seconds: float
    ) -> None:
        """Take the dice (a number from 0 up to 1) and the limits of a delay."""
        self._random = random
        self._first = first_seconds
        self._cap = cap_seconds
        self._doublings = 0

    def next_seconds(self) -> float:
        """Return the delay before the next try; the one after it will be longer."""
        longest = min(self._cap, self._first * 2.0**self._doublings)
        self._doublings = min(self._doublings + 1, _MAX_DOUBLINGS)
        return longest * (0.5 + self._random() / 2)

    def reset(self) -> None:
        """Begin again with the first delay: something went well."""
        self._doublings = 0
