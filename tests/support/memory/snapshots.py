"""In-memory snapshots: the port `core.ports.projections`."""

from collections.abc import Collection, Sequence

from jobledger.core.ports.projections import Snapshot
from jobledger.core.values.ids import StreamId
from tests.support.memory.event_store import MemoryEventStore


class MemorySnapshots:
    """The snapshots of the jobs of a log in memory."""

    def __init__(self, store: MemoryEventStore) -> None:
        self._store = store
        self.kept: dict[StreamId, Snapshot] = {}

    def read(self, streams: Collection[StreamId], folded_by: bytes) -> Sequence[Snapshot]:
        """See `core.ports.projections.Snapshots.read`."""
        with self._store.lock:
            found = [self.kept[stream] for stream in streams if stream in self.kept]
            return [one for one in found if one.folded_by == folded_by and self._bears_out(one)]

    def write(self, snapshots: Sequence[Snapshot]) -> None:
        """See `core.ports.projections.Snapshots.write`."""
        with self._store.lock:
            self.kept |= {one.stream_id: one for one in snapshots}

    def sweep(self) -> int:
        """See `core.ports.projections.Snapshots.sweep`."""
        with self._store.lock:
            jobs = self._store.rows.jobs
            gone = [one for one in self.kept if one not in jobs or not jobs[one].open]
            for stream in gone:
                del self.kept[stream]
            return len(gone)

    def _bears_out(self, one: Snapshot) -> bool:
        stored = self._store.read_stream(one.stream_id, one.version - 1)
        return bool(stored) and stored[0].record.chain == one.chain
