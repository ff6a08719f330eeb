"""The inbox: observations that wait for their turn, by job."""

import threading
from collections import deque
from collections.abc import Sequence

from jobledger.core.jobs.observations import StatusWritten
from jobledger.core.kinds import JobObservation
from jobledger.core.values.ids import StreamId

Arrival = tuple[StreamId, JobObservation]


class Inbox:
    """An unbounded queue; its length is bounded by the jobs that exist, and is a metric.

    Observations of one job are taken in the order in which they were put. What nothing follows
    from wakes nobody: it is taken along with the next that does, or when a `take` has waited.
    """

    def __init__(self) -> None:
        self._arrivals: deque[Arrival] = deque()
        self._urgent = 0
        """How many of them are waited for."""
        self._ready = threading.Condition()
        self._closed = False

    def put(self, stream: StreamId, observation: JobObservation) -> None:
        """Add an observation; one that comes after `close` is dropped (it will be seen again)."""
        with self._ready:
            if not self._closed:
                self._arrivals.append((stream, observation))
                if _is_urgent(observation):
                    self._urgent += 1
                    self._ready.notify()

    def take(self, limit: int, timeout_seconds: float) -> list[Arrival]:
        """Return up to `limit` observations.

        Returns at once if there are urgent ones, else with the first that comes in time, and at
        the latest with what else there is.
        """
        with self._ready:
            if not self._urgent and not self._closed:
                self._ready.wait(timeout_seconds)
            count = min(limit, len(self._arrivals))
            taken = [self._arrivals.popleft() for _ in range(count)]
            self._urgent -= sum(_is_urgent(observation) for _, observation in taken)
            return taken

    def put_back(self, arrivals: Sequence[Arrival]) -> None:
        """Put what was taken back in front, in its order, unless the inbox is closed."""
        with self._ready:
            if not self._closed:
                self._arrivals.extendleft(reversed(arrivals))
                self._urgent += sum(_is_urgent(observation) for _, observation in arrivals)
                self._ready.notify()

    @property
    def is_closed(self) -> bool:
        """Return whether nothing more is taken in."""
        return self._closed

    def close(self) -> None:
        """Take nothing more and let a waiting `take` return."""
        with self._ready:
            self._closed = True
            self._ready.notify_all()

    def __len__(self) -> int:
        return len(self._arrivals)


def _is_urgent(observation: JobObservation) -> bool:
    """Return whether anything could follow from it: not from a status that was written."""
    return not isinstance(observation, StatusWritten)
