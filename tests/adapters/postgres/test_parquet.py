"""Reporting views and events as Parquet: DuckDB reads in them what Postgres says."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine, text
from typer.testing import CliRunner

from bench.sample import END
from docs.cookbook.recipe import Recipe
from docs.cookbook.recipes import RECIPES
from jobledger.adapters.cli.main import app
from jobledger.adapters.postgres.archive.archives import PostgresArchives, Removed
from jobledger.adapters.postgres.reports import by_month
from jobledger.adapters.postgres.reports.by_month import TABLES
from tests.adapters.postgres.archive_site import filled_site

pytestmark = pytest.mark.postgres

ASKED = (
    "Which images fail most?",
    "Why do attempts fail?",
    "What did retries cost last week?",
    "How often did it help to retry, by what had failed?",
)
"""Questions of the cookbook that DuckDB is asked in the same words."""


def written(url: str, to: Path, *words: str) -> dict[str, int]:
    """Write the files; return their rows by name."""
    environment = {"DATABASE_URL": url, "REPORTS_DATABASE_URL": ""}
    told = CliRunner().invoke(
        app, ["parquet", "--to", str(to), "-o", "json", *words], env=environment
    )
    assert told.exit_code == 0, told.output
    return {row["file"]: row["rows"] for row in json.loads(told.stdout)}


@pytest.fixture(scope="module")
def files(sample_url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample of the cookbook as files."""
    to = tmp_path_factory.mktemp("parquet")
    assert written(sample_url, to)
    return to


def in_files(files: Path) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB with the reporting views over the files, and nothing else."""
    opened = duckdb.connect()
    opened.execute("SET TimeZone = 'UTC'; CREATE SCHEMA report_v1")
    for name in TABLES:
        place = files / name / "*" / "*.parquet"
        opened.execute(
            f"CREATE VIEW report_v1.{name} AS SELECT * FROM read_parquet('{place}',"
            " hive_partitioning = true, hive_types_autocast = false)"
        )
    return opened


def plain(rows: Any) -> list[tuple[object, ...]]:  # noqa: ANN401 of either library
    return [
        tuple(round(float(one), 6) if isinstance(one, float | Decimal) else one for one in row)
        for row in rows
    ]


@pytest.mark.parametrize("question", ASKED)
def test_duckdb_answers_as_postgres_does(files: Path, sample_engine: Engine, question: str) -> None:
    recipe: Recipe = next(one for one in RECIPES if one.question == question)
    asked = recipe.statement(END - timedelta(days=recipe.days), END)
    with sample_engine.connect() as connection:
        expected = plain(connection.execute(text(asked)).all())
    assert plain(in_files(files).execute(asked).fetchall()) == expected
    assert len(expected) > 1


@pytest.mark.parametrize("name", TABLES)
def test_each_table_is_whole(files: Path, sample_engine: Engine, name: str) -> None:
    """Every column of every row, whatever its month."""
    table = TABLES[name]
    source = "event" if name == "events" else f"report_v1.{name}"
    shown = ", ".join(
        f"{column}::text" if kind in {"jsonb", "uuid"} else column
        for column, kind in table.columns.items()
    )
    with sample_engine.connect() as connection:
        rows = connection.execute(text(f"SELECT {shown} FROM {source}")).all()
    columns = ", ".join(table.columns)
    found = in_files(files).execute(f"SELECT {columns} FROM report_v1.{name}").fetchall()
    assert Counter(plain(found)) == Counter(plain(rows))
    assert found


def test_a_file_has_the_jobs_of_its_month_and_says_what_columns_mean(
    files: Path,
) -> None:
    found = in_files(files).execute(
        "SELECT DISTINCT month, strftime(created_at, '%Y-%m') FROM report_v1.jobs ORDER BY ALL"
    )
    pairs = found.fetchall()
    assert len(pairs) > 1
    assert all(month == created for month, created in pairs)
    first = next((files / "jobs").rglob("*.parquet"))
    schema = pq.read_schema(first)
    assert schema.field("stream_id").metadata[b"meaning"] == b"The job: the same in all views"


def test_rows_come_some_at_a_time(
    sample_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_month, "BATCH_ROWS", 100)
    written(sample_url, tmp_path, "--table", "phases")
    groups = [pq.ParquetFile(one) for one in tmp_path.rglob("*.parquet")]
    rows = [
        one.metadata.row_group(number).num_rows
        for one in groups
        for number in range(one.metadata.num_row_groups)
    ]
    assert max(rows) == 100
    assert len(rows) > len(groups)


def test_how_the_server_shows_values_changes_nothing(
    sample_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows come as text: a day before the month, or digits left out, would be other values."""
    words = ("--table", "attempts", "--table", "events")
    written(sample_url, tmp_path / "iso", *words)
    monkeypatch.setenv("PGOPTIONS", "-c datestyle=German -c extra_float_digits=-9")
    written(sample_url, tmp_path / "german", *words)
    iso, german = (
        {str(path.relative_to(top)): path.read_bytes() for path in top.rglob("*.parquet")}
        for top in (tmp_path / "iso", tmp_path / "german")
    )
    assert iso == german


def test_a_month_that_is_written_again_is_as_before(sample_url: str, tmp_path: Path) -> None:
    words = ("--table", "jobs", "--table", "attempts")
    first = written(sample_url, tmp_path, *words)
    content = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    assert written(sample_url, tmp_path, *words) == first
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == content


def test_a_span_of_months_is_whole_months(sample_url: str, tmp_path: Path) -> None:
    every = sorted(written(sample_url, tmp_path / "all", "--table", "jobs"))
    months = [name.split("=")[1][:7] for name in every]
    assert len(months) > 1
    later = written(sample_url, tmp_path / "a", "--table", "jobs", "--since", f"{months[1]}-15")
    earlier = written(sample_url, tmp_path / "b", "--table", "jobs", "--until", f"{months[1]}-15")
    assert sorted(earlier | later) == every
    assert not earlier.keys() & later.keys()


def test_a_table_that_is_none_and_a_place_that_is_none_are_told(
    sample_url: str, tmp_path: Path
) -> None:
    def refused(*words: str) -> str:
        told = CliRunner().invoke(app, ["parquet", *words], env={"DATABASE_URL": sample_url})
        assert told.exit_code in {2, 4}, told.output
        return told.output

    assert "there is no table 'job'" in refused("--to", str(tmp_path), "--table", "job")
    (tmp_path / "jobs").write_text("a file")
    assert "cannot be written" in refused("--to", str(tmp_path), "--table", "jobs")


def test_what_has_left_with_an_archive_is_written_from_its_file(
    ledger_url: str, tmp_path: Path
) -> None:
    with filled_site(ledger_url, tmp_path) as site:
        before = events_in(written_to(site.url, tmp_path / "before"), "events/*/*.parquet")
        site.archive()
        left = written_to(site.url, tmp_path / "after", "--archives", str(site.directory))
    here = events_in(left, "events/*/*.parquet")
    archived = events_in(left, "archived_events/*.parquet")
    assert here
    assert archived
    assert sorted([*here, *archived]) == sorted(before)


class Interrupted(PostgresArchives):
    """Is killed before anything leaves the log."""

    def remove(self, number: int) -> Iterator[Removed]:
        raise KeyboardInterrupt(number)


def test_no_event_is_written_twice_or_left_out_without_a_word(
    ledger_url: str, tmp_path: Path
) -> None:
    def refused(*words: str) -> str:
        environment = {"DATABASE_URL": site.url, "REPORTS_DATABASE_URL": ""}
        asked = ["parquet", "--to", str(tmp_path / "to"), "--archives", *words]
        told = CliRunner().invoke(app, asked, env=environment)
        assert told.exit_code != 0
        return f"{told.exception} {told.output}"

    with filled_site(ledger_url, tmp_path) as site:
        before = sorted(events_in(written_to(site.url, tmp_path / "before"), EVERY_EVENT))
        with pytest.raises(KeyboardInterrupt):
            site.archive(Interrupted(site.engine))
        to = written_to(site.url, tmp_path / "half", "--archives", str(site.directory))
        assert sorted(events_in(to, EVERY_EVENT)) == before, "in a file, and in the log still"

        (record,) = site.archive().records
        whole = site.directory / record.file.name
        shutil.copy(whole, site.directory / "archive-000001-0123456789abcdef.jsonl.gz")
        to = written_to(site.url, tmp_path / "whole", "--archives", str(site.directory))
        assert sorted(events_in(to, EVERY_EVENT)) == before, "of two files one is the record's"

        whole.write_bytes(whole.read_bytes()[:-20])
        assert "does not have the digest" in refused(str(site.directory))
        whole.unlink()
        os.mkfifo(whole)
        assert "it is no regular file" in refused(str(site.directory))
        assert "no directory of archives" in refused(str(site.directory / "mistyped"))


EVERY_EVENT = "**/*.parquet"


def written_to(url: str, to: Path, *words: str) -> Path:
    written(url, to, "--table", "events", *words)
    return to


def events_in(files: Path, place: str) -> list[tuple[object, ...]]:
    """Return all events of some files, their documents as they are compared."""
    *columns, data = TABLES["events"].columns
    query = f"SELECT {', '.join(columns)}, {data} FROM read_parquet('{files}/{place}')"
    opened = duckdb.connect()
    opened.execute("SET TimeZone = 'UTC'")
    rows = opened.execute(query).fetchall()
    return [(*row[:-1], json.dumps(json.loads(row[-1]), sort_keys=True)) for row in rows]


def test_several_ledgers_are_read_as_one(sample_url: str, tmp_path: Path) -> None:
    for ledger in ("eu", "us"):
        written(sample_url, tmp_path / f"ledger={ledger}", "--table", "jobs")
    found = (
        duckdb.connect()
        .execute(
            f"SELECT ledger, count(*) FROM read_parquet('{tmp_path}/*/jobs/*/*.parquet')"
            " GROUP BY ledger ORDER BY ledger"
        )
        .fetchall()
    )
    (eu, jobs), (us, others) = found
    assert (eu, us) == ("eu", "us")
    assert jobs == others > 0
