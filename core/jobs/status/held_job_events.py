"""Kubernetes Events for a job that is held, and for its release."""

from jobledger.core.jobs.events import LedgerBehindFound, RecoveredFromCluster
from jobledger.core.jobs.status.kubernetes_events import KubernetesEvent


def holding_told(event: LedgerBehindFound | RecoveredFromCluster) -> KubernetesEvent:
    """Return what users are told."""
    if isinstance(event, RecoveredFromCluster):
        note = "Taken over as the cluster shows it; what the ledger had lost stays lost"
        return KubernetesEvent("Normal", "RecoveredFromCluster", "Recover", note)
    note = (
        "The ledger is older than the cluster, so nothing is done for this job: "
        f"{'; '.join(event.signs)}"
    )
    return KubernetesEvent("Warning", "LedgerBehind", "Hold", note)
