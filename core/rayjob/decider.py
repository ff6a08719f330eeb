"""The decider of RayJobs."""

from core.decider import Decider
from core.rayjob.decide import decide
from core.rayjob.events import RayJobEvent
from core.rayjob.evolve import evolve
from core.rayjob.observations import RayJobObservation
from core.rayjob.state import RayJobState

RAYJOB: Decider[RayJobState, RayJobEvent, RayJobObservation] = Decider(
    initial=RayJobState(), decide=decide, evolve=evolve
)
