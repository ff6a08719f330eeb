"""Words for the progress that the Pods of a TrainJob have reported.

The log takes a report a minute at most (`core.trainjob.progress`), so what is told here may be a
minute behind the Pods.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from jobledger.core.trainjob.events import TrainerProgressReported
from jobledger.core.trainjob.progress import DONE, TrainerProgress, in_words
from jobledger.core.values.instants import Instant, later, rfc3339

SILENT_AFTER = timedelta(minutes=5)
"""A running job whose last report is older is shown as silent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a job has said that it is, looked at from a later instant."""

    progress: TrainerProgress
    reported_at: Instant
    """When the last report that is in the log was seen."""
    age_seconds: int
    """How long ago that was."""
    estimated_end: Instant | None
    """By what the Pods said of the time left; None: they did not say."""
    silent: bool
    """Whether the job runs, is not done, and has not reported for `SILENT_AFTER`."""


def standing(report: TrainerProgressReported, now: Instant, *, running: bool) -> Standing:
    """Return how a job stands at `now` by its last report; `running`: reports may still come."""
    age = max(now - report.at, timedelta())
    left = report.progress.remaining_seconds
    is_done = report.progress.percentage == DONE
    return Standing(
        progress=report.progress,
        reported_at=report.at,
        age_seconds=int(age.total_seconds()),
        estimated_end=None if left is None else later(report.at, timedelta(seconds=left)),
        silent=running and not is_done and age > SILENT_AFTER,
    )


def standing_in_words(found: Standing) -> str:
    """Return a line: what was reported, when it is to end, and how long ago that was said."""
    end = f", estimated end {rfc3339(found.estimated_end)}" if found.estimated_end else ""
    ago = _span(found.age_seconds)
    heard = f"silent: no report for {ago}" if found.silent else f"last report {ago} ago"
    return f"{in_words(found.progress)}{end}; {heard}"


def standing_in_short(found: Standing) -> str:
    """Return a cell of a table: the percentage, and whether the job is silent."""
    known = found.progress.percentage
    said = f"{known} %" if known is not None else "reports"
    return f"{said}, silent {_span(found.age_seconds)}" if found.silent else said


def last_report(events: Sequence[object]) -> TrainerProgressReported | None:
    """Return the last report of a job's history; None without one."""
    reports = (event for event in reversed(events) if isinstance(event, TrainerProgressReported))
    return next(reports, None)


def progress_told(events: Sequence[tuple[int, object]]) -> Iterator[tuple[str, int]]:
    """Yield the last report, as a sentence with the version of its event; nothing without one."""
    for version, event in reversed(events):
        if isinstance(event, TrainerProgressReported):
            said = in_words(event.progress)
            yield f"Training last reported at {rfc3339(event.at)}: {said}.", version
            return


_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def _span(seconds: int) -> str:
    for length, unit in _UNITS:
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
