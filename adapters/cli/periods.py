"""Instants and periods as people write them: 2026-11-21, 2026-11-21T03:00:00Z, 36h, 14d."""

import re
from datetime import UTC, datetime, timedelta

import typer

from adapters.telemetry.clock import SystemClock
from core.values.instants import Instant

_AGO = re.compile(r"(\d+)([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def instant(text: str) -> Instant:
    """Return the instant that a text names: a date, a time (UTC unless it says), or so long ago.

    Raises:
        typer.BadParameter: it names none.
    """
    ago = _AGO.fullmatch(text)
    try:
        if ago is not None:
            return SystemClock().now() - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        parsed = datetime.fromisoformat(text)
    except (ValueError, OverflowError) as error:
        known = "2026-11-21, 2026-11-21T03:00:00Z, 36h or 14d"
        message = f"{text!r} is no instant; write it as {known}"
        raise typer.BadParameter(message) from error
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
