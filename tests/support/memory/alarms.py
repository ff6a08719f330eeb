"""In-memory alarms, fired by hand: the port `core.ports.alarms`.

Whoever drives the service calls `fire_due`; nothing happens by itself, so a test or a simulation
says when time is looked at, and how late.
"""

from collections.abc import Callable, Collection

from jobledger.core.errors import LedgerUnavailable
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.ports.alarms import OnDue
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.pending import PendingDecisions
from jobledger.core.values.ids import DecisionId
from jobledger.core.values.instants import Instant

HANDED_OUT_SECONDS_MAX = 60.0
"""After this long a decision that was told counts as lost on the way and is told again."""

TOLD_AT_ONCE_MAX = 256
"""How many decisions may be told and not yet dealt with."""


class MemoryAlarms:
    """Implements `core.ports.alarms.Alarms`: what is due is told by `fire_due`, once each.

    Told decisions are remembered until `done`; nothing overdue is dropped, and an unavailable
    ledger is waited out: the next call looks again.
    """

    def __init__(
        self, pending: PendingDecisions, clock: Clock, shards: Callable[[], Collection[int]]
    ) -> None:
        self._pending = pending
        self._clock = clock
        self._shards = shards
        self._on_due: OnDue | None = None
        self._told: dict[DecisionId, float] = {}

    def start(self, on_due: OnDue) -> None:
        """See `core.ports.alarms.Alarms.start`."""
        self._on_due = on_due

    def wake(self, due_at: Instant | None = None) -> None:
        """See `core.ports.alarms.Alarms.wake`; nobody sleeps here."""

    def done(self, decision: DecisionId) -> None:
        """See `core.ports.alarms.Alarms.done`."""
        self._told.pop(decision, None)

    def stop(self) -> None:
        """See `core.ports.alarms.Alarms.stop`."""
        self._on_due = None

    def is_alive(self) -> bool:
        """See `core.ports.alarms.Alarms.is_alive`."""
        return self._on_due is not None

    def fire_due(self) -> Collection[DecisionRow]:
        """Tell every decision that is due now and not told yet; return them, earliest first."""
        if self._on_due is None:
            return ()
        now = self._clock.monotonic()
        lost_before = now - HANDED_OUT_SECONDS_MAX
        self._told = {key: since for key, since in self._told.items() if since >= lost_before}
        room = TOLD_AT_ONCE_MAX - len(self._told)
        try:
            now_here = self._clock.now()
            rows = self._pending.look(now_here, self._shards(), room, tuple(self._told)).due
        except LedgerUnavailable:
            return ()
        for row in rows:
            self._told[row.decision_id] = now
            self._on_due(row)
        return rows
