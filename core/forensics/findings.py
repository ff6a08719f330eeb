"""The findings of `jobledger doctor`: what is wrong, how bad it is, and what to do."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Generic, TypeVar

World = TypeVar("World")
"""What a check looks at."""


class Severity(IntEnum):
    """How bad a finding is; the greatest decides the exit code."""

    OK = 0
    """The check found nothing."""
    NOTE = 1
    """Worth knowing; nothing has to be done."""
    WARNING = 2
    """It works, and will not for ever: somebody should do something in time."""
    ERROR = 3
    """An invariant does not hold, or the service cannot work like this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a check found."""

    check: str
    """Name of the check."""
    severity: Severity
    what: str
    """What was found, and where."""
    remedy: str
    """What to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Generic[World]):
    """One check: a name, what it asks, and the asking."""

    name: str
    """Two or three words joined by hyphens; part of the output that scripts may rely on."""
    asks: str
    """The question, for people."""
    run: Callable[[World], Iterable[Finding]]
    """Returns what is not as it should be. Reads only."""


def error(check: str, what: str, remedy: str) -> Finding:
    """Return a finding of a broken invariant."""
    return Finding(check=check, severity=Severity.ERROR, what=what, remedy=remedy)


def warning(check: str, what: str, remedy: str) -> Finding:
    """Return a finding of something that needs somebody in time."""
    return Finding(check=check, severity=Severity.WARNING, what=what, remedy=remedy)


def note(check: str, what: str, remedy: str) -> Finding:
    """Return a finding of something worth knowing."""
    return Finding(check=check, severity=Severity.NOTE, what=what, remedy=remedy)


def worst(findings: Iterable[Finding]) -> Severity:
    """Return the greatest severity; OK if there are no findings."""
    return max((finding.severity for finding in findings), default=Severity.OK)
