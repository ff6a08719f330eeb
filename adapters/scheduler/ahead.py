"""Remembers the decisions that fall due in a moment: they need not be asked for just then."""

from collections import deque
from collections.abc import Sequence

from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.values.ids import DecisionId
from jobledger.core.values.instants import Instant


class Ahead:
    """Pending decisions up to an instant, as the last look has shown them. For one thread."""

    def __init__(self) -> None:
        self._rows: deque[DecisionRow] = deque()
        self.until: Instant | None = None
        """Nothing else falls due before this instant; None while that is not known."""

    @property
    def next_at(self) -> Instant | None:
        """When something is to be done: a decision falls due, or the ledger has to be asked."""
        return self._rows[0].due_at if self._rows else self.until

    def replace(self, rows: Sequence[DecisionRow], until: Instant | None) -> None:
        """Take what a look has shown, what falls due first in front; not from `until` on."""
        self._rows = deque(row for row in rows if until is None or row.due_at < until)
        self.until = until

    def take(self, now: Instant) -> list[DecisionRow]:
        """Hand over what is due."""
        due = []
        while self._rows and self._rows[0].due_at <= now:
            due.append(self._rows.popleft())
        return due

    def learn(self, due_at: Instant) -> bool:
        """Take note of a decision that falls due then; return whether that is the next to come.

        It is not known itself, so from then on the ledger has to be asked.
        """
        if self.until is None or due_at >= self.until:
            return False
        is_next = self.next_at is None or due_at < self.next_at
        self.replace(tuple(self._rows), due_at)
        return is_next

    def forget(self, decision: DecisionId) -> None:
        """Leave out a decision that has been dealt with before it was due."""
        if any(row.decision_id == decision for row in self._rows):
            self._rows = deque(row for row in self._rows if row.decision_id != decision)
