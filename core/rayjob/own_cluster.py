"""Whether the RayCluster that a job knows is its own, to be deleted with it."""

from jobledger.core.rayjob.state import RayJobState, selected, selects_cluster


def owns_cluster(state: RayJobState) -> bool:
    """Return whether the RayCluster that is known is the job's own, to be deleted with it.

    One that the last attempt had selected stays somebody else's though the attempt is over and the
    manifest was edited; so does one that the manifest selects by now.
    """
    cluster, attempt = state.cluster, state.attempt
    if cluster is None or selects_cluster(state) or cluster.name == selected(state):
        return False
    return attempt is None or not attempt.selected or attempt.cluster_name != cluster.name
