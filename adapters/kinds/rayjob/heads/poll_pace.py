"""The pace of polls of a head: quick at first, in a minute never more than upstream's (every 3 s).

A job without a submitter ends with nobody to tell. Where its log can be followed, the end of the
log is the hint, and questions are rare. Where not, the first questions come quickly, for jobs that
take seconds, and the others are spread so that a minute has seen no more of them than upstream's.
"""

from dataclasses import dataclass

EARLY = (0.3, 0.6, 1.2, 2.4)
"""Pauses after the first questions, in seconds; never longer than the interval."""

EVENED_OUT_INTERVALS = 20
"""Over so many intervals the early questions are made up for (a minute)."""

MEANWHILE = 1.25
"""Pause until then, in intervals."""

FOLLOWED = 5.0
"""Pause while the job's log is followed, in intervals: the hint may fail, so it is asked still."""

AFTER_HINT = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Pauses after a hint, in seconds: the log may end a moment before the head says so."""


@dataclass(slots=True)
class Pace:
    """The pace of the questions about one job."""

    is_hinted: bool = False
    """Whether nothing but Ray tells of its end."""
    since: float = 0.0
    """Monotonic time of the first question."""
    asked: int = 0
    after_hint: int = 0
    """Quick questions that are left after a hint."""

    def hint(self) -> None:
        """Take note that the job may have ended."""
        self.after_hint = len(AFTER_HINT)

    def pause(self, now: float, interval: float, *, is_followed: bool) -> float:
        """Return the pause after a question, in seconds."""
        if self.asked == 0:
            self.since = now
        self.asked += 1
        if not self.is_hinted:
            return interval
        if self.after_hint > 0:
            self.after_hint -= 1
            return min(AFTER_HINT[-1 - self.after_hint], interval)
        if is_followed:
            return FOLLOWED * interval
        if self.asked <= len(EARLY):
            return min(EARLY[self.asked - 1], interval)
        is_young = now - self.since < EVENED_OUT_INTERVALS * interval
        return (MEANWHILE if is_young else 1.0) * interval
