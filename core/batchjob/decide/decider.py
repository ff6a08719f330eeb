"""The decider of Jobs that are retried on new Jobs."""

from jobledger.core.batchjob.decide.decide import decide
from jobledger.core.batchjob.events import BatchJobEvent
from jobledger.core.batchjob.evolve.evolve import evolve
from jobledger.core.batchjob.observations import BatchJobObservation
from jobledger.core.batchjob.state import BatchJobState
from jobledger.core.decider import Decider

BATCHJOB: Decider[BatchJobState, BatchJobEvent, BatchJobObservation] = Decider(
    initial=BatchJobState(), decide=decide, evolve=evolve
)
