"""The decider of RayJobs."""

from jobledger.core.decider import Decider
from jobledger.core.rayjob.decide.decide import decide
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.rayjob.evolve.lifecycle import evolve
from jobledger.core.rayjob.observations.observations import RayJobObservation
from jobledger.core.rayjob.state import RayJobState

RAYJOB: Decider[RayJobState, RayJobEvent, RayJobObservation] = Decider(
    initial=RayJobState(), decide=decide, evolve=evolve
)
