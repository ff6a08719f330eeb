"""The text of a Kubernetes Event about a job, whatever its kind."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class KubernetesEvent:
    """What a Kubernetes Event about a job says."""

    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str
