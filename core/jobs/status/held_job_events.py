"""Kubernetes Events for a job that is held, for its release, and for one that cannot be shown."""

from typing import TypeAlias

from jobledger.core.jobs.events import LedgerBehindFound, RecoveredFromCluster, StatusWriteFailed
from jobledger.core.jobs.status.kubernetes_events import KubernetesEvent
from jobledger.core.values.instants import rfc3339

Holding: TypeAlias = LedgerBehindFound | RecoveredFromCluster | StatusWriteFailed


def holding_told(event: Holding) -> KubernetesEvent:
    """Return what users are told."""
    if isinstance(event, StatusWriteFailed):
        note = f"The status is not up to date since {rfc3339(event.since)}: {event.trouble}"
        return KubernetesEvent("Warning", "StatusNotWritten", "Update", note)
    if isinstance(event, RecoveredFromCluster):
        note = "Taken over as the cluster shows it; what the ledger had lost stays lost"
        return KubernetesEvent("Normal", "RecoveredFromCluster", "Recover", note)
    note = (
        "The ledger is older than the cluster, so nothing is done for this job: "
        f"{'; '.join(event.signs)}"
    )
    return KubernetesEvent("Warning", "LedgerBehind", "Hold", note)
