"""When an attempt ended that was found to be over: as what it ran as tells, not when it was seen.

A condition of its JobSet or Job tells that, or Ray's account of its Ray job. While no controller
runs, hours may lie between the two.
"""

from datetime import timedelta

from jobledger.core.values.instants import Instant

TOLD = ("succeeded", "stopped", "failed")
"""Outcomes of which what an attempt ran as tells the instant."""


def in_whole_seconds(told: Instant) -> Instant:
    """Return when something ended at the latest that a condition dates: in whole seconds."""
    return told + timedelta(seconds=1)


def told_end(told: Instant | None, since: Instant, found: Instant) -> Instant:
    """Return when something ended that was at work at `since`, and was found over at `found`.

    `told` is when it ended at the latest, by another clock; None: nothing tells. Nor does one that
    has it end before it was at work: that clock is wrong.
    """
    return found if told is None or told < since else min(found, told)
