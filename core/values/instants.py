"""Parses and formats instants (UTC) as Kubernetes, Ray, Go and HTTP write them.

The core never asks for the time; every instant comes with an observation.
"""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TypeAlias

Instant: TypeAlias = datetime
"""An aware datetime in UTC."""

LAST: Instant = datetime.max.replace(tzinfo=UTC)
"""The last instant that a date can hold, in the year 9999."""

EPOCH: Instant = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(instant: Instant) -> str:
    """Return the instant as Kubernetes writes it: UTC, whole seconds, `2026-11-21T03:00:00Z`."""
    whole = instant.astimezone(UTC).replace(microsecond=0, tzinfo=None)
    return f"{whole.isoformat()}Z"  # strftime leaves the zeros of early years out


def parse_rfc3339(text: str) -> Instant | None:
    """Return the instant that `text` names, or None if it names none.

    Kubernetes' and Go's forms are read.
    """
    try:
        parsed = datetime.fromisoformat(text)
        return parsed.astimezone(UTC) if parsed.tzinfo is not None else None
    except (ValueError, OverflowError):  # the latter: in UTC it is a year that no date can hold
        return None


def parse_http_date(text: str) -> Instant | None:
    """Return the instant that a date in a header of HTTP names, or None if it names none."""
    try:
        parsed = parsedate_to_datetime(text)
        return parsed.astimezone(UTC) if parsed.tzinfo is not None else None
    except (ValueError, OverflowError):  # the latter: a number that no date can hold
        return None


def from_milliseconds(milliseconds: int) -> Instant | None:
    """Return the instant of a Unix time in milliseconds, as Ray tells it.

    None for 0 and for what no date can hold.
    """
    if milliseconds <= 0:
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None


def go_time(instant: Instant) -> str:
    """Return the instant as Go's `%v` prints a metav1.Time: `2024-05-01 12:00:00 +0000 UTC`.

    Source: the texts of DeadlineExceeded and PreRunningDeadlineExceeded in KubeRay's
    rayjob_controller.go.
    """
    return instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")


def go_date_time(instant: Instant) -> str:
    """Return the instant in Go's layout `time.DateTime`: `2024-05-01 12:00:00`."""
    return instant.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def later(instant: Instant, pause: timedelta) -> Instant:
    """Return the instant so much later, or the last one there is: objects may name any date."""
    try:
        return instant + pause
    except OverflowError:
        return LAST
