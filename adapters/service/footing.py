"""Whether what a process goes by is still in the log: it may have been set back under it."""

from core.log.recording import Tail
from core.ports.event_store import EventStore


class Footing:
    """Whether what this process goes by is still in the log.

    Events are committed one after the other, so a ledger that was set back (a replica was promoted,
    a backup restored, while this process went on) has lost the newest: as long as the last event
    that this process appended or read is there, all that it knows is. One thread notes, any asks.
    """

    def __init__(self, store: EventStore) -> None:
        self._store = store
        self._last: Tail | None = None

    def appended(self, tail: Tail) -> None:
        """Take note of what was appended last."""
        self._last = tail

    def has_read(self) -> None:
        """Take note that jobs were read from the log as it is now; raises as the store."""
        newest = self._store.read_after(self._store.last_position() - 1, 1)
        if newest:
            last = newest[0].record
            self._last = Tail(stream_id=last.stream_id, version=last.version, chain=last.chain)

    def is_lost(self) -> bool:
        """Return whether the log lacks what it had; raises as the store.

        It may also have gone into an archive: then all is read anew for nothing.
        """
        last = self._last
        if last is None:
            return False
        found = self._store.read_stream(last.stream_id, after_version=last.version - 1)
        return not found or found[0].record.chain != last.chain

    def forget(self) -> None:
        """Stand on nothing, until something is read again."""
        self._last = None
