"""Port: open decisions that are due, read by the scheduler without claiming them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.values.ids import DecisionId
from jobledger.core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look at the pending decisions shows."""

    due: Sequence[DecisionRow]
    """Those that are due, earliest first, as many as were asked for."""
    next_due_at: Instant | None
    """The earliest `due_at` of the others, be it past; None if there are no others."""


class PendingDecisions(Protocol):
    """The pending rows of the `decision` projection. May raise `LedgerUnavailable`."""

    def look(
        self, now: Instant, shards: Collection[int], limit: int, besides: Collection[DecisionId]
    ) -> Look:
        """Return up to `limit` pending decisions with `due_at` <= now, and when the next is due.

        Those in `besides` are left out.
        """

    def pending(self, shards: Collection[int], limit: int) -> Sequence[DecisionRow]:
        """Return pending decisions, earliest first."""
