"""`jobledger report`: answers named questions from the ledger."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.padding import Padding
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from jobledger.adapters.cli.files.known_ledgers import tell_if_made
from jobledger.adapters.cli.options import DataDir, ReportsDatabaseUrl, settings_from
from jobledger.adapters.cli.output import console, errors
from jobledger.adapters.cli.reporting import asked, options
from jobledger.adapters.cli.reporting.options import ReportForm
from jobledger.adapters.cli.reporting.plot import plot, refuse_unknown_picture
from jobledger.adapters.cli.reporting.told import form_for, tell
from jobledger.adapters.ledger_wiring import reading
from jobledger.adapters.postgres.reports.asking.asking import ask
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.dimensions import BUCKETS
from jobledger.adapters.postgres.reports.asking.report import Answer, Question, Report
from jobledger.adapters.settings import Settings

TIME_LIMIT_SECONDS = 300
"""How long Postgres may work on one question."""


def report(
    name: options.Name = "",
    listed: options.Listed = False,
    described: options.Described = False,
    since: options.Since = "",
    until: options.Until = "",
    by: options.By = None,
    timezone: options.Timezone = "UTC",
    cluster: options.Cluster = "",
    namespace: options.Namespace = "",
    queue: options.Queue = "",
    user: options.User = "",
    image: options.Image = "",
    framework: options.Framework = "",
    kind: options.Kind = "",
    cause: options.Cause = "",
    within: options.Within = "",
    target: options.Target = None,
    longer_than: options.LongerThan = "",
    limit: options.Limit = None,
    output: options.FormOption = ReportForm.TABLE,
    to: options.To = None,
    charted: options.Charted = None,
    picture: options.Plotted = None,
    database_url: ReportsDatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Answer a question about many jobs; without NAME, list the reports there are.

    Periods are half-open: what happened at the first instant counts, what happened at the last does
    not. The ledger is only read, with the role jobledger_report where the user may take it on.
    """
    if listed or not name:
        _list_reports(output)
        return
    wanted = asked.report_named(name)
    if described:
        describe(wanted, output)
        return
    filters = {"cluster": cluster, "namespace": namespace, "queue": queue, "user": user}
    filters |= {"image": image, "framework": framework, "kind": kind, "cause": cause}
    limits = {"within": asked.lasting(within), "longer_than": asked.lasting(longer_than)}
    question = asked.question(
        wanted,
        asked.Words(
            since=since,
            until=until,
            by=by or (),
            timezone=timezone,
            filters=filters,
            thresholds={**limits, "target": target},
            limit=limit,
        ),
    )
    form = form_for(output, to)
    refuse_unknown_picture(picture)
    answer = _answer(settings_from(database_url, data_dir), wanted, question)
    tell(answer, form, to, charted=charted)
    if picture is not None:
        plot(answer, picture)


def _answer(settings: Settings, wanted: Report, question: Question) -> Answer:
    limit = TIME_LIMIT_SECONDS
    tell_if_made(settings)
    with reading(settings, time_limit_seconds=limit) as engine, waiting(wanted.name, limit):
        return ask(engine, wanted, question)


@contextmanager
def waiting(what: str, limit_seconds: int) -> Iterator[None]:
    """Show what is waited for, for how long already, and how long it may take at most."""
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        TextColumn(f"of at most {limit_seconds} s"),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    ) as progress:
        progress.add_task(f"asking for {what}", total=None)
        yield


def _list_reports(form: ReportForm) -> None:
    """Print every report with a sentence."""
    if form is not ReportForm.TABLE:
        rows = [{"name": item.name, "summary": item.summary} for item in REPORTS.values()]
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    made = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    made.add_column("REPORT", no_wrap=True)
    made.add_column("WHAT IT TELLS")
    for item in REPORTS.values():
        made.add_row(Text(item.name), Text(item.summary))
    console.print(made)
    console.print(Text("`jobledger report NAME --describe` says what each counts", style="dim"))


def describe(report: Report, form: ReportForm) -> None:
    """Print the rule, the columns with their units, and what the report can be grouped by."""
    if form is not ReportForm.TABLE:
        sys.stdout.write(json.dumps(described(report), indent=2, ensure_ascii=False) + "\n")
        return
    console.print(Text.assemble((report.name, "bold"), f": {report.summary}"))
    console.print(Padding(Text(report.rule), (1, 2)))
    made = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    for title in ("COLUMN", "UNIT", "MEANING"):
        made.add_column(title, no_wrap=title != "MEANING")
    for column in (*report.keys, *report.columns):
        made.add_row(Text(column.name), Text(column.unit.value), Text(column.meaning))
    console.print(made)
    if report.dimensions:
        told = ", ".join(_groupings(report))
        console.print(Text(f"\nby {told}; by default {', '.join(report.default_by)}"))


def _groupings(report: Report) -> tuple[str, ...]:
    """Return everything that `--by` takes."""
    return (*report.dimensions, *(BUCKETS if report.dated else ()))


def described(report: Report) -> dict[str, object]:
    """Return the same for machines."""
    return {
        "report": report.name,
        "summary": report.summary,
        "rule": report.rule,
        "columns": [
            {"name": column.name, "unit": column.unit.value, "meaning": column.meaning}
            for column in (*report.keys, *report.columns)
        ],
        "by": list(_groupings(report)),
        "default_by": list(report.default_by),
        "options": [
            {"name": f"--{item.name.replace('_', '-')}", "meaning": item.meaning}
            for item in report.thresholds
        ],
    }
