"""Words for the RayCluster that a retried attempt goes on with."""

from jobledger.core.rayjob.events.lifecycle import RetryGranted


def on_which_cluster(granted: RetryGranted) -> str:
    """Return it as the end of "retried"; empty where the job does not ask for the same."""
    if granted.new_cluster_because:
        return f" on a new RayCluster ({granted.new_cluster_because})"
    return " on the same RayCluster" if granted.keeps_cluster else ""
