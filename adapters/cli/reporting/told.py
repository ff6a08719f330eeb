"""Chooses where an answer goes and in which format: terminal, standard output, file."""

import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.output import console, errors, fail, uncut
from jobledger.adapters.cli.reporting.machine_forms import as_csv, as_json, as_parquet
from jobledger.adapters.cli.reporting.options import ReportForm
from jobledger.adapters.cli.reporting.quantities import quantity
from jobledger.adapters.cli.reporting.table import bars, fitted
from jobledger.adapters.files.written_once import in_place_of
from jobledger.adapters.postgres.reports.asking.buckets import lacks_gaps
from jobledger.adapters.postgres.reports.asking.report import Answer, Unit
from jobledger.core.values.counted import counted


def tell(answer: Answer, form: ReportForm, to: Path | None, *, charted: bool | None) -> None:
    """Put the answer where it belongs; end with a message if a file cannot be written."""
    if form is ReportForm.TABLE:
        if not console.encoding.lower().startswith("utf") and hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="replace")
        show(answer, uncut(), charted=console.is_terminal if charted is None else charted)
        return
    content = _content(answer, form)
    if to is not None:
        try:
            with in_place_of(to) as fresh:
                fresh.write_bytes(content)
        except OSError as error:
            fail(f"{to} cannot be written: {error.strerror}", ExitCode.MISCONFIGURED)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    for note in _notes(answer):
        errors.print(Text(note, style="yellow"), soft_wrap=True)


def form_for(form: ReportForm, to: Path | None) -> ReportForm:
    """Return the form of the answer: what was said, else what the name of the file says.

    Ends with a message if the answer would be unreadable where it goes: before anything is asked.
    """
    if form is ReportForm.TABLE and to is not None:
        suffix = to.suffix.removeprefix(".").lower()
        if suffix not in {item.value for item in ReportForm} - {ReportForm.TABLE.value}:
            fail(f"{to}: say --output csv, json or parquet", ExitCode.USAGE)
        return ReportForm(suffix)
    if form is ReportForm.PARQUET and to is None and sys.stdout.isatty():
        fail("Parquet is not for a terminal; say --to FILE, or redirect it", ExitCode.USAGE)
    return form


def _content(answer: Answer, form: ReportForm) -> bytes:
    if form is ReportForm.PARQUET:
        return as_parquet(answer)
    return (as_json if form is ReportForm.JSON else as_csv)(answer).encode()


def show(answer: Answer, console: Console, *, charted: bool) -> None:
    """Print the answer for people: what was asked, the table, what to know of it, the chart."""
    console.print(Text(_head(answer), style="dim"), soft_wrap=True)
    if answer.rows:
        shown = fitted(answer, console.width)
        console.print(shown.table)
        if shown.left_out:
            names = ", ".join(column.name for column in shown.left_out)
            console.print(Text(f"left out for want of room: {names}", style="dim"), soft_wrap=True)
    for note in _notes(answer):
        console.print(Text(note, style="yellow"), soft_wrap=True)
    lines = list(bars(answer, console.width, console.encoding)) if charted else []
    if lines:
        console.print()
    for line in lines:
        console.print(line, soft_wrap=True)


def _head(answer: Answer) -> str:
    asked, zone = answer.question, answer.question.zone
    times = [f"{at.astimezone(zone):%Y-%m-%d %H:%M}" for at in (asked.since, asked.until)]
    told = f"{answer.report.name}: from {times[0]} to before {times[1]} {zone}"
    if answer.report.snapshot:
        told = f"{answer.report.name}: at {times[1]} {zone}, peers since {times[0]}"
    narrowed = [f"{name} {value}" for name, value in asked.filters.items()]
    return ", ".join([told, *narrowed, *_limits(answer)])


def _limits(answer: Answer) -> Iterator[str]:
    for item in answer.report.thresholds:
        value = answer.question.thresholds.get(item.name)
        name = item.name.replace("_", " ")
        if isinstance(value, float):
            yield f"{name} {quantity(value, Unit.SHARE)}"
        elif value is not None:
            yield f"{name} {quantity(value.total_seconds(), Unit.SECONDS)}"


def _notes(answer: Answer) -> Iterator[str]:
    """Yield what has to be known to read the answer right."""
    if not answer.events:
        yield "the ledger is empty: no job has been seen yet"
    elif answer.events_behind >= answer.events:
        yield (
            f"none of the {answer.events:,} events of the log is in the reports yet; "
            "`jobledger run` brings them there"
        )
    elif not answer.rows or (answer.total is not None and not _has_counts(answer)):
        yield "nothing of that kind in this period"
    if answer.more:
        yield f"only the first {counted(answer.question.limit, 'row')}; --limit shows more"
    if answer.events and lacks_gaps(answer.report, answer.question):
        asked = answer.question
        yield (
            f"there are more than {asked.limit:,} {asked.by[0]}s in this period: those without "
            "anything are left out; a higher --limit shows them"
        )
    if answer.stale_since is not None:
        at = answer.stale_since.astimezone(answer.question.zone)
        yield (
            f"a standby was asked that has taken over nothing since {at:%Y-%m-%d %H:%M:%S}: "
            "whatever its primary has committed since is not in it"
        )
    if 0 < answer.events_behind < answer.events:
        behind = counted(answer.events_behind, "event", grouped=True)
        are = "is" if answer.events_behind == 1 else "are"
        yield f"the latest {behind} of the log {are} not in it yet"


def _has_counts(answer: Answer) -> bool:
    total = answer.total or {}
    return any(total.get(column.name) for column in answer.report.columns)
