"""The budget of events per job and hour. A job beyond it is slowed, never stopped.

Half of it may be used at once, the other half comes back over the hour. A job that has used more
than there is waits until it is made good; so in any hour it has no more events than the budget, and
those of the one turn that used it up. What was used is in the log: whoever reads a job from there,
after a restart or after another replica, reads what is left of its budget with it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

HOUR_SECONDS = 3600.0

EDITS_AT_ONCE, EDITS_PER_MINUTE = 4 * 2**20, 2**20
"""So many bytes of a job's edits are looked through for secrets at once, and then per minute: eight
of the largest objects, then one in half a minute. The largest takes half a second to look through.
"""


@dataclass(frozen=True, slots=True)
class Budget:
    """What is left of a job's budget at an instant."""

    at_once: float
    """Events, or bytes, that may be used at once."""
    per_second: float
    """What comes back of it."""
    left: float
    """Below nothing if a turn brought more than there was."""
    at: float
    """Monotonic seconds."""

    def now(self, at: float) -> "Budget":
        """Return what is left at a later instant."""
        gained = max(0.0, at - self.at) * self.per_second
        left = min(self.at_once, self.left + gained)
        return Budget(self.at_once, self.per_second, left, max(self.at, at))

    def without(self, used: int) -> "Budget":
        """Return what is left after so many events, or bytes."""
        return Budget(self.at_once, self.per_second, self.left - used, self.at)

    @property
    def is_used_up(self) -> bool:
        """Return whether the job has to wait."""
        return self.left <= 0

    @property
    def is_whole(self) -> bool:
        """Return whether nothing of it is used."""
        return self.left >= self.at_once


def whole_budget(per_hour: int, at: float) -> Budget:
    """Return the budget of a job that has had no events for long."""
    half = per_hour / 2
    return Budget(half, half / HOUR_SECONDS, half, at)


def whole_budget_of_edits(at: float) -> Budget:
    """Return the budget of bytes to look through of a job that was not edited for long."""
    return Budget(EDITS_AT_ONCE, EDITS_PER_MINUTE / 60, EDITS_AT_ONCE, at)


def budget_after(
    per_hour: int, at: float, ages: Iterable[float], known: tuple[float, float] | None = None
) -> Budget:
    """Return what the events of a job's whole stream have left of its budget.

    `ages` are the seconds since each was written down, the oldest first. One that seems to lie
    ahead, because a clock was set back, counts as written now. `known` is what those before them
    had used up, and how many seconds ago that was so.
    """
    half = per_hour / 2
    spent, age = known or (0.0, math.inf)
    left, before = half - spent, min(at, at - age)
    for age in ages:
        written = max(before, min(at, at - age))
        left = min(half, left + (written - before) * half / HOUR_SECONDS) - 1
        before = written
    return Budget(half, half / HOUR_SECONDS, left, before).now(at)
