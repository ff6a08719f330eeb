"""The pause before a watch is tried again."""

from collections.abc import Callable

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
