"""Hours, days and weeks without anything are rows too, also where a day has 25 hours."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest

from jobledger.adapters.postgres.reports.asking.buckets import lacks_gaps, without_gaps
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Question, Row, Value

BERLIN, KATHMANDU = ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kathmandu")
WASTE = REPORTS["waste"]


def filled(
    bucket: str, since: datetime, until: datetime, zone: tzinfo, *rows: Row, limit: int = 100
) -> list[Value]:
    asked = Question(since=since, until=until, by=(bucket,), zone=zone, limit=limit)
    return [row[bucket] for row in without_gaps(rows, WASTE, asked)]


def day(number: int, hour: int = 0) -> datetime:
    return datetime(2026, 10, number, hour, tzinfo=UTC)


def test_a_day_without_anything_counts_zero_and_has_no_share() -> None:
    there: Row = {"day": day(2), "wasted_seconds": 5.0, "wasted_share": 1.0}
    asked = Question(since=day(1), until=day(4), by=("day",), limit=10)
    first, second, third = without_gaps([there], WASTE, asked)
    assert second is there
    assert (first["wasted_seconds"], third["failed_attempts"]) == (0, 0)
    assert first["wasted_share"] is None


def test_what_is_grouped_by_more_besides_keeps_each_row_of_a_piece() -> None:
    """The report of nodes has a row for each node, whatever it is grouped by."""
    rows: list[Row] = [{"week": day(5), "node": node, "failures": 1} for node in ("a", "b")]
    asked = Question(since=day(5), until=day(19), by=("week",), limit=10)
    assert without_gaps(rows, REPORTS["nodes"], asked) == rows
    assert not lacks_gaps(REPORTS["nodes"], replace(asked, limit=1))


def test_the_day_that_summer_time_ends_has_25_hours() -> None:
    """Berlin, 2026-10-25: midnight is at 22:00 UTC before and 23:00 UTC after."""
    days = filled("day", day(23, 22), day(27, 23), BERLIN)
    assert days == [day(23, 22), day(24, 22), day(25, 23), day(26, 23)]
    hours = filled("hour", day(24, 22), day(25, 23), BERLIN)
    assert len(hours) == 25
    assert hours == [day(24, 22) + timedelta(hours=number) for number in range(25)]


@pytest.mark.parametrize(
    ("zone", "first", "hours"),
    [
        ("America/Santiago", date(2026, 9, 5), [0, 1, 0, 0]),
        ("Africa/Cairo", date(2026, 4, 23), [0, 1, 0, 0]),
        ("Asia/Beirut", date(2026, 3, 28), [0, 1, 0, 0]),
        ("America/Havana", date(2026, 10, 31), [0, 0, 0, 0]),  # two midnights on 1 November
    ],
)
def test_days_after_one_without_midnight_begin_at_midnight(
    zone: str, first: date, hours: list[int]
) -> None:
    there = ZoneInfo(zone)
    since = datetime(first.year, first.month, first.day, tzinfo=there)
    days = filled("day", since, since + timedelta(days=4), there)
    begun = [at.astimezone(there) for at in days if isinstance(at, datetime)]
    assert [at.hour for at in begun] == hours
    assert [at.date() for at in begun] == [first + timedelta(days=n) for n in range(4)]
    assert [at.fold for at in begun] == [0] * 4


def test_a_day_that_is_left_out_is_no_day() -> None:
    """Samoa went from 29 to 31 December 2011."""
    apia = ZoneInfo("Pacific/Apia")
    since, until = datetime(2011, 12, 29, tzinfo=apia), datetime(2012, 1, 1, tzinfo=apia)
    assert len(filled("day", since, until, apia)) == 2


def test_hours_go_on_where_the_clock_is_put_back_by_half_an_hour() -> None:
    howe = ZoneInfo("Australia/Lord_Howe")
    since, until = datetime(2026, 4, 5, tzinfo=howe), datetime(2026, 4, 5, 4, tzinfo=howe)
    told = [
        at.astimezone(howe) for at in filled("hour", since, until, howe) if isinstance(at, datetime)
    ]
    assert [(at.hour, at.minute) for at in told] == [(0, 0), (1, 0), (2, 0), (3, 0)]


def test_the_calendar_ends() -> None:
    last = datetime(9999, 12, 31, 23, tzinfo=UTC)
    assert filled("day", last, last + timedelta(minutes=59), UTC) == [last.replace(hour=0)]


def test_a_period_that_begins_within_a_piece_of_time_begins_with_that_piece() -> None:
    assert filled("day", day(1, 13), day(2, 1), UTC) == [day(1), day(2)]
    assert filled("day", day(1, 13), day(2, 0), UTC) == [day(1)], "the end is not in it"


def test_weeks_begin_on_monday_and_zones_may_be_off_by_minutes() -> None:
    assert filled("week", day(7), day(13), UTC) == [day(5), day(12)]
    (hour,) = filled("hour", day(1, 3), day(1, 3) + timedelta(minutes=15), KATHMANDU)
    assert hour == day(1, 2) + timedelta(minutes=15), "08:00 in Kathmandu"


@pytest.mark.parametrize("limit", [3, 4])
def test_more_pieces_than_may_be_shown_are_not_made_up(limit: int) -> None:
    shown = filled("day", day(1), day(5), UTC, {"day": day(2)}, limit=limit)
    assert len(shown) == (4 if limit == 4 else 1)
    asked = Question(since=day(1), until=day(5), by=("day",), limit=limit)
    assert lacks_gaps(WASTE, asked) is (limit == 3)
