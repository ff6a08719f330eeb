"""Starts and ends the control of a RayJob: by this controller, or by one that is recorded."""

from jobledger.core.jobs.control.control_change import control_and_status, control_change, held
from jobledger.core.rayjob.decide.on_lost_history import behind_by_status, is_ahead
from jobledger.core.rayjob.events.lifecycle import OthersStatusObserved, RayJobEvent
from jobledger.core.rayjob.observations.observations import ManifestSeen, SeenStatus
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.rayjob.status.status import status
from jobledger.core.values.documents import text

NO_STATUS = SeenStatus(phase="")


def control_of(state: RayJobState, told: ManifestSeen) -> tuple[RayJobEvent, ...]:
    """Return who decides about the job from now on, and what others say of it; if that is news."""
    recorded = state.recorded
    shown = OthersStatusObserved(at=told.at, status=told.status)
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
