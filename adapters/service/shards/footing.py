"""Checks that the events a process relies on are still in the log."""

import threading

from jobledger.core.log.recording import Tail
from jobledger.core.ports.event_store import EventStore


class Footing:
    """Whether what this process goes by is still in the log.

    A ledger that was set back (a replica was promoted, a backup restored, while this process went
    on) has lost the newest events, and may have got others since. So each stream that was appended
    to, or read, since the last look is looked at, and the newest event of the log then: as long as
    all of them still have these ends, what was appended before them is there as well. An end is
    forgotten only for one that goes on from it: a job that was read anew after the loss may be
    appended to before anybody has looked. One thread notes, another looks.
    """

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._ends: dict[Tail, None] = {}
        """Where streams ended that were not looked at since, and the newest of the last look."""

    def appended(self, tail: Tail, before: Tail | None = None) -> None:
        """Take note of what was appended, and of the end that it goes on from."""
        with self._lock:
            if before is not None:
                self._ends.pop(before, None)
            self._ends.pop(tail, None)
            self._ends[tail] = None

    def has_read(self) -> None:
        """Take note that jobs were read from the log as it is now; raises as the store."""
        for newest in self._newest():
            self.appended(newest)

    def _newest(self) -> list[Tail]:
        """Return the end that the newest event of the log is; none of an empty one."""
        newest = self._store.read_after(self._store.last_position() - 1, 1)
        return [
            Tail(stream_id=last.stream_id, version=last.version, chain=last.chain)
            for last in (item.record for item in newest)
        ]

    def is_lost(self) -> bool:
        """Return whether the log lacks what it had; raises as the store.

        It may also have gone into an archive: then all is read anew for nothing.
        """
        with self._lock:
            ends = list(self._ends)
        newest = self._newest()
        if not self._store.has(list({*ends, *newest})):
            return True
        with self._lock:
            for end in ends:
                self._ends.pop(end, None)
            self._ends |= dict.fromkeys(newest)
        return False

    def forget(self) -> None:
        """Stand on nothing, until something is read again."""
        with self._lock:
            self._ends.clear()
