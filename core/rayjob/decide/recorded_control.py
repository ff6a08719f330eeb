"""Starts and ends the control of a RayJob: by this controller, or by one that is recorded."""

from jobledger.core.jobs.control.control_change import control_change
from jobledger.core.jobs.events import ControlReleased
from jobledger.core.rayjob.decide.on_lost_history import behind_by_status, is_ahead
from jobledger.core.rayjob.events.lifecycle import OthersStatusObserved, RayJobEvent
from jobledger.core.rayjob.observations.observations import ManifestSeen, SeenStatus
from jobledger.core.rayjob.state import RayJobState, Recorded
from jobledger.core.rayjob.status.status import status
from jobledger.core.values.documents import text

NO_STATUS = SeenStatus(phase="")


def control_of(state: RayJobState, told: ManifestSeen) -> tuple[RayJobEvent, ...]:
    """Return who decides about the job from now on, and what others say of it; if that is news."""
    recorded = state.recorded
    if recorded is not None and recorded.behind:
        return _held(state, recorded, told)
    if behind := behind_by_status(state, told):
        return *behind, OthersStatusObserved(at=told.at, status=told.status)
    if state.deleted_at is not None or _is_no_news(state, told):
        return ()
    since, why = (recorded.since, recorded.why) if recorded is not None else (None, "")
    still = told.recorded if told.spec.is_ours else told.recorded or why
    changed = control_change(since, why, still, told.at)
    before = recorded.shown if recorded is not None else None
    is_lost = not still and told.status == NO_STATUS
    if is_lost or told.status == (before or NO_STATUS):
        return changed
    shown = OthersStatusObserved(at=told.at, status=told.status)
    # What the other did last is known before control is taken: the job goes on from there.
    return (*changed, shown) if still else (shown, *changed)


def _held(state: RayJobState, held: Recorded, told: ManifestSeen) -> tuple[RayJobEvent, ...]:
    """Return what a job shows that is held; it is let go if another controller is to have it.

    A status of our own that is not ahead of the log may be one from before: nothing follows from
    it.
    """
    is_old = told.written_here and not told.recorded and not is_ahead(state, told)
    is_news = told.status not in (held.shown, NO_STATUS) and not is_old
    shown = (OthersStatusObserved(at=told.at, status=told.status),) if is_news else ()
    if told.recorded:
        return ControlReleased(at=told.at, why=told.recorded), *shown
    return shown


def _is_no_news(state: RayJobState, told: ManifestSeen) -> bool:
    """Return whether the job stays under control and shows nothing that another has done."""
    if state.recorded is not None or not told.recorded:
        return state.recorded is None
    own, others = status(state), told.status
    return (
        told.in_between
        and others.phase == text(own, "jobDeploymentStatus")
        and others.cluster_name == text(own, "rayClusterName")
        and (others.succeeded, others.failed) == (state.succeeded, state.failed)
    )
