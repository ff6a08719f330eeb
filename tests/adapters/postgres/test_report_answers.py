"""What reports say about the sample data, reckoned once more in Python from single facts."""

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
import pytest
from sqlalchemy import Engine, text

from bench.sample import END
from jobledger.adapters.cli.reporting.machine_forms import as_csv, as_json, as_parquet
from jobledger.adapters.postgres.connection.engine import EngineOptions, open_engine
from jobledger.adapters.postgres.reports.asking.asking import ask
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.dimensions import BUCKETS, FILTERS
from jobledger.adapters.postgres.reports.asking.report import Answer, Question, Report, Row, Unit
from jobledger.core.errors import LedgerMisconfigured, LedgerUnavailable
from tests.support.reported import held

pytestmark = pytest.mark.postgres

SINCE = END - timedelta(days=28)
BERLIN = ZoneInfo("Europe/Berlin")
FIVE_MINUTES = timedelta(minutes=5)
Fact = Mapping[str, Any]


def answered(
    engine: Engine,
    name: str,
    *by: str,
    since: datetime = SINCE,
    until: datetime = END,
    zone: tzinfo = UTC,
    limit: int = 1_000,
    filters: Mapping[str, str] | None = None,
    **thresholds: timedelta | float,
) -> Answer:
    report = REPORTS[name]
    question = Question(
        since=since,
        until=until,
        by=by,
        zone=zone,
        limit=limit,
        filters=filters or {},
        thresholds={item.name: item.default for item in report.thresholds} | thresholds,
    )
    return ask(engine, report, question)


def facts(engine: Engine, view: str) -> Sequence[Fact]:
    with engine.connect() as connection:
        found = connection.execute(text(f"SELECT * FROM {view}")).mappings()
        return [dict(row) for row in found]


def within(at: datetime | None, since: datetime = SINCE, until: datetime = END) -> bool:
    return at is not None and since <= at < until


def number(row: Row, name: str) -> float:
    value = row[name]
    assert isinstance(value, int | float), f"{name} is {value!r}"
    return value


def percentile(values: Iterable[float | None], part: float) -> float | None:
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    place = (len(known) - 1) * part
    low = int(place)
    high = min(low + 1, len(known) - 1)
    return known[low] + (known[high] - known[low]) * (place - low)


def test_failures_are_the_failed_attempts_of_the_ledger(sample_engine: Engine) -> None:
    told = answered(sample_engine, "failures", "class", "reason")
    failed = [one for one in facts(sample_engine, "attempt") if one["outcome"] == "failed"]
    by_reason = Counter(one["reason"] for one in failed if within(one["ended_at"]))
    found: dict[str, float] = defaultdict(float)
    for row in told.rows:
        found[str(row["reason"])] += number(row, "failures")
    for reason, failures in by_reason.items():
        assert found[reason] == failures, reason
    assert told.total is not None
    single = [one for one in facts(sample_engine, "report_v1.failures") if within(one["failed_at"])]
    assert len(single) > 20, "the sample has failures to count"
    assert told.total["failures"] == len(single)
    assert told.total["jobs"] == len({one["stream_id"] for one in single})
    assert told.total["retried"] == sum(one["retried"] for one in single)
    assert told.total["final"] == sum(one["final"] for one in single)
    assert sum(number(row, "share") for row in told.rows) == pytest.approx(1)


def test_waste_is_the_cluster_time_of_failed_attempts(sample_engine: Engine) -> None:
    told = answered(sample_engine, "waste", "namespace")
    attempts = [
        one for one in facts(sample_engine, "report_v1.attempts") if within(one["started_at"])
    ]
    everything = sum(held(one, END) for one in attempts)
    for row in told.rows:
        own = [one for one in attempts if one["namespace"] == row["namespace"]]
        lost = [one for one in own if one["outcome"] in {"failed", "lost"}]
        assert row["wasted_seconds"] == pytest.approx(sum(held(one, END) for one in lost))
        assert row["wasted_share"] == pytest.approx(
            sum(held(one, END) for one in lost) / everything
        )
        assert (row["failed_attempts"], row["attempts"]) == (len(lost), len(own))
        assert row["failed_share"] == pytest.approx(len(lost) / len(own))
    assert {row["namespace"] for row in told.rows} == {
        one["namespace"] for one in attempts if one["outcome"] in {"failed", "lost"}
    }
    assert told.total is not None
    assert told.total["cluster_seconds"] == pytest.approx(everything)
    assert everything > 0


def test_start_latency_is_the_time_from_the_wish_to_the_run(sample_engine: Engine) -> None:
    told = answered(sample_engine, "start-latency", "queue")
    starts = [
        one
        for one in facts(sample_engine, "report_v1.queue_and_start_latency")
        if within(one["started_at"])
    ]
    assert {row["queue"] for row in told.rows} == {one["queue"] for one in starts}
    for row in told.rows:
        own = [one for one in starts if one["queue"] == row["queue"]]
        waited = [
            (one["running_at"] - one["waiting_since"]).total_seconds()
            if one["running_at"]
            else None
            for one in own
        ]
        assert row["attempts"] == len(own)
        assert row["ran"] == sum(value is not None for value in waited)
        for name, part in (("p50_seconds", 0.5), ("p95_seconds", 0.95), ("p99_seconds", 0.99)):
            assert row[name] == pytest.approx(percentile(waited, part), abs=1e-3), row["queue"]
        queued = percentile((one["queue_seconds"] for one in own), 0.95)
        assert row["queue_p95_seconds"] == pytest.approx(queued, abs=1e-3)


@pytest.mark.parametrize("limit", [timedelta(seconds=30), FIVE_MINUTES, timedelta(hours=2)])
def test_a_good_job_started_in_time_and_succeeded(sample_engine: Engine, limit: timedelta) -> None:
    told = answered(sample_engine, "slo", "queue", within=limit, target=0.75)
    jobs = [one for one in facts(sample_engine, "report_v1.jobs") if within(one["created_at"])]
    assert told.total is not None
    assert told.total["jobs"] == len(jobs) == 200
    for row in told.rows:
        judged = good = undecided = 0
        for one in jobs:
            if one["queue"] != row["queue"] or one["outcome"] in {"stopped", "deleted"}:
                continue
            latest = one["created_at"] + limit
            started = one["running_at"] is not None and one["running_at"] <= latest
            if one["outcome"] == "" and (started or (one["running_at"] is None and latest >= END)):
                undecided += 1
                continue
            judged += 1
            good += started and one["outcome"] == "succeeded"
        assert (row["judged"], row["good"], row["open"]) == (judged, good, undecided), row["queue"]
        assert row["good_share"] == pytest.approx(good / judged)
        assert row["met"] is (good / judged >= 0.75)


def test_retries_helped_if_the_next_attempt_succeeded(sample_engine: Engine) -> None:
    told = answered(sample_engine, "retries", "class").total
    attempts = facts(sample_engine, "attempt")
    by_place = {(one["stream_id"], one["number"]): one for one in attempts}
    retried = [one for one in attempts if one["retried"]]
    nexts = [by_place.get((one["stream_id"], one["number"] + 1)) for one in retried]
    outcomes = Counter(one["outcome"] for one in nexts if one is not None)
    assert told is not None
    assert told["retries"] == len(retried) > 10
    assert told["helped"] == outcomes["succeeded"]


def test_durations_are_those_of_jobs_that_ended(sample_engine: Engine) -> None:
    told = answered(sample_engine, "durations").total
    jobs = [one for one in facts(sample_engine, "job") if within(one["ended_at"])]
    lasted = [(one["ended_at"] - one["created_at"]).total_seconds() for one in jobs]
    assert told is not None
    assert told["jobs"] == len(jobs)
    assert told["p50_seconds"] == pytest.approx(percentile(lasted, 0.5), abs=1e-3)
    assert told["max_seconds"] == pytest.approx(max(lasted), abs=1e-3)


def test_flaky_is_what_succeeded_after_a_failed_attempt(sample_engine: Engine) -> None:
    told = answered(sample_engine, "flaky", "family")
    jobs = [
        one
        for one in facts(sample_engine, "job")
        if within(one["ended_at"]) and one["phase"] == "Complete" and one["failed"] > 0
    ]
    families = Counter(f"{one['namespace']}/{one['name'].rsplit('-', 1)[0]}" for one in jobs)
    rayjobs = {str(row["family"]): row["flaky_runs"] for row in told.rows}
    assert families
    for family, runs in families.items():
        assert rayjobs[family] == runs, family


def test_stuck_is_what_stands_longer_than_its_peers(sample_engine: Engine) -> None:
    told = answered(sample_engine, "stuck")
    stays = [
        one
        for one in facts(sample_engine, "report_v1.phases")
        if within(one["entered_at"]) and one["left_at"] is not None
    ]
    standing = [
        one
        for one in facts(sample_engine, "report_v1.jobs")
        if one["open"] and one["ended_at"] is None
    ]
    expected = set()
    for one in standing:
        peers = [
            stay["seconds"]
            for stay in stays
            if (stay["kind"], stay["phase"]) == (one["kind"], one["phase"])
        ]
        limit = percentile(peers, 0.99) if len(peers) >= 20 else None
        if limit is not None and (END - one["phase_since"]).total_seconds() > limit:
            expected.add((one["cluster"], f"{one['namespace']}/{one['name']}"))
    assert {(row["cluster"], row["job"]) for row in told.rows} == expected != set()
    day = answered(sample_engine, "stuck", longer_than=timedelta(days=1))
    assert {row["job"] for row in day.rows} == {
        f"{one['namespace']}/{one['name']}"
        for one in standing
        if END - one["phase_since"] > timedelta(days=1)
    }
    assert answered(sample_engine, "stuck", longer_than=timedelta(days=900)).rows == []


def test_busiest_shares_add_up_to_everything(sample_engine: Engine) -> None:
    told = answered(sample_engine, "busiest", "namespace", "user")
    assert told.total is not None
    assert sum(number(row, "share") for row in told.rows) == pytest.approx(1)
    for name in ("cluster_seconds", "attempts", "failed_attempts"):
        summed = sum(number(row, name) for row in told.rows)
        assert summed == pytest.approx(told.total[name])
    assert told.total["jobs"] == 197  # of 200: what was never admitted has no attempt


def test_a_period_is_half_open(sample_engine: Engine) -> None:
    """The instant of a failure is in the period that begins then, not in the one that ends then."""
    at = facts(sample_engine, "report_v1.failures")[0]["failed_at"]
    hour = timedelta(hours=1)
    before = answered(sample_engine, "failures", since=at - hour, until=at).total
    after = answered(sample_engine, "failures", since=at, until=at + hour).total
    both = answered(sample_engine, "failures", since=at - hour, until=at + hour).total
    assert before is not None
    assert after is not None
    assert both is not None
    assert number(after, "failures") >= 1
    assert number(before, "failures") + number(after, "failures") == both["failures"]


@pytest.mark.parametrize("zone", [UTC, BERLIN, ZoneInfo("Asia/Kolkata")], ids=str)
def test_a_day_is_one_of_the_zone_that_was_asked_for(sample_engine: Engine, zone: tzinfo) -> None:
    """The period has the day in it on which summer time ends in Berlin."""
    told = answered(sample_engine, "busiest", "day", zone=zone)
    days = Counter(
        one["started_at"].astimezone(zone).date()
        for one in facts(sample_engine, "report_v1.attempts")
        if within(one["started_at"])
    )
    found = {
        row["day"].astimezone(zone).date(): row["attempts"]
        for row in told.rows
        if isinstance(row["day"], datetime)
    }
    assert {day: number for day, number in found.items() if number} == days
    assert len(told.rows) == (28 if zone is UTC else 29), "days without anything are rows too"


def everything_to_ask() -> list[tuple[str, tuple[str, ...]]]:
    def cuts(report: Report) -> list[tuple[str, ...]]:
        single = [(name,) for name in (*report.dimensions, *(BUCKETS if report.dated else ()))]
        several = [("week", "namespace", "kind")] if report.dated else []
        return [(), report.default_by, *single, *several]

    return [(name, by) for name, report in REPORTS.items() for by in dict.fromkeys(cuts(report))]


def test_every_report_answers_however_it_is_cut(sample_engine: Engine) -> None:
    for name, by in everything_to_ask():
        told = answered(sample_engine, name, *by, zone=BERLIN, limit=3)
        assert len(told.rows) <= 3
        columns = {column.name for column in told.columns}
        assert all(set(row) == columns for row in told.rows), (name, by)


@pytest.mark.parametrize("name", sorted(set(REPORTS) - {"idle"}))  # none is in the sample
def test_every_form_of_every_report_says_the_same(sample_engine: Engine, name: str) -> None:
    told = answered(sample_engine, name, *REPORTS[name].default_by)
    document = json.loads(as_json(told))
    lines = list(csv.DictReader(io.StringIO(as_csv(told))))
    packed = pq.read_table(io.BytesIO(as_parquet(told))).to_pylist()
    assert len(told.rows) == len(document["rows"]) == len(lines) == len(packed) > 0
    for row, line, parquet in zip(document["rows"], lines, packed, strict=True):
        for column in told.columns:
            value = row[column.name]
            if column.unit.is_number or column.unit is Unit.TEXT:
                assert line[column.name] == ("" if value is None else str(value))
                assert parquet[column.name] == pytest.approx(value)
            if column.unit is Unit.INSTANT and value is not None:
                assert line[column.name] == value
                assert parquet[column.name] == datetime.fromisoformat(value)


@pytest.mark.parametrize("dimension", FILTERS)
def test_a_filter_narrows_every_report(sample_engine: Engine, dimension: str) -> None:
    column = "user_name" if dimension == "user" else dimension
    (some, *_) = facts(sample_engine, "report_v1.failures")
    for name in REPORTS:
        own = answered(sample_engine, name, filters={dimension: some[column]})
        none = answered(sample_engine, name, filters={dimension: "no such thing"})
        if REPORTS[name].snapshot:
            assert none.rows == []
            continue
        assert own.total is not None
        assert none.total is not None
        assert not any(isinstance(value, int) and value for value in none.total.values()), name
    narrowed = answered(sample_engine, "failures", filters={dimension: some[column]}).total
    assert narrowed is not None
    assert narrowed["failures"] == sum(
        one[column] == some[column] for one in facts(sample_engine, "report_v1.failures")
    )


def test_rows_beyond_the_limit_are_in_the_total(sample_engine: Engine) -> None:
    whole = answered(sample_engine, "busiest", "user")
    cut = answered(sample_engine, "busiest", "user", limit=2)
    assert cut.more
    assert not whole.more
    assert list(cut.rows) == list(whole.rows)[:2]
    assert cut.total == whole.total


def test_an_answer_says_how_far_behind_it_is(sample_engine: Engine) -> None:
    told = answered(sample_engine, "waste")
    assert (told.events > 1_000, told.events_behind) == (True, 0)


def test_an_empty_ledger_answers_with_nothing(engine: Engine) -> None:
    for name, report in REPORTS.items():
        told = answered(engine, name, *report.default_by)
        assert (list(told.rows), told.events, told.more) == ([], 0, False), name


@pytest.mark.parametrize(
    ("zone", "since", "days"),
    [
        ("CET", datetime(2026, 10, 23, tzinfo=UTC), 10),
        ("America/Santiago", datetime(2026, 9, 4, tzinfo=UTC), 62),
    ],
    ids=["an abbreviation without summer in Postgres", "its 6 September begins at 01:00"],
)
def test_pieces_of_time_begin_where_the_zone_says_and_nowhere_else(
    sample_engine: Engine, zone: str, since: datetime, days: int
) -> None:
    there, until = ZoneInfo(zone), since + timedelta(days=days)
    for bucket, pieces in (("day", days), ("hour", 24 * days)):
        cut = answered(
            sample_engine, "busiest", bucket, since=since, until=until, zone=there, limit=9_999
        )
        assert len(cut.rows) in {pieces, pieces + 1}, bucket
        started = (one["started_at"] for one in facts(sample_engine, "report_v1.attempts"))
        counted = Counter(_local(at, bucket, there) for at in started if since <= at < until)
        said = {_local(row[bucket], bucket, there): row["attempts"] for row in cut.rows}
        assert {piece: count for piece, count in said.items() if count} == counted, bucket


def _local(at: Any, bucket: str, zone: tzinfo) -> str:  # noqa: ANN401 a cell
    return f"{at.astimezone(zone):{'%F' if bucket == 'day' else '%F %H %z'}}"


def test_a_period_of_too_many_hours_is_refused(sample_engine: Engine) -> None:
    with pytest.raises(LedgerMisconfigured, match="more than 100,000 hours; ask about a shorter"):
        answered(sample_engine, "waste", "hour", since=datetime(1970, 1, 1, tzinfo=UTC))


def test_a_question_that_takes_too_long_is_given_up(sample_url: str) -> None:
    slow = replace(
        REPORTS["waste"], sql="SELECT true AS is_total, 1 AS wasted_seconds FROM pg_sleep(60)"
    )
    engine = open_engine(sample_url, EngineOptions(statement_timeout_seconds=4))
    try:
        with pytest.raises(LedgerUnavailable, match="took too long for waste; ask about a shorter"):
            ask(engine, slow, Question(since=SINCE, until=END))
    finally:
        engine.dispose()
