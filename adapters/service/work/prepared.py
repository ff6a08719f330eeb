"""The result of deciding for one job in a turn, until it is appended and handed over."""

from dataclasses import dataclass

from jobledger.adapters.service.work.slots import Slot
from jobledger.core.catalogue import JobEvent
from jobledger.core.kinds import JobObservation, JobState
from jobledger.core.log.recording import Tail
from jobledger.core.ports.event_store import AppendOutcome, AppendResult, StreamAppend
from jobledger.core.projections.view import View


@dataclass(slots=True)
class Prepared:
    """What one job's observations brought, before and after the append."""

    slot: Slot
    arrivals: list[JobObservation]
    before: View
    events: list[JobEvent]
    states: list[JobState]
    """The state after each of them."""
    view: View
    tail: Tail
    part: StreamAppend

    def judged(self, result: AppendResult | None) -> AppendOutcome | None:
        """Return what became of it; that another has written the same is a conflict.

        Whoever held the shard in between, and saw the same, has written events of the same ids.
        Their links are others, by who wrote them when, so nothing would continue ours.
        """
        if result is None:
            return None
        is_there = result.outcome is AppendOutcome.DUPLICATE
        is_anothers = is_there and result.chain != self.tail.chain
        return AppendOutcome.CONFLICT if is_anothers else result.outcome
