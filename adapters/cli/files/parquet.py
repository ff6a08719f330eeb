"""`jobledger parquet --to DIR`: writes reporting views and events as Parquet, month by month."""

import csv
import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.parquet_files import write
from jobledger.adapters.cli.options import DataDir, OutputOption, ReportsDatabaseUrl, settings_from
from jobledger.adapters.cli.output import Output, fail, show
from jobledger.adapters.cli.periods import instant
from jobledger.adapters.forensics.archive_files import SUFFIX, bundles
from jobledger.adapters.ledger_wiring import reading
from jobledger.adapters.postgres.reports.by_month import (
    DELIMITER,
    EVENTS,
    QUOTE,
    TABLES,
    batches,
    in_batches,
    month_after,
    months,
    snapshot,
)
from jobledger.core.log.chain import canonical
from jobledger.core.log.envelope import StoredEvent

COLUMNS = ("file", "rows")
ARCHIVED = "archived_events"
"""Folder of the events that have left the log with archives."""


def parquet(
    to: Annotated[Path, typer.Option(help="Directory of the files.")],
    table: Annotated[
        list[str] | None,
        typer.Option("--table", help=f"Only this one of {', '.join(TABLES)}; may be repeated."),
    ] = None,
    since: Annotated[
        str, typer.Option(help="From the month of this instant on: 60d, 2026-01-01.")
    ] = "",
    until: Annotated[str, typer.Option(help="Before the month of this instant.")] = "",
    archives: Annotated[
        Path | None,
        typer.Option(help="Directory of archives, whose events are written as well."),
    ] = None,
    output: OutputOption = Output.TABLE,
    database_url: ReportsDatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Write reporting views and events as Parquet files, one for each month of jobs.

    A month that is written again replaces its file. Spark, Trino and DuckDB read them.
    """
    if unknown := [name for name in table or () if name not in TABLES]:
        fail(f"there is no table {unknown[0]!r}: {', '.join(TABLES)}", ExitCode.USAGE)
    begins = instant(since) if since else None
    ends = instant(until) if until else None
    made = []
    settings = settings_from(database_url, data_dir)
    try:
        with reading(settings, time_limit_seconds=0) as engine, snapshot(engine) as connection:
            wanted = [
                month
                for month in months(connection)
                if (begins is None or month_after(month) > begins)
                and (ends is None or month_after(month) <= ends)
            ]
            for name in table or TABLES:
                one = TABLES[name]
                for month in wanted:
                    place = Path(name) / f"month={month:%Y-%m}" / "part-0.parquet"
                    with closing(batches(connection, one, month)) as rows:
                        made.append((place, write(to / place, one.columns, one.meanings, rows)))
        for file in sorted(archives.glob(f"*{SUFFIX}")) if archives is not None else ():
            place = Path(ARCHIVED) / f"{file.name.removesuffix(SUFFIX)}.parquet"
            made.append((place, write(to / place, EVENTS.columns, {}, in_batches(_archived(file)))))
    except OSError as error:
        fail(f"{error.filename or to} cannot be written: {error.strerror}", ExitCode.MISCONFIGURED)
    show(output, [{"file": str(place), "rows": rows} for place, rows in made if rows], COLUMNS)


def _archived(file: Path) -> Iterator[bytes]:
    """Yield the events of an archive file as lines of CSV."""
    for bundle in bundles(file):
        for stored in bundle.events:
            line = io.StringIO()
            writer = csv.writer(
                line,
                delimiter=DELIMITER,
                quotechar=QUOTE,
                quoting=csv.QUOTE_ALL,  # an event has nothing that is null
                lineterminator="\n",
            )
            writer.writerow(_row(stored))
            yield line.getvalue().encode()


def _row(stored: StoredEvent) -> Iterator[object]:
    record = stored.record
    for name in EVENTS.columns:
        if name == "position":
            yield stored.position
        elif name == "data":
            yield canonical(record.data).decode()
        else:
            yield getattr(record, name)
