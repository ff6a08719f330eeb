"""`jobledger history JOB`: everything that happened to a job, in order."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from adapters.cli.finding import find_job
from adapters.cli.options import (
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from adapters.cli.output import PHASE_STYLES, Output, console, show
from adapters.wiring import Ledger, ledger
from core.catalogue import read_event
from core.forensics.timeline import Line, timeline
from core.jobs.rows import JobRow

QUIET = frozenset(
    {"EffectRequested", "StatusPublished", "ObservationsConfirmed", "SubmitterObserved"}
)
"""Events that are left out of the table unless all are asked for."""


def history(
    job: Annotated[str, typer.Argument(help="Name, namespace/name or UID.")],
    namespace: NamespaceOption = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Also the events that only confirm or announce.")
    ] = False,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Show what happened to a job, attempt by attempt."""
    with ledger(settings_from(database_url, data_dir)) as opened:
        row = find_job(opened.history, job, namespace)
        lines = story(opened, row)
    if output is not Output.TABLE:
        show(output, [asdict(line) for line in lines], ())
        return
    print_story(row, [line for line in lines if everything or line.event not in QUIET])


def story(opened: Ledger, row: JobRow) -> list[Line]:
    """Return the timeline of a job."""
    stored = opened.store.read_stream(row.stream_id)
    return list(timeline((item.record.version, read_event(item.record)) for item in stored))


def print_story(row: JobRow, lines: list[Line]) -> None:
    """Print the timeline for people: seconds since the first event, attempts set apart."""
    title = Text(f"{row.namespace}/{row.name}  ", style="bold")
    title.append(row.phase or "New", style=PHASE_STYLES.get(row.phase, ""))
    title.append(f"  attempts {row.attempt}, failed {row.failed}, succeeded {row.succeeded}")
    console.print(title)
    begun = lines[0].at if lines else None
    attempt = 0
    for line in lines:
        if line.attempt != attempt:
            attempt = line.attempt
            console.print(Text(f"  attempt {attempt}", style="bold cyan"))
        seconds = (line.at - begun).total_seconds() if begun is not None else 0.0
        text = Text.assemble((f"  {seconds:9.3f} s  ", "dim"), f"{line.event:<22} ", line.words)
        console.print(text, soft_wrap=True)
