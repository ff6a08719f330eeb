"""Answers of reports, made by hand."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.dimensions import key_column
from jobledger.adapters.postgres.reports.asking.report import Answer, Question, Row

SINCE = datetime(2026, 11, 2, tzinfo=UTC)


def answer(
    name: str,
    rows: Sequence[Row],
    *,
    by: tuple[str, ...] = (),
    total: Row | None = None,
    zone: tzinfo = UTC,
    days: int = 7,
) -> Answer:
    """Return the answer of a report, about a week unless it says otherwise."""
    report = REPORTS[name]
    return Answer(
        report=report,
        question=Question(since=SINCE, until=SINCE + timedelta(days=days), by=by, zone=zone),
        keys=report.keys or tuple(key_column(key, report.dimensions) for key in by),
        rows=rows,
        total=total,
        more=False,
        events=1_000,
        events_behind=0,
    )
