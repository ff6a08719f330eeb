"""Decisions that fall due, without a job around them."""

import threading
from collections.abc import Collection, Sequence
from datetime import timedelta

from jobledger.core.errors import LedgerError
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.ports.pending import Look
from jobledger.core.values.ids import SHARDS, DecisionId
from jobledger.core.values.instants import Instant
from tests.support.records import NOON, a_decision_row, a_stream

ALL = frozenset(range(SHARDS))


def a_decision(name: str, due_in: float = 0.0) -> DecisionRow:
    """Return a pending decision that falls due so many seconds after noon."""
    return a_decision_row(a_stream(name), name, due_at=NOON + timedelta(seconds=due_in))


class Table:
    """The table of decisions: `rows` are pending. Breaks, if told to."""

    def __init__(self, *rows: DecisionRow) -> None:
        self.rows = {row.decision_id: row for row in rows}
        self.breaks: Exception | None = None
        self.asked = 0
        self._lock = threading.Lock()

    def add(self, row: DecisionRow) -> None:
        with self._lock:
            self.rows[row.decision_id] = row

    def end(self, decision: DecisionId) -> None:
        with self._lock:
            self.rows.pop(decision, None)

    def look(
        self, now: Instant, shards: Collection[int], limit: int, besides: Collection[DecisionId]
    ) -> Look:
        rows = self._besides(shards, besides)
        due = [row for row in rows if row.due_at <= now][:limit]
        others = rows[len(due) :]
        return Look(due=due, next_due_at=others[0].due_at if others else None)

    def pending(self, shards: Collection[int], limit: int) -> Sequence[DecisionRow]:
        return self._besides(shards, ())[:limit]

    def _besides(
        self, shards: Collection[int], besides: Collection[DecisionId]
    ) -> list[DecisionRow]:
        with self._lock:
            self.asked += 1
            if self.breaks is not None:
                raise self.breaks
            rows = [row for row in self.rows.values() if row.shard in shards]
        left = [row for row in rows if row.decision_id not in besides]
        return sorted(left, key=lambda row: (row.due_at, row.decision_id))


class Broken(LedgerError):
    """A ledger that says something unforeseen."""
