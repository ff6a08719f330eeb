"""Port: be woken when a decision falls due."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.values.ids import DecisionId
from jobledger.core.values.instants import Instant

OnDue: TypeAlias = Callable[[DecisionRow], None]


class Alarms(Protocol):
    """An engine of time over the pending decisions.

    Every decision that is due is told; it is told again only after `done`, should it still be
    pending then.
    Nothing overdue is dropped, and an error of the ledger is waited out.
    """

    def start(self, on_due: OnDue) -> None:
        """Begin to tell; `on_due` returns quickly."""

    def wake(self, due_at: Instant | None = None) -> None:
        """Take note of a decision due at `due_at`, or (None) that anything may have changed."""

    def done(self, decision: DecisionId) -> None:
        """Take note that a told decision has been dealt with, or put off."""

    def stop(self) -> None:
        """End; nothing is told after this returns."""

    def is_alive(self) -> bool:
        """Return whether the engine runs and has looked at the ledger within the last minute."""
