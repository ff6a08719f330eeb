"""The decider of TrainJobs."""

from core.decider import Decider
from core.trainjob.decide import decide
from core.trainjob.events import TrainJobEvent
from core.trainjob.evolve import evolve
from core.trainjob.observations import TrainJobObservation
from core.trainjob.state import TrainJobState

TRAINJOB: Decider[TrainJobState, TrainJobEvent, TrainJobObservation] = Decider(
    initial=TrainJobState(), decide=decide, evolve=evolve
)
