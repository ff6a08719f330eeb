"""The progress that the Pods of a TrainJob have reported, as it is shown and told."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from jobledger.core.jobs.history.progress import SILENT_AFTER, ProgressReports, ShownProgress
from jobledger.core.trainjob.events import TrainerProgressReported
from jobledger.core.trainjob.phases import Phase
from jobledger.core.trainjob.progress import DONE, in_words
from jobledger.core.values.instants import Instant, later, rfc3339


def _shown(report: object, now: Instant) -> ShownProgress:
    assert isinstance(report, TrainerProgressReported), "it is the event of a report"
    age = max(now - report.at, timedelta())
    said = report.progress
    left = said.remaining_seconds
    return ShownProgress(
        percentage=said.percentage,
        estimated_end=None if left is None else later(report.at, timedelta(seconds=left)),
        metrics=said.metrics,
        reported_at=report.at,
        age_seconds=int(age.total_seconds()),
        silent=said.percentage != DONE and age > SILENT_AFTER,
    )


def _said(report: object) -> str:
    assert isinstance(report, TrainerProgressReported), "it is the event of a report"
    return in_words(report.progress)


TRAINJOB_PROGRESS = ProgressReports(
    event_type="TrainerProgressReported", running=Phase.RUNNING, shown=_shown, words=_said
)


def progress_told(events: Sequence[tuple[int, object]]) -> Iterator[tuple[str, int]]:
    """Yield the last report, as a sentence with the version of its event; nothing without one."""
    for version, event in reversed(events):
        if isinstance(event, TrainerProgressReported):
            yield f"Training last reported at {rfc3339(event.at)}: {_said(event)}.", version
            return
