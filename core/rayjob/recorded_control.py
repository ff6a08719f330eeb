"""Who decides about a RayJob: this controller, or another, whose doing is recorded."""

from core.jobs.events import ControlReleased, ControlTaken
from core.rayjob.events import OthersStatusObserved, RayJobEvent
from core.rayjob.observations import ManifestSeen, SeenStatus
from core.rayjob.state import RayJobState

NO_STATUS = SeenStatus(phase="")


def control_of(state: RayJobState, told: ManifestSeen) -> tuple[RayJobEvent, ...]:
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
    news: list[RayJobEvent] = []
    if recorded is None:
        news.append(ControlReleased(at=told.at, why=told.recorded))
    before = recorded.shown if recorded is not None else None
    if told.status != (before or NO_STATUS):
        news.append(OthersStatusObserved(at=told.at, status=told.status))
    return tuple(news)
