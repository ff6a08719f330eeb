"""Who decides about a TrainJob: this controller, or another, whose doing is recorded."""

from core.jobs.events import ControlReleased, ControlTaken
from core.trainjob.events import OthersTrainStatusObserved, TrainJobEvent
from core.trainjob.observations import SeenTrainStatus, TrainJobSeen
from core.trainjob.state import TrainJobState

NO_STATUS = SeenTrainStatus()


def control_of(state: TrainJobState, told: TrainJobSeen) -> tuple[TrainJobEvent, ...]:
    """Return who decides about the job from now on, and what others say of it; if that is news.

    That it is recorded for another reason than before is none.
    """
    recorded = state.recorded
    if state.deleted_at is not None:
        return ()
    if not told.recorded:
        if recorded is None:
            return ()
        taken = ControlTaken(
            at=told.at, recorded_since=recorded.since, recorded_because=recorded.why
        )
        return (taken,)
    news: list[TrainJobEvent] = []
    if recorded is None:
        news.append(ControlReleased(at=told.at, why=told.recorded))
    before = recorded.shown if recorded is not None else None
    if told.status != (before or NO_STATUS):
        news.append(OthersTrainStatusObserved(at=told.at, status=told.status))
    return tuple(news)
