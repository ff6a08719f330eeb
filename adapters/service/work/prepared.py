"""The result of deciding for one job in a turn, until it is appended and handed over."""

from dataclasses import dataclass

from jobledger.adapters.service.work.slots import Slot
from jobledger.core.catalogue import JobEvent
from jobledger.core.kinds import JobObservation, JobState
from jobledger.core.log.recording import Tail
from jobledger.core.ports.event_store import StreamAppend
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
