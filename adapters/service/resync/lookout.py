"""What looking for objects by name needs."""

from dataclasses import dataclass

from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Lookout:
    """Whom to ask, whom to tell, and what time it is."""

    cluster: Cluster
    around: EventHandlers
    clock: Clock
