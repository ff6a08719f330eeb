"""Durations: parsed as users write them (`30`, `1h30m`), and told for people."""

import re

from jobledger.core.values.documents import Json, number

_WRITTEN = re.compile(r"(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?", re.ASCII)
_SECONDS = re.compile(r"[0-9]{1,9}", re.ASCII)


def duration_seconds(written: str) -> int | None:
    """Return the seconds that `30`, `30s`, `5m` or `1h30m` say; None for any other text.

    Source: Go's time.ParseDuration, of which fractions, signs and parts of a second are left out.
    """
    if _SECONDS.fullmatch(written):
        return int(written)
    found = _WRITTEN.fullmatch(written)
    if found is None or not written:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds


_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def span(seconds: float) -> str:
    """Return a duration for people, in the unit in which it is easily read."""
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.1f} min"
    return f"{seconds / _HOUR:.1f} h" if seconds < 2 * _DAY else f"{seconds / _DAY:.1f} days"


SECONDS_MAX = 2**31 - 1
"""A longer delay is this one: 68 years. CRDs have no maximum, dates have."""


def delay_seconds(document: Json, *path: str) -> int:
    """Return so many seconds; 0 for what is absent, negative or no whole number."""
    return min(max(number(document, *path) or 0, 0), SECONDS_MAX)
