"""Delays in seconds as manifests give them, bounded to what can be added to an instant."""

from jobledger.core.values.documents import Json, number

SECONDS_MAX = 2**31 - 1
"""A longer delay is this one: 68 years. CRDs have no maximum, dates have."""


def delay_seconds(document: Json, *path: str) -> int:
    """Return so many seconds; 0 for what is absent, negative or no whole number."""
    return min(max(number(document, *path) or 0, 0), SECONDS_MAX)
