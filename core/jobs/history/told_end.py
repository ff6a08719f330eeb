"""When an attempt ended that was found to be over: as what it ran as tells, not when it was seen.

While no controller runs, hours may lie between the two.
"""

from datetime import timedelta

from jobledger.core.values.instants import Instant

TOLD = ("succeeded", "failed")
"""Outcomes of which the terminal condition of what an attempt ran as tells the instant."""

_TOLD_IN = timedelta(seconds=1)
"""Conditions are dated in whole seconds: it ended up to so much later."""


def told_end(told: Instant | None, since: Instant, found: Instant) -> Instant:
    """Return when something ended that was at work at `since`, and was found over at `found`.

    `told` is what its condition tells, by another clock; None: it tells nothing. Nor does one that
    has it end before it was at work: that clock is wrong.
    """
    if told is None or told + _TOLD_IN < since:
        return found
    return min(found, told + _TOLD_IN)
