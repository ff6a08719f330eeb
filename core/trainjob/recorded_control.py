"""Who decides about a TrainJob: this controller, or another, whose doing is recorded."""

from core.jobs.control_change import control_change
from core.trainjob.events import OthersTrainStatusObserved, TrainJobEvent
from core.trainjob.observations import SeenTrainStatus, TrainJobSeen
from core.trainjob.state import TrainJobState

NO_STATUS = SeenTrainStatus()


def control_of(state: TrainJobState, told: TrainJobSeen) -> tuple[TrainJobEvent, ...]:
    """Return who decides about the job from now on, and what others say of it; if that is news."""
    recorded = state.recorded
    if state.deleted_at is not None:
        return ()
    since, why = (recorded.since, recorded.why) if recorded is not None else (None, "")
    changed = control_change(since, why, told.recorded, told.at)
    before = recorded.shown if recorded is not None else None
    if not told.recorded or told.status == (before or NO_STATUS):
        return changed
    return *changed, OthersTrainStatusObserved(at=told.at, status=told.status)
