"""`jobledger db prices`: shows the list of prices, and puts another in its place."""

import csv
import math
from collections.abc import Iterator
from dataclasses import asdict, fields
from datetime import UTC
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.options import DatabaseUrl, DataDir, OutputOption, settings_from
from jobledger.adapters.cli.output import Output, fail, show
from jobledger.adapters.cli.periods import instant
from jobledger.adapters.ledger_wiring import database, user_engine
from jobledger.adapters.postgres.reports.prices import Price, prices, put_prices
from jobledger.adapters.postgres.schema.version import require_current
from jobledger.core.jobs.history.holdings import ACCELERATOR, CPU, MEMORY

COLUMNS = [one.name for one in fields(Price)]


def show_or_put(
    file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A CSV file with the columns resource, accelerator, valid_from, price_per_hour: "
            "the new list. Without it the list is shown.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Show the list of prices that `report cost` reckons with, or put another in its place.

    A price is that of an hour of a core (cpu), a GiB (memory) or an accelerator, for attempts that
    start at valid_from or later. It takes the user that owns the tables.
    """
    listed = None if file is None else _read(file)
    with database(settings_from(database_url, data_dir)) as address:
        require_current(address)
        with user_engine(address) as engine:
            if listed is not None:
                put_prices(engine, listed)
            found = prices(engine)
    show(output, [asdict(one) for one in found], COLUMNS, "no prices")


def _read(file: Path) -> list[Price]:
    """Return the prices of a file; end with a message if it holds no list of them."""
    try:
        return list(_prices(file))
    except OSError as error:
        fail(f"{file} cannot be read: {error.strerror}", ExitCode.USAGE)
    except (UnicodeDecodeError, csv.Error):
        fail(f"{file} is no CSV file in UTF-8", ExitCode.USAGE)


def _prices(file: Path) -> Iterator[Price]:
    """Yield the lines of a file; end with a message that names the line if one is no price."""
    with file.open(encoding="utf-8-sig", newline="") as opened:  # spreadsheets write a mark first
        reader = csv.DictReader(opened)
        columns = list(reader.fieldnames or ())
        if sorted(columns[:-1] if columns[-1:] == [""] else columns) != sorted(COLUMNS):
            fail(f"{file} has not the columns {', '.join(COLUMNS)}", ExitCode.USAGE)
        known: set[tuple[object, ...]] = set()
        for row in reader:
            where = f"{file}, line {reader.line_num}"
            # 0,12 for 0.12 would be a price of nothing; an empty cell spreadsheets write
            if row.get("") or any(row.get(None, ())):
                fail(f"{where} has more than {len(COLUMNS)} cells", ExitCode.USAGE)
            price = _price(row, where)
            key = (price.resource, price.accelerator, price.valid_from)
            if key in known:
                fail(f"{where} repeats an earlier price", ExitCode.USAGE)
            known.add(key)
            yield price


def _price(row: dict[str, str], where: str) -> Price:
    resource, accelerator = row["resource"] or "", row["accelerator"] or ""
    if resource not in (CPU, MEMORY, ACCELERATOR):
        fail(f"{where}: resource is cpu, memory or accelerator", ExitCode.USAGE)
    if accelerator and resource != ACCELERATOR:
        fail(f"{where}: only an accelerator has a name", ExitCode.USAGE)
    try:
        price = float(row["price_per_hour"] or "")
    except ValueError:
        price = math.nan
    if not 0 <= price < math.inf:
        fail(f"{where}: price_per_hour is no number from 0 on", ExitCode.USAGE)
    try:
        valid_from = instant(row["valid_from"] or "", UTC)
    except typer.BadParameter as error:
        fail(f"{where}: {error.message}", ExitCode.USAGE)
    return Price(
        resource=resource,
        accelerator=accelerator,
        valid_from=valid_from,
        price_per_hour=price,
    )
