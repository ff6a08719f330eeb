"""Who decides about a RayJob: this controller, or another, whose doing is recorded."""

from core.jobs.control_change import control_change
from core.rayjob.events import OthersStatusObserved, RayJobEvent
from core.rayjob.observations import ManifestSeen, SeenStatus
from core.rayjob.state import RayJobState

NO_STATUS = SeenStatus(phase="")


def control_of(state: RayJobState, told: ManifestSeen) -> tuple[RayJobEvent, ...]:
    """Return who decides about the job from now on, and what others say of it; if that is news."""
    recorded = state.recorded
    if state.deleted_at is not None:
        return ()
    since, why = (recorded.since, recorded.why) if recorded is not None else (None, "")
    changed = control_change(since, why, told.recorded, told.at)
    before = recorded.shown if recorded is not None else None
    if not told.recorded or told.status == (before or NO_STATUS):
        return changed
    return *changed, OthersStatusObserved(at=told.at, status=told.status)
