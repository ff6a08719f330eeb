"""How far TrainJobs say that they are: asked of the ledger, and as a document for machines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobledger.core.catalogue import read_event
from jobledger.core.jobs.rows import JobRow
from jobledger.core.ports.cluster import TRAINJOBS
from jobledger.core.ports.history import History
from jobledger.core.trainjob.events import TrainerProgressReported
from jobledger.core.trainjob.history.progress_words import Standing, standing
from jobledger.core.trainjob.phases import Phase
from jobledger.core.trainjob.progress import Metric
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

REPORTED = TrainerProgressReported.__name__


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownProgress:
    """How far a TrainJob is by the last report of its Pods that is in the log."""

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


def standings(
    history: History, rows: Sequence[JobRow], now: Instant
) -> Mapping[StreamId, Standing]:
    """Return how far those of jobs are that have ever reported it."""
    trainjobs = {row.stream_id: row for row in rows if row.kind == TRAINJOBS.kind}
    if not trainjobs:
        return {}
    found = {}
    for stream, stored in history.last_events(list(trainjobs), REPORTED).items():
        event = read_event(stored.record)
        assert isinstance(event, TrainerProgressReported)
        found[stream] = standing(event, now, running=is_running(trainjobs[stream]))
    return found


def shown(found: Standing | None) -> ShownProgress | None:
    """Return how far a job is as a document for machines; None where it never reported."""
    if found is None:
        return None
    return ShownProgress(
        percentage=found.progress.percentage,
        estimated_end=found.estimated_end,
        metrics=found.progress.metrics,
        reported_at=found.reported_at,
        age_seconds=found.age_seconds,
        silent=found.silent,
    )


def is_running(row: JobRow) -> bool:
    """Return whether reports of a TrainJob may still come."""
    return row.phase == Phase.RUNNING and row.deleted_at is None
