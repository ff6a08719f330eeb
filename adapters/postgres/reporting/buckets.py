"""Hours, days and weeks in which nothing happened are rows too: a gap in time must show."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from adapters.postgres.reporting.dimensions import BUCKETS
from adapters.postgres.reporting.report import Question, Report, Row, Value
from core.values.instants import Instant


def without_gaps(rows: Sequence[Row], report: Report, question: Question) -> Sequence[Row]:
    """Return the rows with those that are missing between `since` and `until`.

    Only if they are grouped by one piece of time and nothing else, and only as far as the limit
    allows. What counts or adds up is zero in them, everything else is unknown.
    """
    if not in_time_only(question.by):
        return rows
    (bucket,) = question.by
    there: Mapping[Value, Row] = {row[bucket]: row for row in rows}
    starts = pieces(bucket, question)
    if not starts or not set(there) <= set(starts):
        return rows
    empty = {item.name: 0 if item.unit.is_additive else None for item in report.columns}
    return [there.get(start, {bucket: start, **empty}) for start in starts]


def in_time_only(by: Sequence[str]) -> bool:
    """Return whether rows are grouped by one piece of time and nothing else."""
    return len(by) == 1 and by[0] in BUCKETS


def pieces(bucket: str, question: Question) -> Sequence[Instant]:
    """Return when each piece that the period touches begins; nothing, if they pass the limit."""
    starts = list(_starts(bucket, question))
    return starts if len(starts) <= question.limit else []


def _starts(bucket: str, question: Question) -> Iterator[Instant]:
    start = _beginning(bucket, question.since.astimezone(question.zone))
    for _ in range(question.limit + 1):
        if start >= question.until:
            return
        yield start
        start = _next(bucket, start, question.zone)


def _beginning(bucket: str, at: datetime) -> Instant:
    """Return when the hour, day or week of an instant began there."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    if bucket == "hour":
        return hour.astimezone(UTC)
    day = hour.replace(hour=0, fold=0)
    back = timedelta(days=day.weekday() if bucket == "week" else 0)
    return (day - back).astimezone(UTC)  # by the clock on the wall: days are not always 24 hours


def _next(bucket: str, start: Instant, zone: tzinfo) -> Instant:
    if bucket == "hour":
        return _beginning(bucket, (start + timedelta(hours=1)).astimezone(zone))
    days = timedelta(days=7 if bucket == "week" else 1)
    return (start.astimezone(zone).replace(tzinfo=None) + days).replace(tzinfo=zone).astimezone(UTC)
