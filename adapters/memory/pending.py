"""Which decisions are due, in memory: the port `core.ports.pending`."""

from collections.abc import Collection, Sequence

from adapters.memory.event_store import MemoryEventStore
from core.jobs.rows import DecisionRow
from core.values.ids import DecisionId
from core.values.instants import Instant


class MemoryPendingDecisions:
    """The pending rows of the `decision` projection of a log in memory."""

    def __init__(self, store: MemoryEventStore) -> None:
        self._store = store

    def due(
        self, now: Instant, shards: Collection[int], limit: int, besides: Collection[DecisionId]
    ) -> Sequence[DecisionRow]:
        """See `core.ports.pending.PendingDecisions.due`."""
        rows = self._earliest_first(shards, besides)
        return [row for row in rows if row.due_at <= now][:limit]

    def next_due_at(
        self, shards: Collection[int], besides: Collection[DecisionId]
    ) -> Instant | None:
        """See `core.ports.pending.PendingDecisions.next_due_at`."""
        rows = self._earliest_first(shards, besides)
        return rows[0].due_at if rows else None

    def pending(self, shards: Collection[int], limit: int) -> Sequence[DecisionRow]:
        """See `core.ports.pending.PendingDecisions.pending`."""
        return self._earliest_first(shards, ())[:limit]

    def _earliest_first(
        self, shards: Collection[int], besides: Collection[DecisionId]
    ) -> list[DecisionRow]:
        with self._store.lock:
            rows = [
                row
                for row in self._store.rows.decisions.values()
                if row.state == "pending" and row.shard in shards and row.decision_id not in besides
            ]
        return sorted(rows, key=lambda row: (row.due_at, row.decision_id))
