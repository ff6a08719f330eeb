"""What the events of a RayJob say of its retries, had it asked for the same RayCluster."""

from jobledger.core.jobs.history.attempt_facts import ClusterVerdict
from jobledger.core.rayjob.events import lifecycle as rayjob
from jobledger.core.rayjob.rules.same_cluster import (
    had_it_asked,
    why_new_if_asked,
    why_unfit_by_manifest,
)
from jobledger.core.rayjob.state import RayJobState


def cluster_verdict(state: RayJobState, event: rayjob.RayJobEvent) -> ClusterVerdict | None:
    """Return what an event that follows on `state` says of the RayCluster of the last attempt.

    The rule is asked where it is asked of a job that does want the same: as an attempt fails, and
    as far as the job itself is concerned once more as the next one begins.
    """
    attempt = state.attempt
    if attempt is None:
        return None
    if isinstance(event, rayjob.AttemptFailed):
        return ClusterVerdict(attempt.number, why_new_if_asked(state, event.reason))
    if isinstance(event, rayjob.ClusterGivenUp):
        return ClusterVerdict(attempt.number, event.cause)
    if isinstance(event, rayjob.AttemptStarted):
        why = why_unfit_by_manifest(had_it_asked(state))
        return ClusterVerdict(attempt.number, why) if why else None
    return None
