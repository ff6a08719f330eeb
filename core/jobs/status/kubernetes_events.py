"""The text of a Kubernetes Event about a job, whatever its kind."""

from dataclasses import dataclass, replace
from typing import Literal

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
