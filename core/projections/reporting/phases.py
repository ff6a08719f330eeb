"""Reporting facts of phases: half-open intervals without gaps."""

from collections.abc import Sequence
from itertools import takewhile

from msgspec.structs import replace

from jobledger.core.projections.reporting.facts import PhaseFact, seconds_between
from jobledger.core.values.instants import Instant

NEW = "New"
"""How the state before the first is called, which has no name of its own."""


def enter(
    stays: tuple[PhaseFact, ...], phase: str, attempt: int, at: Instant
) -> tuple[PhaseFact, ...]:
    """Return the stays after the job is in `phase` at `at`; the same if it was already.

    A stay that is left in the instant it was entered was none: the one before it leads on.
    """
    if not stays:
        return (_begun(1, attempt, phase, at),)
    last = stays[-1]
    if last.phase == phase or last.left_at is not None:
        return stays
    at = max(at, last.entered_at)
    if at > last.entered_at:
        closed = replace(last, left_at=at, next_phase=phase)
        return *stays[:-1], closed, _begun(last.number + 1, attempt, phase, at)
    before = stays[:-1]
    if before:
        before = *before[:-1], replace(before[-1], next_phase=phase)
    return *before, _begun(last.number, attempt, phase, at)


def leave(stays: tuple[PhaseFact, ...], at: Instant) -> tuple[PhaseFact, ...]:
    """Return the stays after the job's object is gone."""
    if not stays or stays[-1].left_at is not None:
        return stays
    last = stays[-1]
    return *stays[:-1], replace(last, left_at=max(at, last.entered_at))


def time_in(
    stays: Sequence[PhaseFact],
    phases: frozenset[str],
    since: Instant | None = None,
    until: Instant | None = None,
) -> float:
    """Return the seconds of the stays in these phases that are over, within [since, until)."""
    if since is not None:  # those before it, maybe thousands, are not looked at
        begin = since
        later = takewhile(lambda one: one.left_at is None or one.left_at > begin, reversed(stays))
        stays = tuple(later)
    return sum(
        seconds_between(
            stay.entered_at if since is None else max(stay.entered_at, since),
            stay.left_at if until is None else min(stay.left_at, until),
        )
        for stay in stays
        if stay.phase in phases and stay.left_at is not None
    )


def _begun(number: int, attempt: int, phase: str, at: Instant) -> PhaseFact:
    return PhaseFact(
        number=number, attempt=attempt, phase=phase, next_phase="", entered_at=at, left_at=None
    )
