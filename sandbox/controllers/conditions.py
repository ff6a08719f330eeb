"""Conditions as metav1.Condition: the time of a transition changes only with the status."""

from collections.abc import Sequence

from jobledger.core.values.documents import Json, Manifest, items, text
from jobledger.core.values.instants import Instant, rfc3339


def condition_is_true(document: Manifest, kind: str) -> bool:
    """Tell whether the status of `document` has the condition as True."""
    return any(
        text(entry, "type") == kind and text(entry, "status") == "True"
        for entry in items(document, "status", "conditions")
    )


def condition(
    kind: str, *, is_true: bool, reason: str, message: str, known: Sequence[Json], at: Instant
) -> dict[str, Json]:
    """Return the condition; its transition time is that of `known` where the status is the same."""
    value = "True" if is_true else "False"
    since = ""
    for entry in known:
        if text(entry, "type") == kind and text(entry, "status") == value:
            since = text(entry, "lastTransitionTime")
    return {
        "type": kind,
        "status": value,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since or rfc3339(at),
    }
