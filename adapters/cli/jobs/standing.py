"""How far a TrainJob says that it is, as a line for people."""

from collections.abc import Sequence

from rich.text import Text

from jobledger.adapters.cli.output import console
from jobledger.adapters.serving.standings import is_running
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.jobs.rows import JobRow
from jobledger.core.trainjob.history.progress_words import (
    last_report,
    standing,
    standing_in_words,
)


def tell_standing(row: JobRow | None, events: Sequence[ReadEvent]) -> None:
    """Print how far a job that still runs is; nothing of another, or where it never reported."""
    report = last_report([read.event for read in events])
    if row is None or report is None or not is_running(row):
        return
    found = standing(report, SystemClock().now(), running=True)
    style = "yellow" if found.silent else "cyan"
    console.print(Text(f"training: {standing_in_words(found)}", style=style), soft_wrap=True)
