"""Delivers due decisions. One that would end an attempt first takes a fresh look."""

from collections.abc import Callable
from dataclasses import dataclass

from jobledger.adapters.service.resync.lookout import FreshLook, Lookout
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.slots import Slots
from jobledger.core.jobs.observations import DecisionDue
from jobledger.core.jobs.pending.decisions import LOOK_FIRST, DecisionKind
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.kinds import kind_of
from jobledger.core.values.ids import StreamId, observation_id


@dataclass(frozen=True, slots=True)
class FallingDue:
    """Who is told of due decisions. Never waits."""

    slots: Slots
    inbox: Inbox
    lookout: Lookout
    has_listed: Callable[[str], bool]
    """Whether all that jobs of a kind need is watched and was listed."""

    def tell(self, row: DecisionRow) -> None:
        """Pass a due decision on, after a look at what it would end.

        Not while jobs of its kind are left alone, as their objects may not be listed: nobody would
        know that the job has ended well. It stays pending, and falls due again and again.
        """
        stream = row.stream_id
        state = self.slots.state(stream) if DecisionKind(row.kind) in LOOK_FIRST else None
        name = kind_of(state).name if state is not None else ""
        if state is not None and not self.has_listed(name):
            return
        kind = self.lookout.kinds.get(name)
        if state is not None and kind is not None:
            look = FreshLook(
                about=f"decision {row.decision_id}",
                is_pending=lambda: self._is_pending(row),
                then=lambda: self._put(stream, row, looked=True),
            )
            if kind.look_first(self.lookout, stream, state, look):
                return
        self._put(stream, row, looked=False)

    def _is_pending(self, row: DecisionRow) -> bool:
        state = self.slots.state(row.stream_id)
        pending = state.decisions if state is not None else ()
        return any(decision.decision_id == row.decision_id for decision in pending)

    def _put(self, stream: StreamId, row: DecisionRow, *, looked: bool) -> None:
        due = DecisionDue(
            id=observation_id(stream, "due", str(row.decision_id), str(looked)),
            at=max(self.lookout.clock.now(), row.due_at),
            decision_id=row.decision_id,
            looked=looked,
        )
        self.inbox.put(stream, due)
