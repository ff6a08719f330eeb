"""Starts and ends the control of a TrainJob: by this controller, or by one that is recorded."""

from jobledger.core.jobs.control.control_change import control_change
from jobledger.core.jobs.events import ControlReleased
from jobledger.core.trainjob.decide.on_lost_history import behind_by_status, is_ahead
from jobledger.core.trainjob.events import OthersTrainStatusObserved, TrainJobEvent
from jobledger.core.trainjob.observations import SeenTrainStatus, TrainJobSeen
from jobledger.core.trainjob.state import TrainJobState, TrainRecorded

NO_STATUS = SeenTrainStatus()


def control_of(state: TrainJobState, told: TrainJobSeen) -> tuple[TrainJobEvent, ...]:
    """Return who decides about the job from now on, and what others say of it; if that is news."""
    recorded = state.recorded
    if recorded is not None and recorded.behind:
        return _held(state, recorded, told)
    if behind := behind_by_status(state, told):
        return *behind, OthersTrainStatusObserved(at=told.at, status=told.status)
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


def _held(
    state: TrainJobState, held: TrainRecorded, told: TrainJobSeen
) -> tuple[TrainJobEvent, ...]:
    """Return what a job shows that is held; it is let go if another controller is to have it.

    A status of our own that is not ahead of the log may be one from before: nothing follows from
    it.
    """
    is_old = told.written_here and not told.recorded and not is_ahead(state, told)
    is_news = told.status not in (held.shown, NO_STATUS) and not is_old
    shown = (OthersTrainStatusObserved(at=told.at, status=told.status),) if is_news else ()
    if told.recorded:
        return ControlReleased(at=told.at, why=told.recorded), *shown
    return shown


def _is_no_news(state: TrainJobState, told: TrainJobSeen) -> bool:
    """Return whether the job stays under control and shows nothing that another has done."""
    if state.recorded is not None or not told.recorded:
        return state.recorded is None
    own, others = (
        {(item.type, item.is_true, item.reason) for item in conditions}
        for conditions in (state.conditions, told.status.conditions)
    )
    return told.in_between and own == others
