"""The decider of TrainJobs."""

from jobledger.core.decider import Decider
from jobledger.core.trainjob.decide.decide import decide
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.trainjob.evolve.evolve import evolve
from jobledger.core.trainjob.observations import TrainJobObservation
from jobledger.core.trainjob.state import TrainJobState

TRAINJOB: Decider[TrainJobState, TrainJobEvent, TrainJobObservation] = Decider(
    initial=TrainJobState(), decide=decide, evolve=evolve
)
