"""Starts and ends the control of a TrainJob: by this controller, or by one that is recorded."""

from jobledger.core.jobs.control.control_change import control_and_status, control_change, held
from jobledger.core.trainjob.decide.on_lost_history import behind_by_status, is_ahead
from jobledger.core.trainjob.events import OthersTrainStatusObserved, TrainJobEvent
from jobledger.core.trainjob.observations import SeenTrainStatus, TrainJobSeen
from jobledger.core.trainjob.state import TrainJobState

NO_STATUS = SeenTrainStatus()


def control_of(state: TrainJobState, told: TrainJobSeen) -> tuple[TrainJobEvent, ...]:
    """Return who decides about the job from now on, and what others say of it; if that is news."""
    recorded = state.recorded
    shown = OthersTrainStatusObserved(at=told.at, status=told.status)
    if recorded is not None and recorded.behind:
        is_old = told.written_here and not is_ahead(state, told)
        is_news = told.status not in (recorded.shown, NO_STATUS)
        return held(shown, told.recorded, is_news=is_news, is_old=is_old)
    if behind := behind_by_status(state, told):
        return *behind, shown
    if state.deleted_at is not None or _is_no_news(state, told):
        return ()
    since, why = (recorded.since, recorded.why) if recorded is not None else (None, "")
    still = told.recorded if told.spec.is_ours else told.recorded or why
    changed = control_change(since, why, still, told.at)
    before = recorded.shown if recorded is not None else None
    is_lost = not still and told.status == NO_STATUS
    is_news = not is_lost and told.status != (before or NO_STATUS)
    return control_and_status(changed, shown, still, is_news=is_news)


def _is_no_news(state: TrainJobState, told: TrainJobSeen) -> bool:
    """Return whether the job stays under control and shows nothing that another has done."""
    if state.recorded is not None or not told.recorded:
        return state.recorded is None
    own, others = (
        {(item.type, item.is_true, item.reason) for item in conditions}
        for conditions in (state.conditions, told.status.conditions)
    )
    return told.in_between and own == others
