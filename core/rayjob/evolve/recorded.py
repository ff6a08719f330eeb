"""Applies events of a RayJob that another controller drives."""

from msgspec.structs import replace

from jobledger.core.jobs.control.lost_history import why_held
from jobledger.core.jobs.events import (
    ControlReleased,
    ControlTaken,
    LedgerBehindFound,
    RecoveredFromCluster,
)
from jobledger.core.jobs.gone import remember_gone
from jobledger.core.rayjob.observations.observations import SeenStatus
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.state import Attempt, RayJobState, Recorded, standing

CLUSTERS_LEFT_MAX = 4
"""So many RayClusters of attempts that are over are waited for; others' go one after another."""


def control_released(state: RayJobState, event: ControlReleased) -> RayJobState:
    """Return the state of a job that is only recorded from now on; what was refused is over."""
    known = state.recorded or Recorded(since=event.at, why=event.why)
    return replace(
        state,
        recorded=replace(known, why=event.why, behind=False, submitter_ahead=0),
        refused=(),
        repeated=(),
        orphans=(),
        orphan_submitter=None,
    )


def ledger_behind_found(state: RayJobState, event: LedgerBehindFound) -> RayJobState:
    """Return the state of a job that is held: nothing is done until what is missing is known."""
    ahead = event.attempt if event.kind == "Job" else 0
    held = Recorded(since=event.at, why=why_held(event.signs), behind=True, submitter_ahead=ahead)
    return replace(state, recorded=held, refused=(), orphans=(), orphan_submitter=None)


def control_taken(state: RayJobState, event: ControlTaken | RecoveredFromCluster) -> RayJobState:
    """Return the state of a job that is controlled from now on, as the other left it.

    What Ray has said shows that the entrypoint was handed in; a retry that the other had begun is
    carried on at once. Losses that a job which goes on has survived are no reason to end it: the
    other made anew what was lost. What is lost still, the next look or poll tells again; of a
    RayCluster that was seen to go nobody would.
    """
    attempt, submitter, entrypoint = state.attempt, state.submitter, state.entrypoint
    if attempt is not None:
        attempt = replace(
            attempt,
            submitted=attempt.submitted or state.entrypoint.status.value != "",
            retry_at=event.at if state.phase is Phase.RETRYING else attempt.retry_at,
            keeps_cluster=False,
        )
    if attempt is not None and standing(state) in {Phase.WAITING, Phase.RUNNING}:
        attempt = _recovered(attempt, is_cluster_known=state.cluster is not None)
        entrypoint = replace(entrypoint.heard(), missed=False)
        if submitter is not None and submitter.outcome == "Vanished":
            submitter = None
    return replace(
        state, recorded=None, attempt=attempt, submitter=submitter, entrypoint=entrypoint
    )


def _recovered(attempt: Attempt, *, is_cluster_known: bool) -> Attempt:
    lost = attempt.cluster_lost and not is_cluster_known
    return replace(attempt, cluster_lost=lost, head_lost=False, head_taken="", head_restarted="")


def with_cluster_left(state: RayJobState) -> RayJobState:
    """Return the state that still waits for the RayCluster of an attempt that is over to go.

    Another controller has shown the end of the attempt; that its RayCluster went, which is told by
    another watch, may be heard later.
    """
    known, recorded = state.cluster, state.recorded
    if recorded is None or known is None or not known.uid:
        return state
    left = (*recorded.left, known)[-CLUSTERS_LEFT_MAX:]
    return replace(state, recorded=replace(recorded, left=left))


def without_cluster_left(state: RayJobState, uid: str) -> RayJobState | None:
    """Return the state without the RayCluster of an attempt that is over; None: it is no such."""
    recorded = state.recorded
    if recorded is None or not any(one.uid == uid for one in recorded.left):
        return None
    left = tuple(one for one in recorded.left if one.uid != uid)
    return remember_gone(replace(state, recorded=replace(recorded, left=left)), uid)


def others_status_observed(state: RayJobState, status: SeenStatus) -> RayJobState:
    """Return the state that knows what the other controller has written last."""
    if state.recorded is None:
        return state
    return replace(state, recorded=replace(state.recorded, shown=status))
