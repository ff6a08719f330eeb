"""A platform of many months as Parquet, and three of the cookbook's questions on both sides.

1 M events in twelve months; with `--full` 50 M, with `--events N` as many. Month by month: its
events are made, told by Postgres, written by `jobledger parquet` and dropped; the facts stay, as
they do of archived jobs. Then DuckDB is asked what Postgres is asked, in the same words, and of all
events what Postgres said of each month. 50 M events need 20 GB of disk and an hour.
"""

import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from sqlalchemy import text

from bench.figures import Report
from bench.machine import load as load_average
from bench.population.months import Months, month_of
from bench.throwaway import open_directory, postgres
from docs.cookbook.recipes import RECIPES
from jobledger.adapters.postgres.connection.engine import REPORT_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.reports.by_month import TABLES, month_after
from tests.support.processes import jobledger_command, place_of_bytecode, plain_environment

EVENTS, EVENTS_FULL = 1_000_000, 50_000_000
MONTHS = 12
QUESTIONS = (
    "Which images fail most?",
    "Why do attempts fail?",
    "How often did it help to retry, by what had failed?",
)
MIB = 2**20


def measure(report: Report) -> None:
    """Write month after month, then ask both."""
    report.setting("load when it began", load_average())
    with postgres(report) as server, open_directory() as directory:
        url = server.database("parquet")
        lake = directory / "lake"
        months = Months(url, report.events or (EVENTS_FULL if report.full else EVENTS), MONTHS)
        try:
            began = time.monotonic()
            months.prepare(os.cpu_count() or 1)
            report.say(f"{months.events:,} events played, stamped and loaded")
            report.figure("first month made by the rules", time.monotonic() - began, "s")
            told = write_months(report, months, url, directory, lake)
            months.settle()
        finally:
            months.close()
        report.setting("log", f"{months.events * MONTHS} events of {months.jobs * MONTHS} jobs")
        compare(report, url, lake, told)
    report.setting("load when it ended", load_average())


def write_months(
    report: Report, months: Months, url: str, directory: Path, lake: Path
) -> list[tuple[Any, ...]]:
    """Make and write every month; return what Postgres said of their events, added up."""
    told: list[tuple[Any, ...]] = []
    making = writing = most = 0.0
    for number in range(MONTHS):
        began = time.monotonic()
        months.fill(number)
        told += months.told()
        made = time.monotonic()
        most = max(most, _write(url, directory, lake, number))
        ended = time.monotonic()
        months.empty(number)
        making, writing = making + made - began, writing + ended - made
        report.say(
            f"{month_of(number):%Y-%m}: made in {made - began:.0f} s, written in"
            f" {ended - made:.0f} s, load {load_average()}"
        )
    events = months.events * MONTHS
    report.figure("made from the first, and told by Postgres", events / making, "events/s")
    report.figure("written by `jobledger parquet`, views included", events / writing, "events/s")
    report.figure("memory of `jobledger parquet`, the most", most / MIB, "MiB")
    for name in ("events", "*"):
        weight = sum(one.stat().st_size for one in lake.glob(f"{name}/*/*.parquet"))
        label = "events as Parquet" if name == "events" else "events and views as Parquet"
        report.figure(f"{label}, per million events", weight / MIB / events * 1e6, "MiB")
    return _added(told)


def _write(url: str, directory: Path, lake: Path, number: int) -> float:
    """Write a month as a user does; return the most memory that the program took, in bytes."""
    first = month_of(number)
    words = [*jobledger_command(), "parquet", "--to", str(lake), "--since", f"{first:%Y-%m-%d}"]
    words += ["--until", f"{month_after(first):%Y-%m-%d}"]
    kept = place_of_bytecode(directory / "bytecode")
    environment = plain_environment(directory, kept) | {"DATABASE_URL": url}
    child = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    _, status, spent = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, "the month is written"
    return float(spent.ru_maxrss) * (1 if sys.platform == "darwin" else 1024)


def compare(report: Report, url: str, lake: Path, told: Sequence[tuple[Any, ...]]) -> None:
    """Ask DuckDB over all files, and Postgres; refuse answers that differ.

    Of a table without a row there is no file: of a thousand events no attempt may have failed.
    """
    without = [name for name in TABLES if not any(lake.glob(f"{name}/*/*.parquet"))]
    assert not without, f"no {', '.join(without)} in so few events: ask for more"
    opened = duckdb.connect()
    opened.execute("SET TimeZone = 'UTC'; CREATE SCHEMA report_v1")
    for name in TABLES:
        place = lake / name / "*" / "*.parquet"
        opened.execute(f"CREATE VIEW report_v1.{name} AS SELECT * FROM read_parquet('{place}')")
    began = time.monotonic()
    found = opened.execute(
        "SELECT type, count(*), sum(version)::bigint, sum(length(data))::bigint,"
        " min(occurred_at), max(recorded_at) FROM report_v1.events GROUP BY type ORDER BY type"
    ).fetchall()
    report.figure("DuckDB: all events, by type", time.monotonic() - began, "s")
    assert found == list(told), "DuckDB says of all events what Postgres said of each month"
    engine = open_engine(url, EngineOptions(role=REPORT_ROLE, statement_timeout_seconds=0))
    try:
        for recipe in (one for one in RECIPES if one.question in QUESTIONS):
            ends = month_after(month_of(0)) + timedelta(days=62)
            asked = recipe.statement(month_of(MONTHS - 1), ends)
            with engine.connect() as connection:
                began = time.monotonic()
                expected = _plain(connection.execute(text(asked)).all())
            middle = time.monotonic()
            answer = _plain(opened.execute(asked).fetchall())
            ended = time.monotonic()
            assert answer == expected, f"{recipe.question} {answer} {expected}"
            assert len(answer) > 1
            report.figure(f"Postgres: {recipe.question}", middle - began, "s")
            report.figure(f"DuckDB: {recipe.question}", ended - middle, "s")
    finally:
        engine.dispose()
    report.remark("DuckDB and Postgres gave the same rows for each question, and for all events")


def _added(told: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return what was said of the events of each month as it is of all."""
    by_type: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for kind, *rest in told:
        by_type[kind].append(tuple(rest))
    return [
        (
            kind,
            *(sum(row[place] for row in rows) for place in range(3)),
            min(row[3] for row in rows),
            max(row[4] for row in rows),
        )
        for kind, rows in sorted(by_type.items())
    ]


def _plain(rows: Any) -> list[tuple[object, ...]]:  # noqa: ANN401 of either library
    return [
        tuple(round(float(one), 6) if isinstance(one, float | Decimal) else one for one in row)
        for row in rows
    ]
