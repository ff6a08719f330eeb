"""What reports say of hours, days and weeks, against plain SQL over the views."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from bench.sample import END
from jobledger.adapters.postgres.reports.asking.asking import ask
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Question

pytestmark = pytest.mark.postgres

SINCE = END - timedelta(days=28)


@pytest.mark.parametrize("bucket", ["hour", "day", "week"])
@pytest.mark.parametrize(
    ("name", "counted", "view", "instant"),
    [
        ("waste", "attempts", "report_v1.attempts", "started_at"),
        ("flaky", "runs", "report_v1.jobs", "ended_at"),
        ("failures", "failures", "report_v1.failures", "failed_at"),
        ("retries", "retries", "report_v1.retries", "granted_at"),
        ("start-latency", "attempts", "report_v1.attempts", "started_at"),
        ("durations", "jobs", "report_v1.jobs", "ended_at"),
        ("slo", "jobs", "report_v1.jobs", "created_at"),
        ("busiest", "attempts", "report_v1.attempts", "started_at"),
    ],
)
def test_zero_of_an_hour_a_day_or_a_week_means_that_there_was_nothing(
    sample_engine: Engine, name: str, counted: str, view: str, instant: str, bucket: str
) -> None:
    """Also where a report lists only groups with something bad in them."""
    report = REPORTS[name]
    thresholds = {item.name: item.default for item in report.thresholds}
    asked = Question(since=SINCE, until=END, by=(bucket,), limit=1_000, thresholds=thresholds)
    told = ask(sample_engine, report, asked)
    of_runs = " AND outcome IN ('succeeded', 'failed')" if name == "flaky" else ""
    plain = text(
        f"SELECT date_trunc('{bucket}', {instant}, 'UTC') AS at, count(*) FROM {view}"
        f" WHERE {instant} >= :since AND {instant} < :until{of_runs} GROUP BY 1"
    )
    with sample_engine.connect() as connection:
        rows = connection.execute(plain, {"since": SINCE, "until": END}).all()
    found = {row[bucket]: row[counted] for row in told.rows if row[counted]}
    assert found == {row[0]: row[1] for row in rows} != {}
    assert told.total is not None
    assert told.total[counted] == sum(row[1] for row in rows)
