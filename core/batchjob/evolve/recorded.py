"""Applies events of a Job that is only recorded, or held."""

from msgspec.structs import replace

from jobledger.core.batchjob.observations import SeenBatchStatus
from jobledger.core.batchjob.state import BatchJobState, BatchRecorded
from jobledger.core.jobs.control.lost_history import why_held
from jobledger.core.jobs.events import ControlReleased, LedgerBehindFound


def control_released(state: BatchJobState, event: ControlReleased) -> BatchJobState:
    """Return the state of a job that is only recorded from now on; what was refused is over."""
    before = state.recorded
    recorded = BatchRecorded(
        since=before.since if before is not None else event.at,
        why=event.why,
        shown=before.shown if before is not None else None,
    )
    return replace(state, recorded=recorded, refused=(), repeated=(), late_jobs=())


def ledger_behind_found(state: BatchJobState, event: LedgerBehindFound) -> BatchJobState:
    """Return the state of a job that is held: nothing is done until what is missing is known."""
    held = BatchRecorded(since=event.at, why=why_held(event.signs), behind=True)
    return replace(state, recorded=held, refused=(), late_jobs=())


def status_observed(state: BatchJobState, status: SeenBatchStatus) -> BatchJobState:
    """Return the state that knows what the status has shown, and does not fall behind it.

    A start that was shown is the start for good: the API server takes no other.
    """
    since = status.suspended_since
    state = replace(
        state,
        started_at=status.started_at or state.started_at,
        suspended=True if since is not None else state.suspended,
        suspension_changed_at=since or state.suspension_changed_at,
        pods_failed_min=max(state.pods_failed_min, status.pods.failed),
        pods_succeeded=max(state.pods_succeeded, status.pods.succeeded),
    )
    if state.recorded is None:
        return state
    return replace(state, recorded=replace(state.recorded, shown=status))
