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
