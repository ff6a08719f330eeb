"""`jobledger rebuild`: fold the log anew, and compare the tables with it or replace their rows."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer
from rich.progress import track

from adapters.cli.exit_codes import ExitCode
from adapters.cli.options import DatabaseUrl, DataDir, OutputOption, settings_from
from adapters.cli.output import Output, console, errors, marked, show
from adapters.ledger_wiring import ledger
from adapters.rebuilding import Difference, compare, replace

COLUMNS = ("table", "key", "column", "found", "expected")


def rebuild(
    check: Annotated[bool, typer.Option("--check", help="Only compare; change nothing.")] = False,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Compute job, attempt, decision and effect anew from the log, while the service runs."""
    with ledger(settings_from(database_url, data_dir)) as opened:
        streams = opened.history.streams()
        steps = track(streams, description="fold", console=errors, transient=True)
        work = compare if check else replace
        found = list(_all(work(opened, stream) for stream in steps))
    if output is not Output.TABLE:
        show(output, [asdict(item) for item in found], ())
    elif not found:
        done = "equal the fold of the log" if check else "are the fold of the log again"
        told = f" {len(streams)} jobs: all rows and columns {done}"
        console.print(marked("rebuilt", "green", told))
    else:
        show(output, [asdict(item) for item in found], COLUMNS)
    if found and check:
        raise typer.Exit(ExitCode.FOUND_WRONG)


def _all(parts: Iterator[list[Difference]]) -> Iterator[Difference]:
    for part in parts:
        yield from part
