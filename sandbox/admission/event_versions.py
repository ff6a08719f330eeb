"""How one stored KubernetesEvent looks in core/v1 and in events.k8s.io/v1.

Source: k8s.io/kubernetes pkg/apis/events/v1/conversion.go: two names for the same fields.
"""

from jobledger.sandbox.model.documents import Document

_RENAMED = {
    "note": "message",
    "regarding": "involvedObject",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
"""events.k8s.io/v1 name -> core/v1 name; every other field has one name in both."""

_BACK = {core: new for new, core in _RENAMED.items()}


def to_core(event: Document) -> Document:
    """Return an events.k8s.io/v1 Event as core/v1 stores it."""
    return {_RENAMED.get(key, key): value for key, value in event.items()}


def from_core(event: Document) -> Document:
    """Return a stored Event as events.k8s.io/v1 shows it."""
    return {_BACK.get(key, key): value for key, value in event.items()}
