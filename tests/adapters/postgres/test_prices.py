"""The list of prices, and what `report cost` makes of it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine
from typer.testing import CliRunner

from bench.population.population import END
from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.ledger.db import app
from jobledger.adapters.postgres.connection.engine import EngineOptions, open_engine
from jobledger.adapters.postgres.reports.asking.asking import ask
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Answer, Question
from jobledger.adapters.postgres.reports.prices import Price, prices, put_prices

pytestmark = pytest.mark.postgres

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
GPU = "nvidia.com/gpu"


@pytest.fixture
def owner(reported_url: str) -> Iterator[Engine]:
    engine = open_engine(reported_url, EngineOptions(pool_size=1))
    yield engine
    engine.dispose()


def price(resource: str, each: float, accelerator: str = "", since: datetime = LONG_AGO) -> Price:
    return Price(resource=resource, accelerator=accelerator, valid_from=since, price_per_hour=each)


def asked(engine: Engine, *by: str) -> Answer:
    since = END - timedelta(days=28)
    return ask(engine, REPORTS["cost"], Question(since=since, until=END, by=by))


def number(answer: Answer, column: str) -> float:
    assert answer.total is not None
    value = answer.total[column]
    assert isinstance(value, float), column
    return value


def test_without_prices_there_is_no_money(owner: Engine) -> None:
    told = asked(owner)
    assert told.total is not None
    assert told.total["cost"] is None
    assert number(told, "accelerator_seconds") > 0
    assert number(told, "cpu_seconds") > 0


def test_money_is_price_times_hours(owner: Engine) -> None:
    put_prices(owner, [price("accelerator", 3.6), price("cpu", 0.36), price("memory", 0.036)])
    told = asked(owner)
    right = (
        number(told, "accelerator_seconds") * 3.6
        + number(told, "cpu_seconds") * 0.36
        + number(told, "memory_gib_seconds") * 0.036
    ) / 3600
    assert number(told, "cost") == pytest.approx(right)
    parts = ("failed_cost", "waiting_cost", "idle_cost")
    assert number(told, "wasted_cost") == pytest.approx(sum(number(told, one) for one in parts))


def test_the_price_of_an_accelerator_goes_before_that_of_all_and_the_latest_before_others(
    owner: Engine,
) -> None:
    listed = [
        price("accelerator", 100, since=LONG_AGO + timedelta(days=9)),
        price("accelerator", 50, GPU),
        price("accelerator", 7, GPU, LONG_AGO + timedelta(days=1)),
        price("accelerator", 1, GPU, END),
    ]
    put_prices(owner, listed)
    told = asked(owner)
    assert number(told, "cost") == pytest.approx(number(told, "accelerator_seconds") * 7 / 3600)


def test_rows_are_grouped_by_a_label_and_by_accelerator(owner: Engine) -> None:
    by_team = {
        row["label:team"]: row["namespace"] for row in asked(owner, "label:team", "namespace").rows
    }
    assert len(by_team) > 1
    assert all(team == namespace for team, namespace in by_team.items())
    assert {row["accelerator"] for row in asked(owner, "accelerator").rows} == {"", GPU}


@pytest.mark.parametrize("ends", [("", ""), ("", ","), (",", ","), (",", "")])
def test_the_command_puts_a_list_in_place_of_another(
    owner: Engine, reported_url: str, tmp_path: Path, ends: tuple[str, str]
) -> None:
    """Spreadsheets write a mark first, and an empty cell for a column that was looked at."""
    put_prices(owner, [price("memory", 9)])
    file = tmp_path / "prices.csv"
    head, line = "resource,accelerator,valid_from,price_per_hour", "cpu,,2020-01-01,0.04"
    file.write_text(f"{head}{ends[0]}\n{line}{ends[1]}\n", encoding="utf-8-sig")
    runner = CliRunner()
    told = runner.invoke(app, ["prices", "--from", str(file), "--database-url", reported_url])
    assert told.exit_code == 0, told.output
    assert prices(owner) == [price("cpu", 0.04)]


@pytest.mark.parametrize(
    "line",
    [
        "gpu,,2020-01-01,1",
        "cpu,h100,2020-01-01,1",
        "cpu,,2020-01-01,nan",
        "cpu,,2020-01-01,-1",
        "cpu,,2020-01-01,",
        "cpu,,2020-01-01,0,12",
        "cpu,,2020-01-01,1\ncpu,,2020-01-01,2",
        "cpu,,soon,1",
        "c\xf6u,,2020-01-01,1",
        pytest.param(f"{'x' * 200_000},,2020-01-01,1", id="a field without end"),
    ],
)
def test_a_line_that_is_no_price_changes_nothing(
    owner: Engine, reported_url: str, tmp_path: Path, line: str
) -> None:
    put_prices(owner, [price("memory", 9)])
    file = tmp_path / "prices.csv"
    content = f"resource,accelerator,valid_from,price_per_hour\n{line}\n"
    file.write_text(content, encoding="latin-1")
    asked_for = ["prices", "--from", str(file), "--database-url", reported_url]
    told = CliRunner().invoke(app, asked_for)
    assert told.exit_code == ExitCode.USAGE
    assert str(file) in told.stderr
    assert prices(owner) == [price("memory", 9)]
