"""How far TrainJobs say that they are: asked of the ledger, and shown for people and machines."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from rich.text import Text

from jobledger.adapters.cli.output import console
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.catalogue import read_event
from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.forensics.story.progress_words import (
    Standing,
    last_report,
    standing,
    standing_in_words,
)
from jobledger.core.jobs.rows import JobRow
from jobledger.core.ports.cluster import TRAINJOBS
from jobledger.core.ports.history import History
from jobledger.core.trainjob.events import TrainerProgressReported
from jobledger.core.trainjob.phases import Phase
from jobledger.core.values.ids import StreamId

REPORTED = TrainerProgressReported.__name__


def standings(history: History, rows: Sequence[JobRow]) -> Mapping[StreamId, Standing]:
    """Return how far those of jobs are that have ever reported it."""
    trainjobs = {row.stream_id: row for row in rows if row.kind == TRAINJOBS.kind}
    if not trainjobs:
        return {}
    now, found = SystemClock().now(), {}
    for stream, stored in history.last_events(list(trainjobs), REPORTED).items():
        event = read_event(stored.record)
        assert isinstance(event, TrainerProgressReported)
        found[stream] = standing(event, now, running=_runs(trainjobs[stream]))
    return found


def shown(found: Standing | None) -> dict[str, object] | None:
    """Return how far a job is as a document for machines."""
    if found is None:
        return None
    return {
        "percentage": found.progress.percentage,
        "estimated_end": found.estimated_end,
        "metrics": [asdict(metric) for metric in found.progress.metrics],
        "reported_at": found.reported_at,
        "age_seconds": found.age_seconds,
        "silent": found.silent,
    }


def tell_standing(row: JobRow | None, events: Sequence[ReadEvent]) -> None:
    """Print how far a job that still runs is; nothing of another, or where it never reported."""
    report = last_report(events)
    if row is None or report is None or not _runs(row):
        return
    found = standing(report, SystemClock().now(), running=True)
    style = "yellow" if found.silent else "cyan"
    console.print(Text(f"training: {standing_in_words(found)}", style=style), soft_wrap=True)


def _runs(row: JobRow) -> bool:
    return row.phase == Phase.RUNNING and row.deleted_at is None
