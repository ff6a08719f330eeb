"""`jobledger parquet --to DIR`: writes reporting views and events as Parquet, month by month."""

import csv
import io
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.text import Text

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.options import DataDir, OutputOption, ReportsDatabaseUrl, settings_from
from jobledger.adapters.cli.output import Output, errors, fail, show
from jobledger.adapters.cli.periods import bounds
from jobledger.adapters.files.written_once import beside, make_directory, take_place
from jobledger.adapters.forensics.archive_files import SUFFIX, checked
from jobledger.adapters.ledger_wiring import reading
from jobledger.adapters.postgres.archive.archives import PostgresArchives
from jobledger.adapters.postgres.reports.by_month import (
    DELIMITER,
    EVENTS,
    QUOTE,
    TABLES,
    ArchivedThen,
    archived_then,
    batches,
    in_batches,
    month_after,
    months,
    snapshot,
)
from jobledger.core.errors import LedgerMisconfigured
from jobledger.core.forensics.seals.archives import Archive
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
    if archives is not None and not archives.is_dir():
        fail(f"{archives} is no directory of archives", ExitCode.MISCONFIGURED)
    begins, ends = bounds(since, until)
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
            if archives is not None:
                then, records = archived_then(connection), PostgresArchives(engine).records()
                made += _of_archives(records, then, archives, to)
    except OSError as error:
        fail(f"{error.filename or to} cannot be written: {error.strerror}", ExitCode.MISCONFIGURED)
    show(output, [{"file": str(place), "rows": rows} for place, rows in made if rows], COLUMNS)


def _of_archives(
    records: Iterable[Archive], then: ArchivedThen, directory: Path, to: Path
) -> Iterator[tuple[Path, int]]:
    """Write the files of the ledger's archive records; say which files of either side are left out.

    One that no record names was being written when that was interrupted: its jobs are in another
    one, or in the log.
    """
    named, gone = set[str](), list[str]()
    for record in records:
        file = directory / record.file.name
        named.add(file.name)
        if record.number > then.last:  # its events are in the months of the same snapshot
            continue
        if not file.exists():
            gone.append(file.name)
            continue
        place = Path(ARCHIVED) / f"{file.name.removesuffix(SUFFIX)}.parquet"
        events = in_batches(_archived(file, record, then.still_here))
        yield place, write(to / place, EVENTS.columns, {}, events)
    unknown = sorted({file.name for file in directory.glob(f"*{SUFFIX}")} - named)
    _tell_left_out(f"{directory} has them not, and records name them", gone)
    _tell_left_out("no archive record of this ledger names them", unknown)


def _tell_left_out(why: str, files: Sequence[str]) -> None:
    if files:
        told = f"jobledger: left out, as {why}: {', '.join(files)}"
        errors.print(Text(told, style="yellow"), soft_wrap=True)


def _archived(file: Path, record: Archive, but: Container[UUID]) -> Iterator[bytes]:
    """Yield the events of an archive file as lines of CSV, but those of some jobs.

    Raises `BrokenChain` if it is not the file that its record speaks of.
    """
    for bundle in checked(file, record.file, record.jobs):
        if bundle.stream in but:
            continue
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


def write(
    path: Path,
    columns: Mapping[str, str],
    meanings: Mapping[str, str],
    batches: Iterable[bytes],
) -> int:
    """Write a file in place of whatever is there; return how many rows it has, 0 if none is made.

    Args:
        path: The file; the folders above it are made.
        columns: Name -> type as Postgres prints it.
        meanings: Name -> what it means, for the metadata of the columns.
        batches: The rows as lines of CSV, as `by_month.batches` yields them; each batch is a row
            group. No object is made of a value on its way into the columns.

    Raises:
        LedgerMisconfigured: pyarrow is not installed.
        OSError: it cannot be written.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415  # 0.3 s and 100 MB that few need
        import pyarrow.csv  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError as error:
        advice = "Parquet needs pyarrow; install it with: pip install 'jobledger[parquet]'"
        raise LedgerMisconfigured(advice) from error
    schema = pa.schema(
        [
            pa.field(name, _type(kind, pa), metadata={"meaning": meanings.get(name, "")})
            for name, kind in columns.items()
        ]
    )
    rows, batches = 0, iter(batches)
    first = next(batches, None)
    if first is None:
        path.unlink(missing_ok=True)  # what there was has left
        return 0
    make_directory(path.parent)
    with beside(path) as fresh:
        with pq.ParquetWriter(fresh, schema, compression="zstd") as writer:
            for batch in chain((first,), batches):
                table = _table(batch, schema, pa)
                writer.write_table(table)
                rows += table.num_rows
        take_place(fresh, path)
    return rows


def _table(batch: bytes, schema: Any, pa: Any) -> Any:  # noqa: ANN401  # pyarrow has no types
    names = [field.name for field in schema]
    one_block = pa.csv.ReadOptions(column_names=names, block_size=len(batch) + 1, use_threads=False)
    signs = pa.csv.ParseOptions(delimiter=DELIMITER, quote_char=QUOTE, newlines_in_values=True)
    values = pa.csv.ConvertOptions(
        column_types={field.name: field.type for field in schema},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        true_values=["t"],
        false_values=["f"],
    )
    read = pa.csv.read_csv(pa.BufferReader(batch), one_block, signs, values)
    return read.cast(schema)  # names it did know, meanings it did not


def _type(kind: str, pa: Any) -> Any:  # noqa: ANN401  # pyarrow has no types
    types = {
        "integer": pa.int32(),
        "bigint": pa.int64(),
        "boolean": pa.bool_(),
        "double precision": pa.float64(),
        "timestamp with time zone": pa.timestamp("us", tz="UTC"),
    }
    return types.get(kind, pa.string())
