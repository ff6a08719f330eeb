"""Delivers due decisions. One that would end an attempt first takes a fresh look."""

from dataclasses import dataclass

from jobledger.adapters.service.heads.polls import Polls
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.jobset_looks import JobSetLook
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.questions import Questions
from jobledger.adapters.service.work.slots import Slots
from jobledger.core.jobs.observations import DecisionDue
from jobledger.core.jobs.pending.decisions import LOOK_FIRST, DecisionKind
from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import Cluster
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.ids import StreamId, observation_id


@dataclass(frozen=True, slots=True)
class FallingDue:
    """Who is told of due decisions. Never waits."""

    slots: Slots
    inbox: Inbox
    questions: Questions
    polls: Polls
    cluster: Cluster
    around: EventHandlers
    clock: Clock

    def tell(self, row: DecisionRow) -> None:
        """Pass a due decision on, after a look at the Ray job or JobSet if it would end it."""
        stream = row.stream_id
        if DecisionKind(row.kind) in LOOK_FIRST:
            state = self.slots.state(stream)

            def looked() -> None:
                self._put(stream, row, looked=True)

            if isinstance(state, TrainJobState) and state.identity is not None:
                look = JobSetLook(self.cluster, self.around, self.clock, state.identity, looked)
                about = f"decision {row.decision_id}"
                self.questions.ask(stream, about, look, lambda: self._is_pending(row))
                return
            if self.polls.look(stream, looked):
                return
        self._put(stream, row, looked=False)

    def _is_pending(self, row: DecisionRow) -> bool:
        state = self.slots.state(row.stream_id)
        pending = state.decisions if state is not None else ()
        return any(decision.decision_id == row.decision_id for decision in pending)

    def _put(self, stream: StreamId, row: DecisionRow, *, looked: bool) -> None:
        due = DecisionDue(
            id=observation_id(stream, "due", str(row.decision_id), str(looked)),
            at=max(self.clock.now(), row.due_at),
            decision_id=row.decision_id,
            looked=looked,
        )
        self.inbox.put(stream, due)
