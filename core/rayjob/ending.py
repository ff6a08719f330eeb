"""The deadline of a RayJob, and the work that is left after its end."""

from jobledger.core.jobs.control.dormancy import is_leaving
from jobledger.core.jobs.retries.job_deadline import due_at
from jobledger.core.rayjob.deletion import IMPACT, due_policy
from jobledger.core.rayjob.own_cluster import owns_cluster
from jobledger.core.rayjob.spec.spec import DeletionPolicy
from jobledger.core.rayjob.state import RayJobState, gives_up, is_final
from jobledger.core.values.instants import Instant


def job_deadline(state: RayJobState) -> Instant | None:
    """Return when the deadline over all attempts passes; None: there is none."""
    seconds = state.manifest.options.job_deadline_seconds if state.manifest is not None else None
    if seconds is None or state.deadline_from is None:
        return None
    return due_at(state.deadline_from, seconds)


def is_open(state: RayJobState) -> bool:
    """Return whether anything is left to do or to wait for."""
    if state.deleted_at is not None or state.manifest is None:
        return state.returned and state.effects != ()
    # What was refused waits for a decision, or is asked for again, or is not called for any more.
    unfinished = state.effects or state.decisions or state.orphans or state.orphan_submitter
    if unfinished or state.job_delete_asked or not is_final(state) or is_leaving(state):
        return True
    if gives_up(state) and state.submitter is not None:
        return True
    begun = state.cluster is not None and state.cluster.delete_asked
    to_go = begun or gives_up(state) or IMPACT[due_policy(state)] >= IMPACT[DeletionPolicy.CLUSTER]
    return to_go and owns_cluster(state)
