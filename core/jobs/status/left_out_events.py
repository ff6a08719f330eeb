"""The Kubernetes Event that tells users which annotations of their job were ignored."""

from jobledger.core.jobs.events import AnnotationsRejected
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.status.kubernetes_events import KubernetesEvent


def left_out_told(identity: JobIdentity, event: AnnotationsRejected) -> KubernetesEvent:
    """Return what users are told."""
    note = f"{identity.namespace}/{identity.name}: {'; '.join(event.problems)}"
    return KubernetesEvent("Warning", "InvalidAnnotation", "Validate", note)
