"""Writing a made-up platform as Parquet, and three of the cookbook's questions on both sides.

1 M events of 33,000 jobs; with `--full` 50 M events of 1.7 M jobs, for which the disk needs some
60 GB and the machine hours.
"""

import time
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import psutil
from sqlalchemy import text

from bench.figures import Report
from bench.population.loading import load
from bench.population.population import END, ONE_MILLION, Size
from bench.throwaway import postgres
from docs.cookbook.recipes import RECIPES
from jobledger.adapters.cli.files.parquet_files import write
from jobledger.adapters.postgres.connection.engine import REPORT_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.reports.by_month import TABLES, batches, months, snapshot

FIFTY_MILLION = Size(jobs=1_670_000, days=365, templates=3_000, open_jobs=400)
QUESTIONS = (
    "Which images fail most?",
    "Why do attempts fail?",
    "How often did it help to retry, by what had failed?",
)
MIB = 2**20


def measure(report: Report) -> None:
    """Load the platform, write it, ask both."""
    size = FIFTY_MILLION if report.full else ONE_MILLION
    with postgres(report) as server, TemporaryDirectory() as directory:
        url = server.database("parquet")
        began = time.monotonic()
        load(url, size)
        report.say(f"{size.jobs:,} jobs loaded in {time.monotonic() - began:.0f} s")
        options = EngineOptions(role=REPORT_ROLE, statement_timeout_seconds=0)
        engine = open_engine(url, options)
        try:
            _write(report, engine, Path(directory))
            _ask(report, engine, Path(directory))
        finally:
            engine.dispose()


def _write(report: Report, engine: Any, to: Path) -> None:  # noqa: ANN401 an engine
    process, most = psutil.Process(), 0
    with snapshot(engine) as connection:
        wanted = months(connection)
        for name, table in TABLES.items():
            began, rows = time.monotonic(), 0
            for month in wanted:
                place = to / name / f"month={month:%Y-%m}" / "part-0.parquet"
                read = batches(connection, table, month)
                rows += write(place, table.columns, table.meanings, read)
                most = max(most, process.memory_info().rss)
            seconds = time.monotonic() - began
            weight = sum(one.stat().st_size for one in (to / name).rglob("*.parquet"))
            report.say(
                f"{name}: {rows:,} rows in {seconds:.1f} s ({rows / seconds:,.0f}/s), "
                f"{weight / MIB:.1f} MiB"
            )
    report.say(f"memory of the process that writes: {most / MIB:.0f} MiB")


def _ask(report: Report, engine: Any, files: Path) -> None:  # noqa: ANN401 an engine
    opened = duckdb.connect()
    opened.execute("SET TimeZone = 'UTC'; CREATE SCHEMA report_v1")
    for name in TABLES:
        place = files / name / "*" / "*.parquet"
        opened.execute(f"CREATE VIEW report_v1.{name} AS SELECT * FROM read_parquet('{place}')")
    for recipe in (one for one in RECIPES if one.question in QUESTIONS):
        asked = recipe.statement(END - timedelta(days=365), END)
        with engine.connect() as connection:
            began = time.monotonic()
            expected = _plain(connection.execute(text(asked)).all())
        middle = time.monotonic()
        found = _plain(opened.execute(asked).fetchall())
        ended = time.monotonic()
        same = "the same" if found == expected else "DIFFERENT"
        report.say(
            f"{recipe.question} Postgres {middle - began:.2f} s, DuckDB {ended - middle:.2f} s, "
            f"{len(found)} rows, {same}"
        )


def _plain(rows: Any) -> list[tuple[object, ...]]:  # noqa: ANN401 of either library
    return [
        tuple(round(float(one), 6) if isinstance(one, float | Decimal) else one for one in row)
        for row in rows
    ]
