"""What is different about the control of a TrainJob: whose it is, and what its status shows."""

from jobledger.core.jobs.control.control_change import ControlRules
from jobledger.core.trainjob.decide.on_lost_history import signs
from jobledger.core.trainjob.events import OthersTrainStatusObserved
from jobledger.core.trainjob.observations import SeenTrainStatus, TrainJobSeen
from jobledger.core.trainjob.state import TrainJobState, is_final


def _shows_own(state: TrainJobState, seen: TrainJobSeen) -> bool:
    own, shown = (
        {(item.type, item.is_true, item.reason) for item in conditions}
        for conditions in (state.conditions, seen.status.conditions)
    )
    return own == shown


TRAINJOB_CONTROL: ControlRules[TrainJobState, TrainJobSeen, OthersTrainStatusObserved] = (
    ControlRules(
        no_status=SeenTrainStatus(),
        shown=lambda seen: OthersTrainStatusObserved(at=seen.at, status=seen.status),
        signs=signs,
        is_final=is_final,
        shows_own=_shows_own,
    )
)
