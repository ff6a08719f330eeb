"""`jobledger rebuild`: fold the log anew, and compare the tables with it or replace their rows."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import Progress, track

from adapters.cli.exit_codes import ExitCode
from adapters.cli.options import DatabaseUrl, DataDir, OutputOption, settings_from
from adapters.cli.output import Output, console, errors, marked, show
from adapters.ledger_wiring import Ledger, ledger, report_rules
from adapters.postgres.report_rebuild import check_reports, rebuild_reports
from adapters.rebuilding import compare, replace
from adapters.settings import Settings
from core.projections.differences import Difference

COLUMNS = ("table", "key", "column", "found", "expected")


def rebuild(
    check: Annotated[bool, typer.Option("--check", help="Only compare; change nothing.")] = False,
    reports: Annotated[
        bool,
        typer.Option("--reports", help="The tables behind the reporting views, instead of those."),
    ] = False,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Compute job, attempt, decision and effect anew from the log, while the service runs."""
    settings = settings_from(database_url, data_dir)
    found: Sequence[Difference]
    with ledger(settings) as opened:
        if reports:
            jobs, found = _of_reports(settings, opened, check=check)
        else:
            streams = opened.history.streams()
            steps = track(streams, description="fold", console=errors, transient=True)
            work = compare if check else replace
            found = list(_all(work(opened, stream) for stream in steps))
            jobs = len(streams)
    if output is not Output.TABLE:
        show(output, [asdict(item) for item in found], ())
    elif not found:
        done = "equal the fold of the log" if check else "are the fold of the log again"
        told = f" {jobs} jobs: all rows and columns {done}"
        console.print(marked("rebuilt", "green", told))
    else:
        show(output, [asdict(item) for item in found], COLUMNS)
    if found and check:
        raise typer.Exit(ExitCode.FOUND_WRONG)


def _of_reports(settings: Settings, opened: Ledger, *, check: bool) -> tuple[int, list[Difference]]:
    """Compare or replace the reporting tables; return of how many jobs, and what was different."""
    rules, jobs = report_rules(settings), 0
    with Progress(console=errors, transient=True) as progress:
        task = progress.add_task("fold")

        def told(done: int, total: int) -> None:
            nonlocal jobs
            jobs = done
            progress.update(task, completed=done, total=total)

        if check:
            found = list(check_reports(opened.engine, rules, told))
        else:
            found = []
            jobs = rebuild_reports(opened.engine, rules, told, os.cpu_count() or 1)
    return jobs, found


def _all(parts: Iterator[list[Difference]]) -> Iterator[Difference]:
    for part in parts:
        yield from part
