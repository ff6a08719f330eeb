"""Time buckets (hours, days, weeks); empty ones are rows too.

A gap in time must show. Postgres is handed the beginnings: its rules of time zones may be others.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

from jobledger.adapters.postgres.reports.asking.dimensions import BUCKETS
from jobledger.adapters.postgres.reports.asking.report import (
    Question,
    Report,
    Row,
    Value,
    grouped_by,
)
from jobledger.core.values.instants import Instant


def without_gaps(rows: Sequence[Row], report: Report, question: Question) -> Sequence[Row]:
    """Return the rows with those that are missing between `since` and `until`.

    Only if they are grouped by one piece of time and nothing else, and only as far as the limit
    allows. What counts or adds up is zero in them, everything else is unknown.
    """
    if not in_time_only(grouped_by(report, question)):
        return rows
    (bucket,) = question.by
    there: Mapping[Value, Row] = {row[bucket]: row for row in rows}
    starts = pieces(bucket, question)
    if not starts:
        return rows
    empty = {item.name: 0 if item.unit.is_additive else None for item in report.columns}
    return [there.get(start, {bucket: start, **empty}) for start in starts]


def in_time_only(by: Sequence[str]) -> bool:
    """Return whether rows are grouped by one piece of time and nothing else."""
    return len(by) == 1 and by[0] in BUCKETS


def lacks_gaps(report: Report, question: Question) -> bool:
    """Return whether rows for pieces without anything are left out, because they pass the limit."""
    by = grouped_by(report, question)
    return in_time_only(by) and not pieces(by[0], question)


def pieces(bucket: str, question: Question) -> Sequence[Instant]:
    """Return when each piece that the period touches begins; nothing, if they pass the limit."""
    found = starts(bucket, question, question.limit)
    return found if len(found) <= question.limit else []


def starts(bucket: str, question: Question, most: int) -> Sequence[Instant]:
    """Return when each piece that the period touches begins, in order; at most one over `most`."""
    found = _hours(question) if bucket == "hour" else _days(question, 7 if bucket == "week" else 1)
    return list(islice(found, most + 1))


def _hours(question: Question) -> Iterator[Instant]:
    """Yield the full hours by the clock on the wall: not of 60 minutes where it is put by 30."""
    try:
        start = _full_hour(question.since, question)
        while start < question.until:
            yield start
            soon = _full_hour(start + timedelta(hours=1), question)
            start = soon if soon > start else _full_hour(start + timedelta(hours=2), question)
    except OverflowError:  # the calendar ends with the year 9999
        return


def _full_hour(at: Instant, question: Question) -> Instant:
    there = at.astimezone(question.zone).replace(minute=0, second=0, microsecond=0)
    return there.astimezone(UTC)


def _days(question: Question, length: int) -> Iterator[Instant]:
    """Yield the beginnings of days, or of weeks: Mondays.

    A day without midnight begins when the clock is put forward, one with two at the first. One that
    is left out altogether has no beginning of its own.
    """
    zone = question.zone
    day = question.since.astimezone(zone).date()
    day -= timedelta(days=day.weekday() if length > 1 else 0)
    before: Instant | None = None
    try:
        while True:
            start = datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
            if start >= question.until:
                return
            if before is None or start > before:
                yield start
            before, day = start, day + timedelta(days=length)
    except OverflowError:  # the calendar ends with the year 9999
        return
