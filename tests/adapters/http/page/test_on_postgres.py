"""The pages of a ledger in Postgres: reports, health, causes, and a list that stays quick."""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import text
from starlette.applications import Starlette

from bench.sample import END
from jobledger.adapters import page_wiring
from jobledger.adapters.forensic_wiring import with_api
from jobledger.adapters.http.page import reports
from jobledger.adapters.http.page.parts import PageParts
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.ledger_wiring import REPORT_SETTINGS, open_ledger, reports_engine
from jobledger.adapters.page_wiring import page_parts
from jobledger.adapters.postgres.connection import standby
from jobledger.adapters.postgres.log import history as log_history
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.core.ports.history import JobFilter
from tests.support.ledgers import app_engine
from tests.support.pages import PAGE, Pages, empty_pages
from tests.support.records import NOON

pytestmark = pytest.mark.postgres

NOBODYS = "00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def parts(sample_url: str) -> Iterator[PageParts]:
    """What the pages of the sample's ledger are made of."""
    with app_engine(sample_url) as engine:
        yield replace(page_parts(open_ledger(sample_url, engine)), now=lambda: END)


@pytest.fixture(scope="module")
def served(parts: PageParts) -> Iterator[Pages]:
    """The pages of the sample's ledger."""
    server = HttpServer(with_api(Starlette(), parts, None), "127.0.0.1", 0)
    server.start()
    pages = empty_pages()
    pages.url = server.url
    yield pages
    server.stop()


def shown(pages: Pages, path: str, status: int = 200) -> str:
    answer = pages.ask(PAGE + path)
    assert answer.status == status, answer.data
    return answer.data.decode()


@pytest.mark.parametrize("name", list(REPORTS))
def test_a_report_is_told_drawn_and_saved(served: Pages, name: str) -> None:
    told = shown(served, f"/reports/{name}?period=30d")
    assert "The SQL behind it" in told
    assert "report_v1." in told
    rows = list(csv.reader(shown(served, f"/reports/{name}/csv?period=30d").splitlines()))
    assert {column.name for column in REPORTS[name].columns} <= set(rows[0])
    assert ('<ul class="bars">' in told) == (len(rows) > 1)


def test_all_rows_are_saved_or_none(served: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = "busiest{}?period=30d&by=job"
    assert "There are more rows than are shown" in shown(served, f"/reports/{asked.format('')}")
    rows = list(csv.reader(shown(served, f"/reports/{asked.format('/csv')}").splitlines()))
    assert len(rows) - 1 > page_wiring.ROWS
    monkeypatch.setattr(reports, "CSV_ROWS_MAX", 60)
    told = shown(served, f"/reports/{asked.format('/csv')}", 400)
    assert "more than 60 rows" in told


def test_the_bar_of_a_share_is_that_share_of_its_ground(served: Pages) -> None:
    told = shown(served, "/reports/slo?period=30d&by=queue")
    widths = [float(one) for one in re.findall(r'class="fill" width="([\d.]+)%"', told)]
    shares = [float(one) for one in re.findall(r'class="barvalue">([\d.]+)%<', told)]
    assert shares
    assert max(shares) < 100, "else a bar in percent of the largest would be as long"
    assert widths == pytest.approx(shares, abs=0.06)


def test_a_period_at_the_ends_of_the_calendar_is_one_or_is_refused(served: Pages) -> None:
    assert "before the year 1" in shown(served, "/reports/failures?until=0001-01-01", 400)
    assert "before the year 1" in shown(served, "/reports/failures/csv?until=0001-01-01", 400)
    last = "from=9999-12-31T21:30:00Z&until=9999-12-31T23:59:59Z"
    rows = shown(served, f"/reports/failures/csv?by=hour&{last}").splitlines()
    hours = [row.split(",")[0] for row in rows[1:]]
    assert hours == [f"9999-12-31T{hour}:00:00Z" for hour in (21, 22, 23)]


def test_reports_are_planned_as_for_tables_in_memory(sample_url: str) -> None:
    with reports_engine(sample_url, time_limit_seconds=30) as engine, engine.connect() as session:
        found = [session.execute(text(f"SHOW {name}")).scalar_one() for name, _ in REPORT_SETTINGS]
    assert found == [value for _, value in REPORT_SETTINGS]


def test_a_report_is_told_without_the_options_of_a_command(parts: PageParts) -> None:
    assert parts.reports is not None
    told = {one.name: re.sub("`.*?`", "", one.rule) for one in parts.reports.listed()}
    assert {name: rule for name, rule in told.items() if "--" in rule} == {}
    assert "counts until the end of the period." in told["waste"]


def test_a_report_is_grouped_by_what_it_has(served: Pages) -> None:
    assert "gpu" in shown(served, "/reports/failures?period=30d&by=cause")
    assert "by is one of" in shown(served, "/reports/failures?by=nothing", 400)
    assert "There is no such report" in shown(served, "/reports/nothing", 404)


def test_health_tells_of_the_ledger(served: Pages) -> None:
    told = shown(served, "/health")
    for what in ("Events in the log", "Reports", "Seals", "Leases", "none in this process"):
        assert what in told


def test_health_of_a_standby_that_lags_says_since_when(
    served: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Standby" not in shown(served, "/health")
    monkeypatch.setattr(page_wiring, "stale_since", lambda _: NOON)
    assert "as of 2026-11-21T12:00:00Z" in shown(served, "/health")


def test_each_page_of_a_standby_that_lags_says_how_old_it_is(
    served: Pages, parts: PageParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job, *_) = parts.sources.history.jobs(JobFilter(), 1)
    pages = ("/jobs", f"/jobs/{job.stream_id}", "/pending", "/reports", "/reports/waste")
    before = {path: served.ask(PAGE + path).headers.get("ETag") for path in pages}
    assert all("standby" not in shown(served, path) for path in pages)
    monkeypatch.setattr(standby, "stale_since", lambda _: NOON)
    for path in pages:
        assert re.search(r"As of <time[^>]*2026-11-21T12:00:00", shown(served, path)), path
        assert "As of <time" in shown(served, f"/jobs/{NOBODYS}", 404), (
            "it may be younger than that"
        )
        known = before[path]
        assert known is None or served.ask(PAGE + path).headers["ETag"] != known


def test_jobs_are_found_by_the_cause_of_a_failure(
    served: Pages, parts: PageParts, sample_url: str
) -> None:
    query = "SELECT cause, count(DISTINCT stream_id) AS jobs FROM report_failure GROUP BY 1"
    with app_engine(sample_url) as engine, engine.connect() as connection:
        found = {row.cause: row.jobs for row in connection.execute(text(query))}
    assert len(found) > 1
    for cause, jobs in found.items():
        assert len(parts.sources.history.jobs(JobFilter(cause=cause), 1000)) == jobs
        assert f"All <b>{jobs}</b>" in shown(served, f"/jobs?cause={cause}")


def test_jobs_are_found_by_a_label(served: Pages, parts: PageParts, sample_url: str) -> None:
    """In the list and in the API, whether few jobs have it or so many that they are met soon."""
    query = "SELECT key || '=' || value AS label, count(*) AS jobs"
    query += " FROM report_job, jsonb_each_text(labels::jsonb) GROUP BY 1"
    with app_engine(sample_url) as engine, engine.connect() as connection:
        found = {row.label: row.jobs for row in connection.execute(text(query))}
    assert {"team=vision", "team=speech"} <= set(found)
    for label, jobs in found.items():
        wanted = JobFilter(label=label)
        rows = parts.sources.history.jobs(wanted, 1000)
        assert len(rows) == jobs == sum(parts.sources.history.counts(wanted).values())
    assert parts.sources.history.jobs(JobFilter(label="team=nobody"), 1000) == []
    jobs = found["team=vision"]
    assert f"All <b>{jobs}</b>" in shown(served, "/jobs?label=team%3Dvision")
    told = json.loads(served.ask("/api/v1/jobs?label=team%3Dvision&limit=500").data)
    assert len(told["items"]) == jobs


@pytest.mark.parametrize("few", [0, 1000])
def test_a_search_finds_the_same_by_either_way(
    parts: PageParts, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    history = parts.sources.history
    every = history.jobs(JobFilter(), 1000)
    one = every[len(every) // 2]
    monkeypatch.setattr(log_history, "FEW_JOBS", few)
    by_name = [row for row in every if one.name[2:] in row.name]
    assert history.jobs(JobFilter(text=one.name[2:].upper()), 1000) == by_name
    assert history.jobs(JobFilter(text=one.uid), 1000) == [one]
    of_place = [row for row in every if row.namespace == one.namespace]
    assert history.jobs(JobFilter(text=one.namespace), 1000) == of_place
    older = JobFilter(text=one.namespace, older_than=one.stream_id)
    assert history.jobs(older, 1000) == of_place[of_place.index(one) + 1 :]
    labelled = history.jobs(JobFilter(label="team=vision"), 1000)
    assert [row for row in every if row in labelled] == labelled
    assert 0 < len(labelled) < len(every)
    failed = history.jobs(JobFilter(cause="application"), 1000)
    assert [row for row in every if row in failed] == failed != []


def test_a_ledger_that_is_gone_is_said_to_be() -> None:
    with app_engine("postgresql+psycopg://nobody@127.0.0.1:1/nothing") as engine:
        lost = replace(page_parts(open_ledger("", engine)), now=lambda: END)
        server = HttpServer(with_api(Starlette(), lost, None), "127.0.0.1", 0)
        server.start()
        pages = empty_pages()
        pages.url = server.url
        try:
            for path in ("/jobs", "/pending", "/health"):
                assert "The ledger does not answer" in shown(pages, path, 503)
        finally:
            server.stop()
