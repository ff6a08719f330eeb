"""Kubernetes Events about a job of any kind: their form, and those that every kind has."""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from jobledger.core.jobs.events import (
    AnnotationsRejected,
    LedgerBehindFound,
    RecoveredFromCluster,
    StatusWriteFailed,
)
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.values.instants import rfc3339
from jobledger.core.values.visible_text import one_line

NOTE_MAX_BYTES = 1024
"""Longer notes are refused by the API server."""


@dataclass(frozen=True, slots=True)
class KubernetesEvent:
    """What a Kubernetes Event about a job says."""

    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str


def sendable(told: KubernetesEvent) -> KubernetesEvent:
    """Return what the API server takes, with a note of one line that no terminal obeys."""
    shown = one_line(told.note).encode()
    return replace(told, note=shown[:NOTE_MAX_BYTES].decode(errors="ignore"))


def left_out_told(identity: JobIdentity, event: AnnotationsRejected) -> KubernetesEvent:
    """Return what users are told of annotations that were ignored."""
    note = f"{identity.namespace}/{identity.name}: {'; '.join(event.problems)}"
    return KubernetesEvent("Warning", "InvalidAnnotation", "Validate", note)


Holding: TypeAlias = LedgerBehindFound | RecoveredFromCluster | StatusWriteFailed


def holding_told(event: Holding) -> KubernetesEvent:
    """Return what users are told of a job that is held or released, or cannot be shown."""
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
