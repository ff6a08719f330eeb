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


@dataclass(frozen=True, slots=True)
class Budget:
    """What is left of a job's budget at an instant."""

    per_hour: int
    left: float
    """Events; below nothing if a turn brought more than there was."""
    at: float
    """Monotonic seconds."""

    def now(self, at: float) -> "Budget":
        """Return what is left at a later instant."""
        half = self.per_hour / 2
        gained = max(0.0, at - self.at) * half / HOUR_SECONDS
        return Budget(self.per_hour, min(half, self.left + gained), max(self.at, at))

    def without(self, events: int) -> "Budget":
        """Return what is left after so many events."""
        return Budget(self.per_hour, self.left - events, self.at)

    @property
    def is_used_up(self) -> bool:
        """Return whether the job has to wait."""
        return self.left <= 0

    @property
    def is_whole(self) -> bool:
        """Return whether nothing of it is used."""
        return self.left >= self.per_hour / 2


def whole_budget(per_hour: int, at: float) -> Budget:
    """Return the budget of a job that has had no events for long."""
    return Budget(per_hour, per_hour / 2, at)


def budget_after(per_hour: int, at: float, ages: Iterable[float]) -> Budget:
    """Return what the events of a job's whole stream have left of its budget.

    `ages` are the seconds since each was written down, the oldest first. One that seems to lie
    ahead, because a clock was set back, counts as written now.
    """
    half = left = per_hour / 2
    before = -math.inf
    for age in ages:
        written = max(before, min(at, at - age))
        left = min(half, left + (written - before) * half / HOUR_SECONDS) - 1
        before = written
    return Budget(per_hour, left, before).now(at)
