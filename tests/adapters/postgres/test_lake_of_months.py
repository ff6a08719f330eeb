"""`python -m bench parquet` in little: months made of one, written, and asked of DuckDB."""

from pathlib import Path

import duckdb
import psycopg
import pytest

from bench import parquet
from bench.figures import Report
from bench.population.months import Months, month_of

pytestmark = pytest.mark.postgres

MONTHS = 2


def test_months_that_left_the_log_are_in_the_files_and_answer_as_postgres_does(
    ledger_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MONTHS", MONTHS)
    report, lake = Report("parquet", full=False, events=8_000), tmp_path / "lake"
    months = Months(ledger_url, report.events, MONTHS)
    try:
        months.prepare(processes=1)
        told = parquet.write_months(report, months, ledger_url, tmp_path, lake)
    finally:
        months.close()
    parquet.compare(report, ledger_url, lake, told)  # refuses answers that differ
    with psycopg.connect(ledger_url.replace("+psycopg", "", 1)) as connection:
        assert connection.execute("SELECT count(*) FROM event").fetchone() == (0,)
    found = duckdb.connect().execute(
        "SELECT month, count(*), count(DISTINCT stream_id), count(DISTINCT event_id)"
        f" FROM read_parquet('{lake}/events/*/*.parquet') GROUP BY month ORDER BY month DESC"
    )
    expected = [f"{month_of(number):%Y-%m}" for number in range(MONTHS)]
    rows = found.fetchall()
    assert [str(row[0]) for row in rows] == expected
    assert {row[1:] for row in rows} == {(months.events, months.jobs, months.events)}
