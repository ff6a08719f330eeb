"""Tables and bars of reports: what fits a terminal, and how quantities read."""

import io
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console

from jobledger.adapters.cli.reporting.options import ReportForm
from jobledger.adapters.cli.reporting.quantities import duration, quantity
from jobledger.adapters.cli.reporting.table import bars, fitted
from jobledger.adapters.cli.reporting.told import tell
from jobledger.adapters.postgres.reports.asking.report import Answer, Row, Unit
from tests.adapters.cli.answers import SINCE, answer

IMAGE = "registry.example.com/a-team/with/a-very-long-path/llama-train:2026-11-03"


def wasted(image: str, seconds: float) -> Row:
    return {
        "image": image,
        "wasted_seconds": seconds,
        "wasted_share": 0.125,
        "failed_attempts": 3,
        "attempts": 12,
        "failed_share": 0.25,
        "cluster_seconds": 4 * seconds,
    }


def of_waste(*rows: Row) -> Answer:
    return answer("waste", rows, by=("image",), total=wasted("", 9000.0))


def printed(told: Answer, width: int) -> list[str]:
    """The lines of the table, as a terminal of that width shows them."""
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(fitted(told, width).table)
    return out.getvalue().splitlines()


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.0 s"),
        (0.85, "850 ms"),
        (4.24, "4.2 s"),
        (59.96, "1m 00s"),
        (245, "4m 05s"),
        (3599.7, "1h 00m"),
        (11_100, "3h 05m"),
        (86_399, "1d 00h"),
        (187_200, "2d 04h"),
        (-3, "-3.0 s"),
    ],
)
def test_a_duration_is_told_by_its_two_largest_units(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_numbers_are_told_in_their_unit() -> None:
    assert quantity(1234567, Unit.COUNT) == "1,234,567"
    assert quantity(0.1249, Unit.SHARE) == "12.5 %"
    assert quantity(177_120, Unit.CLUSTER_SECONDS) == "49.2 h"
    assert quantity(2700, Unit.CLUSTER_SECONDS) == "0.75 h"
    assert quantity(9, Unit.CLUSTER_SECONDS) == "9.0 s"


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_no_line_of_a_table_is_wider_than_the_terminal(width: int) -> None:
    lines = printed(of_waste(wasted(IMAGE, 7200.0), wasted("ray:2.52", 1800.0)), width)
    assert all(len(line.rstrip()) <= width for line in lines), lines
    assert len(lines) == 4, "a heading, two rows and that over everything, each on one line"


def test_what_matters_stays_when_there_is_no_room() -> None:
    told = of_waste(wasted(IMAGE, 7200.0))
    narrow = fitted(told, 60)
    assert [column.name for column in narrow.left_out][-1:] == ["cluster_seconds"]
    assert "WASTED" in printed(told, 60)[0]
    assert fitted(told, 200).left_out == ()


def test_a_long_name_keeps_its_beginning_and_its_end() -> None:
    line = printed(of_waste(wasted(IMAGE, 7200.0)), 80)[1]
    assert line.startswith("registry.")
    assert "2026-11-03 " in line


@pytest.mark.parametrize("width", [30, 80, 120, 300])
def test_bars_are_as_long_as_their_numbers_and_fit(width: int) -> None:
    told = of_waste(wasted("a", 9000.0), wasted("b", 4500.0), wasted("c", 0.0))
    title, *lines = (line.plain for line in bars(told, width, "utf-8"))
    assert title == "cluster time of failed attempts"
    assert all(len(line) <= width for line in lines)
    long, half, none = (line.count("█") for line in lines)
    assert abs(long - 2 * half) <= 1
    assert long > 1
    assert none == 0
    assert "2.5 h" in lines[0]


def test_the_bar_of_a_share_is_that_share_of_the_room() -> None:
    """As on the page: 50.0 % does not fill it where no share is larger."""
    lengths = []
    for shares in ((0.25, 0.5), (0.5, 0.99)):
        rows: list[Row] = [{"queue": "a", "good_share": share} for share in shares]
        _, *lines = (line.plain for line in bars(answer("slo", rows, by=("queue",)), 80, "ascii"))
        lengths.append([line.count("#") for line in lines])
    (_, half), (also_half, nearly_all) = lengths
    assert half == also_half
    assert round(nearly_all / half, 1) == 2.0


def test_a_terminal_without_unicode_gets_plain_bars() -> None:
    lines = [line.plain for line in bars(of_waste(wasted("a", 9000.0)), 80, "ascii")]
    assert "####" in lines[1]
    assert all(line.isascii() for line in lines)


def test_nothing_is_drawn_of_nothing() -> None:
    assert list(bars(of_waste(), 80, "utf-8")) == []
    assert list(bars(of_waste(wasted("a", 0.0)), 80, "utf-8")) == []


@pytest.mark.parametrize(
    "name", ["\x1b[31mred", "two\nlines", "back\u202ewards", "a\x1fb", "par\u2029agraph", "\x9b2J"]
)
def test_a_name_commands_no_terminal_and_splits_no_row(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    tell(of_waste(wasted(name, 100.0)), ReportForm.TABLE, None, charted=True)
    said = capsys.readouterr().out
    assert name not in said
    shown = "".join(char if char.isprintable() else "\ufffd" for char in name)
    assert said.count(shown) == 2, "in the table and in the chart"
    assert all(line.isprintable() for line in said.split("\n"))


def test_a_name_without_end_is_shortened(capsys: pytest.CaptureFixture[str]) -> None:
    tell(of_waste(wasted("a" + "x" * 5000 + "z", 100.0)), ReportForm.TABLE, None, charted=False)
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) < 500
    assert "axxx" in said
    assert "xxxz" in said


def test_it_is_said_if_hours_without_anything_are_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows: list[Row] = [{**wasted("", 100.0), "hour": SINCE}]
    for form in (ReportForm.TABLE, ReportForm.CSV):
        tell(answer("waste", rows, by=("hour",), days=1), form, None, charted=False)
        said = capsys.readouterr()
        note = "more than 20 hours in this period: those without anything are left out"
        assert note in (said.out if form is ReportForm.TABLE else said.err)
    tell(answer("waste", rows, by=("day",)), ReportForm.TABLE, None, charted=False)
    assert "left out" not in capsys.readouterr().out


def test_nothing_is_cut_or_left_out_where_no_terminal_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = of_waste(wasted(f"{IMAGE}-{'x' * 200}", 100.0))
    tell(told, ReportForm.TABLE, None, charted=None)
    said = capsys.readouterr().out
    assert f"{IMAGE}-{'x' * 200} " in said
    assert "left out" not in said
    assert all(column.heading.upper() in said for column in told.report.columns)


def test_an_answer_of_a_standby_that_lags_says_since_when(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stale = replace(answer("waste", []), stale_since=datetime(2026, 11, 8, 23, 30, tzinfo=UTC))
    tell(stale, ReportForm.TABLE, None, charted=False)
    assert "has taken over nothing since 2026-11-08 23:30:00" in capsys.readouterr().out
