"""The deadline of a RayJob, and the work that is left after its end."""

from jobledger.core.jobs.control.dormancy import is_leaving
from jobledger.core.jobs.retries.job_deadline import due_at
from jobledger.core.rayjob.own_cluster import owns_cluster
from jobledger.core.rayjob.state import (
    RayJobState,
    is_final,
)
from jobledger.core.values.instants import Instant


def job_deadline(state: RayJobState) -> Instant | None:
    """Return when the deadline over all attempts passes; None: there is none."""
    seconds = state.manifest.options.job_deadline_seconds if state.manifest is not None else None
    if seconds is None or state.deadline_from is None:
        return None
    return due_at(state.deadline_from, seconds)


def gives_up(state: RayJobState) -> bool:
    """Return whether the job has ended between two attempts.

    What was to go for the next one goes all the same.
    """
    attempt = state.attempt
    begun = attempt is not None and attempt.retry_at is not None and not attempt.cleared
    return is_final(state) and begun


def is_open(state: RayJobState) -> bool:
    """Return whether anything is left to do or to wait for."""
    if state.deleted_at is not None or state.manifest is None:
        return False
    # What was refused waits for a decision, or is asked for again, or is not called for any more.
    unfinished = bool(state.effects or state.decisions or state.orphans or state.orphan_submitter)
    shutdown = state.shutdown_due or "DeleteCluster" in state.deletions_due
    going = ((shutdown or gives_up(state)) and owns_cluster(state)) or state.job_delete_asked
    going = going or (gives_up(state) and state.submitter is not None)
    return not is_final(state) or unfinished or going or is_leaving(state)
