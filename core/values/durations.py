"""Parses durations as users write them: whole seconds, or Go's notation (`1h30m`)."""

import re

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
