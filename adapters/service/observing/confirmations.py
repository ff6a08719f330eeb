"""Counts unchanged observations per job and source; they enter the log as a sum.

So "last confirmed at" can be answered for every part of a job without an event for every poll.
"""

import threading

from jobledger.core.jobs.events import Confirmation
from jobledger.core.jobs.observations import NothingNew
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant


class Confirmations:
    """Sums since they were last taken. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: dict[StreamId, dict[str, Confirmation]] = {}

    def count(self, stream: StreamId, source: str, at: Instant) -> None:
        """Add one observation of `source` that brought no news."""
        with self._lock:
            sums = self._sums.setdefault(stream, {})
            known = sums.get(source)
            sums[source] = Confirmation(
                source=source,
                count=known.count + 1 if known is not None else 1,
                first_at=known.first_at if known is not None else at,
                last_at=at,
            )

    def take(self, stream: StreamId) -> NothingNew | None:
        """Return the sum of a job and begin anew; None if there is nothing."""
        with self._lock:
            sums = self._sums.pop(stream, None)
        if not sums:
            return None
        sources = tuple(sums[name] for name in sorted(sums))
        last = max(item.last_at for item in sources)
        return NothingNew(
            id=observation_id(stream, "nothing new", last.isoformat()), at=last, sources=sources
        )

    def older_than(self, instant: Instant) -> list[StreamId]:
        """Return the jobs whose sum began before an instant."""
        with self._lock:
            return [
                stream
                for stream, sums in self._sums.items()
                if min(item.first_at for item in sums.values()) < instant
            ]

    def forget(self, stream: StreamId) -> None:
        """Drop what was counted of a job that is over."""
        with self._lock:
            self._sums.pop(stream, None)
