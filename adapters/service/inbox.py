"""Where every observation waits for its turn."""

import threading
from collections import deque
from collections.abc import Sequence

from core.kinds import JobObservation
from core.values.ids import StreamId

Arrival = tuple[StreamId, JobObservation]


class Inbox:
    """An unbounded queue; its length is bounded by the jobs that exist, and is a metric.

    Observations of one job are taken in the order in which they were put.
    """

    def __init__(self) -> None:
        self._arrivals: deque[Arrival] = deque()
        self._ready = threading.Condition()
        self._closed = False

    def put(self, stream: StreamId, observation: JobObservation) -> None:
        """Add an observation; one that comes after `close` is dropped (it will be seen again)."""
        with self._ready:
            if not self._closed:
                self._arrivals.append((stream, observation))
                self._ready.notify()

    def take(self, limit: int, timeout_seconds: float) -> list[Arrival]:
        """Return up to `limit` observations.

        Returns at once if there are any, else with the first that comes in time.
        """
        with self._ready:
            if not self._arrivals and not self._closed:
                self._ready.wait(timeout_seconds)
            count = min(limit, len(self._arrivals))
            return [self._arrivals.popleft() for _ in range(count)]

    def put_back(self, arrivals: Sequence[Arrival]) -> None:
        """Put what was taken back in front, in its order, unless the inbox is closed."""
        with self._ready:
            if not self._closed:
                self._arrivals.extendleft(reversed(arrivals))
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
