"""What a Kubernetes Event about a job says, whatever the kind of job."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class KubernetesEvent:
    """What a Kubernetes Event about a job says."""

    type: Literal["Normal", "Warning"]
    reason: str
    action: str
    note: str
