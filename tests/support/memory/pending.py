"""In-memory due decisions: the port `core.ports.pending`."""

from collections.abc import Collection, Sequence

from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.ports.pending import Look
from jobledger.core.values.ids import DecisionId
from jobledger.core.values.instants import Instant
from tests.support.memory.event_store import MemoryEventStore


class MemoryPendingDecisions:
    """The pending rows of the `decision` projection of a log in memory."""

    def __init__(self, store: MemoryEventStore) -> None:
        self._store = store

    def look(
        self, now: Instant, shards: Collection[int], limit: int, besides: Collection[DecisionId]
    ) -> Look:
        """See `core.ports.pending.PendingDecisions.look`."""
        rows = self._earliest_first(shards, besides)
        due = [row for row in rows if row.due_at <= now][:limit]
        others = rows[len(due) :]
        return Look(due=due, next_due_at=others[0].due_at if others else None)

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
