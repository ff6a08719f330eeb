"""How many threads of a pool one namespace may hold: it leaves some to others.

A namespace that holds no thread may always have one. One that holds some has one more only if it
then holds at most three for each that is left free.
"""

HELD_TO_FREE_MAX = 3
"""So many for each that is free then: of eight a namespace holds six, a second one then one, and
the last is for a third."""


class ThreadShares:
    """Who holds the threads of a pool. For one thread at a time."""

    def __init__(self, threads: int) -> None:
        """Take how many threads there are."""
        self._left = threads
        self._held: dict[str, int] = {}

    def may(self, namespace: str) -> bool:
        """Return whether a namespace may have a thread, or one more."""
        held = self._held.get(namespace, 0)
        return held == 0 or held + 1 <= HELD_TO_FREE_MAX * (self._left - 1)

    def take(self, namespace: str) -> None:
        """Take note that a namespace has one more."""
        self._left -= 1
        self._held[namespace] = self._held.get(namespace, 0) + 1

    def give_back(self, namespace: str) -> None:
        """Take note that it has one less."""
        self._left += 1
        self._held[namespace] -= 1
        if not self._held[namespace]:
            del self._held[namespace]
