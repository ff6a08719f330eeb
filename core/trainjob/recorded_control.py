"""Who decides about a TrainJob: this controller, or another, whose doing is recorded."""

from core.jobs.control_change import control_change
from core.trainjob.events import OthersTrainStatusObserved, TrainJobEvent
from core.trainjob.observations import SeenTrainStatus, TrainJobSeen
from core.trainjob.state import TrainJobState

NO_STATUS = SeenTrainStatus()


def control_of(state: TrainJobState, told: TrainJobSeen) -> tuple[TrainJobEvent, ...]:
    """Return who decides about the job from now on, and what others say of it; if that is news."""
    recorded = state.recorded
    if state.deleted_at is not None or _is_no_news(state, told):
        return ()
    since, why = (recorded.since, recorded.why) if recorded is not None else (None, "")
    still = told.recorded if told.spec.is_ours else told.recorded or why
    changed = control_change(since, why, still, told.at)
    before = recorded.shown if recorded is not None else None
    is_lost = not still and told.status == NO_STATUS
    if is_lost or told.status == (before or NO_STATUS):
        return changed
    shown = OthersTrainStatusObserved(at=told.at, status=told.status)
    # What the other did last is known before control is taken: the job goes on from there.
    return (*changed, shown) if still else (shown, *changed)


def _is_no_news(state: TrainJobState, told: TrainJobSeen) -> bool:
    """Return whether the job stays under control and shows nothing that another has done."""
    if state.recorded is not None or not told.recorded:
        return state.recorded is None
    own, others = (
        {(item.type, item.is_true, item.reason) for item in conditions}
        for conditions in (state.conditions, told.status.conditions)
    )
    return told.in_between and own == others
