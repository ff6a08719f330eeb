"""Parses instants and periods as people write them: 2026-11-21T03:00:00Z, 36h, 14d."""

import re
from datetime import UTC, datetime, timedelta, tzinfo

import typer

from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.values.instants import Instant

DURATION_MAX = timedelta(days=36_500)
"""A hundred years: what is longer is a slip of the hand, and more than Postgres can add."""

_DURATION = re.compile(r"(\d+)([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def instant(text: str, zone: tzinfo = UTC) -> Instant:
    """Return the instant that a text names: a date, a time, or so long ago.

    A time that does not say where it was is one of `zone`.

    Raises:
        typer.BadParameter: it names none.
    """
    try:
        ago = _duration(text)
        if ago is not None:
            return SystemClock().now() - ago
        parsed = datetime.fromisoformat(text)
        return (parsed.replace(tzinfo=zone) if parsed.tzinfo is None else parsed).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        known = "2026-11-21, 2026-11-21T03:00:00Z, 36h or 14d"
        raise typer.BadParameter(f"{text!r} is no instant; write it as {known}") from error


def bounds(since: str, until: str) -> tuple[Instant | None, Instant | None]:
    """Return the ends of a half-open period, None where it has none.

    Raises:
        typer.BadParameter: one of them names no instant, or the period has no length.
    """
    first, last = instant(since) if since else None, instant(until) if until else None
    if first is not None and last is not None and first >= last:
        raise typer.BadParameter(f"--since {since} is not before --until {until}")
    return first, last


def duration(text: str) -> timedelta:
    """Return the duration that a text names: 90s, 10m, 36h, 14d, 2w.

    Raises:
        typer.BadParameter: it names none.
    """
    try:
        found = _duration(text)
    except (ValueError, OverflowError):
        found = DURATION_MAX + timedelta.resolution
    if found is not None and found > DURATION_MAX:
        raise typer.BadParameter(f"{text[:40]!r} is too long; at most {DURATION_MAX.days}d")
    if found is None:
        raise typer.BadParameter(f"{text!r} is no duration; write it as 90s, 10m, 36h or 14d")
    return found


def _duration(text: str) -> timedelta | None:
    found = _DURATION.fullmatch(text)
    return None if found is None else timedelta(**{_UNITS[found[2]]: int(found[1])})
