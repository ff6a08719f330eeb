"""The progress that the Pods of a job have reported, for kinds of job that have such reports.

The log takes at most one report a minute, so what is shown may be a minute old.
"""

from collections.abc import Callable
from datetime import timedelta

from msgspec import Struct
from msgspec.structs import replace

from jobledger.core.jobs.rows import JobRow
from jobledger.core.values.instants import Instant, rfc3339

SILENT_AFTER = timedelta(minutes=5)
"""A running job whose last report is older is shown as silent."""


class Metric(Struct, frozen=True, kw_only=True):
    """A number that training code reports under a name of its own; upstream has it as text."""

    name: str
    value: str


class ShownProgress(Struct, frozen=True, kw_only=True):
    """How far a job is by the last report of its Pods that is in the log."""

    percentage: int | None
    """0 to 100; null: the Pods did not say."""
    estimated_end: Instant | None
    """By what the Pods said of the time left; null: they did not say."""
    metrics: tuple[Metric, ...]
    """As the Pods named them; the value is text, as upstream has it."""
    reported_at: Instant
    """When the report was seen."""
    age_seconds: int
    """How long ago that was."""
    silent: bool
    """Whether the job runs, is not done, and has not reported for five minutes."""


class ProgressReports(Struct, frozen=True, kw_only=True):
    """How the reports of a kind are found in the log and read."""

    event_type: str
    """Stored name of the event that records a report."""
    running: str
    """Phase of a job whose reports may still come."""
    shown: Callable[[object, Instant], ShownProgress]
    """How a job that runs stands at an instant by the event of a report."""
    words: Callable[[object], str]
    """What the event of a report says, in a line."""

    def may_come(self, row: JobRow) -> bool:
        """Return whether reports of a job may still come."""
        return row.phase == self.running and row.deleted_at is None

    def standing(self, row: JobRow, report: object, now: Instant) -> ShownProgress:
        """Return how a job stands at an instant by the event of its last report."""
        found = self.shown(report, now)
        return found if self.may_come(row) else replace(found, silent=False)


def progress_in_words(said: str, found: ShownProgress) -> str:
    """Return a line: what was reported, when it is to end, and how long ago that was said."""
    end = f", estimated end {rfc3339(found.estimated_end)}" if found.estimated_end else ""
    ago = _span(found.age_seconds)
    heard = f"silent: no report for {ago}" if found.silent else f"last report {ago} ago"
    return f"{said}{end}; {heard}"


def progress_in_short(found: ShownProgress) -> str:
    """Return a cell of a table: the percentage, and whether the job is silent."""
    said = f"{found.percentage} %" if found.percentage is not None else "reports"
    return f"{said}, silent {_span(found.age_seconds)}" if found.silent else said


_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def _span(seconds: int) -> str:
    for length, unit in _UNITS:
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
