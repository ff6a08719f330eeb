"""`jobledger history JOB`: prints the timeline of a job, or its state at an instant."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Annotated

import typer
from rich.text import Text

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.dossiers import (
    IN_THE_LEDGER,
    JobArgument,
    dossier,
    from_ledger,
    is_file,
    ledger_to_read,
)
from jobledger.adapters.cli.finding import called, called_so
from jobledger.adapters.cli.jobs.standing import suggest_explain, tell_standing
from jobledger.adapters.cli.options import (
    ClusterOption,
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import (
    Output,
    errors,
    fail,
    print_json_lines,
    show,
    show_document,
)
from jobledger.adapters.cli.periods import instant
from jobledger.adapters.cli.story.attempt_table import show_attempts
from jobledger.adapters.cli.story.moments import tell_moment
from jobledger.adapters.cli.story.story_lines import Printed, line_limit, print_lines, print_story
from jobledger.adapters.ledger_wiring import Ledger
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.catalogue import read_event
from jobledger.core.forensics.bundles.dossier import Dossier
from jobledger.core.forensics.story.explain import causes
from jobledger.core.forensics.story.moment import Moment, at_instant, at_version, version_in
from jobledger.core.forensics.story.timeline import QUIET, Line, timeline
from jobledger.core.jobs.rows import JobRow
from jobledger.core.log.envelope import EventRecord, StoredEvent
from jobledger.core.projections.view import View, advance

FOLLOW_SECONDS = 1.0
"""Pause between two looks for new events."""


def history(
    job: JobArgument,
    namespace: NamespaceOption = "",
    cluster: ClusterOption = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Also the events that only confirm or announce.")
    ] = False,
    at: Annotated[
        str,
        typer.Option(
            help="How the job stood at a VERSION or a TIME: what was true, what was known."
        ),
    ] = "",
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            "-f",
            help="Go on with what happens, until it ends; as JSON one document a line for each "
            "event.",
        ),
    ] = False,
    attempts: Annotated[
        bool, typer.Option("--table", help="One line for each attempt instead of each event.")
    ] = False,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Show what happened to a job, attempt by attempt, or how it stood at an instant."""
    settings = settings_from(database_url, data_dir)
    if follow:
        if is_file(job) or at or attempts or output is Output.YAML:
            fail(
                "--follow is of a job of the ledger: leave out --at, --table and --output yaml",
                ExitCode.USAGE,
            )
        with ledger_to_read(settings) as opened:
            found = from_ledger(opened, job, namespace, cluster)
            _follow(opened, found, output, everything=everything)
        return
    with dossier(settings, job, namespace, cluster) as found:
        if at:
            _show_moment(_moment(found, at), output)
            return
        events = found.read()
        _, rows = advance(View(), (read.event for read in events))
        if attempts:
            show_attempts(output, rows.attempts, causes(found))
            return
        limit = line_limit() if output is Output.TABLE else None
        lines = list(timeline(((read.version, read.event) for read in events), limit))
    if output is not Output.TABLE:
        show(output, _documents(lines, found.events), ())
        return
    print_story(rows.job, _shown(lines, everything=everything))
    tell_standing(rows.job, events)
    named_so = job if is_file(job) else called_so(found.identity, job, cluster)
    suggest_explain([rows.job], lambda _: named_so)


def _documents(lines: Sequence[Line], events: Sequence[StoredEvent]) -> list[dict[str, object]]:
    """Return the lines for programs, each with what is told of its event."""
    told = zip(lines, (item.record for item in events), strict=True)
    return [{**asdict(line), **_envelope(record)} for line, record in told]


def _envelope(record: EventRecord) -> dict[str, object]:
    """Return what a program may ask of an event beside its line: who wrote what down, and when."""
    return {"recorded_at": record.recorded_at, "actor": record.actor, "data": record.data}


def story(opened: Ledger, row: JobRow) -> list[Line]:
    """Return the timeline of a job."""
    stored = opened.store.read_stream(row.stream_id)
    read = ((item.record.version, read_event(item.record)) for item in stored)
    return list(timeline(read, line_limit()))


def _shown(lines: Iterable[Line], *, everything: bool) -> list[Line]:
    return [line for line in lines if everything or line.event not in QUIET]


def _moment(found: Dossier, at: str) -> Moment:
    events = found.read()
    version = version_in(at)
    if version is None:
        when = instant(at)
        if when > SystemClock().now():
            fail(f"{at} is in the future; without --at it is told up to now", ExitCode.USAGE)
        return at_instant(events, when)
    try:
        return at_version(events, version)
    except IndexError as error:
        fail(str(error), ExitCode.NOT_FOUND)


def _show_moment(moment: Moment, output: Output) -> None:
    if output is Output.TABLE:
        tell_moment(moment)
    else:
        show_document(output, asdict(moment))


def _follow(opened: Ledger, found: Dossier, output: Output, *, everything: bool) -> None:
    """Print what happened and what happens, until nothing is left to do or somebody interrupts."""
    stream = found.events[0].record.stream_id if found.events else None
    if stream is None:
        return
    view, printed, events = View(), Printed(), found.events
    limit = line_limit() if output is Output.TABLE else None
    try:
        while True:
            if events:
                read = [(item.record.version, read_event(item.record)) for item in events]
                attempt = view.job.attempt if view.job is not None else 0
                lines = [
                    line if line.attempt else replace(line, attempt=attempt)
                    for line in timeline(read, limit)
                ]
                if output is Output.TABLE:
                    print_lines(_shown(lines, everything=everything), printed)
                else:
                    print_json_lines(_documents(lines, events))
                view, _ = advance(view, (event for _, event in read))
            is_copy = found.origin != IN_THE_LEDGER
            if is_copy:
                told = f"{found.origin} from another ledger: nothing more comes here"
                errors.print(Text(told), soft_wrap=True)
            if view.job is None or not view.job.open or is_copy:
                suggest_explain([view.job], partial(called, opened.history))
                return
            time.sleep(FOLLOW_SECONDS)
            events = tuple(opened.store.read_stream(stream, view.version))
    except KeyboardInterrupt:
        return
