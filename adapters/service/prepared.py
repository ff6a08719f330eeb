"""What the observations of one job brought in a turn, from deciding to passing on."""

from dataclasses import dataclass

from adapters.service.slots import Slot
from core.catalogue import JobEvent
from core.kinds import JobObservation, JobState
from core.log.recording import Tail
from core.ports.event_store import StreamAppend
from core.projections.view import View


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
