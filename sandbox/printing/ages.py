"""How long ago, in the words of kubectl: `5s`, `3m20s`, `4h`, `2d3h`.

Source: k8s.io/apimachinery pkg/util/duration/duration.go (v0.36), HumanDuration.
"""

from datetime import UTC, datetime
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

_WORDS: Final = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)
"""Below how many seconds; big unit and its letter; small unit (0: none) and its letter."""


def duration(seconds: float) -> str:
    """Return a span of time in at most two units."""
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole >= -1 else "<invalid>"
    for limit, big, big_letter, small, small_letter in _WORDS:
        if whole < limit:
            text = f"{whole // big}{big_letter}"
            rest = whole % big // small if small else 0
            return f"{text}{rest}{small_letter}" if rest else text
    return f"{whole // _YEAR}y"


def age(instant: object) -> str:
    """Return how long ago an RFC 3339 instant was; `<unknown>` if there is none."""
    if not isinstance(instant, str) or not instant:
        return "<unknown>"
    try:
        then = datetime.fromisoformat(instant)
    except ValueError:
        return "<invalid>"
    return duration((datetime.now(UTC) - then).total_seconds())


def between(start: object, end: object) -> str:
    """Return the time between two instants; up to now if there is no end; empty without a start."""
    if not isinstance(start, str):
        return ""
    if not isinstance(end, str):
        return age(start)
    span = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return duration(span.total_seconds())
