"""Decisions that have not ended yet, read by the scheduler. Reading claims and changes nothing."""

from collections.abc import Collection, Sequence
from typing import Protocol

from core.jobs.rows import DecisionRow
from core.values.ids import DecisionId
from core.values.instants import Instant


class PendingDecisions(Protocol):
    """The pending rows of the `decision` projection. May raise `LedgerUnavailable`."""

    def due(
        self, now: Instant, shards: Collection[int], limit: int, besides: Collection[DecisionId]
    ) -> Sequence[DecisionRow]:
        """Return up to `limit` pending decisions with `due_at` <= now, earliest first.

        Those in `besides` are left out.
        """
        ...

    def next_due_at(
        self, shards: Collection[int], besides: Collection[DecisionId]
    ) -> Instant | None:
        """Return the earliest `due_at` of the pending decisions, or None if there is none.

        Those in `besides` are left out.
        """
        ...

    def pending(self, shards: Collection[int], limit: int) -> Sequence[DecisionRow]:
        """Return pending decisions, earliest first."""
        ...
