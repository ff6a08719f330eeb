"""The pages of a ledger in Postgres: reports, health, causes, and a list that stays quick."""

import csv
from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import text
from starlette.applications import Starlette

from bench.sample import END
from jobledger.adapters.forensic_wiring import with_api
from jobledger.adapters.http.page.parts import PageParts
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.ledger_wiring import open_ledger
from jobledger.adapters.page_wiring import page_parts
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.core.ports.history import JobFilter
from tests.support.ledgers import app_engine
from tests.support.pages import PAGE, Pages, empty_pages

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def parts(sample_url: str) -> Iterator[PageParts]:
    """What the pages of the sample's ledger are made of."""
    with app_engine(sample_url) as engine:
        yield replace(page_parts(open_ledger(sample_url, engine)), now=lambda: END)


@pytest.fixture(scope="module")
def served(parts: PageParts) -> Iterator[Pages]:
    """The pages of the sample's ledger."""
    server = HttpServer(with_api(Starlette(), parts.sources, None, parts), "127.0.0.1", 0)
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


def test_a_report_is_grouped_by_what_it_has(served: Pages) -> None:
    assert "gpu" in shown(served, "/reports/failures?period=30d&by=cause")
    assert "by is one of" in shown(served, "/reports/failures?by=nothing", 400)
    assert "There is no such report" in shown(served, "/reports/nothing", 404)


def test_health_tells_of_the_ledger(served: Pages) -> None:
    told = shown(served, "/health")
    for what in ("Events in the log", "Reports", "Seals", "Leases", "none in this process"):
        assert what in told


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


def test_a_ledger_that_is_gone_is_said_to_be() -> None:
    with app_engine("postgresql+psycopg://nobody@127.0.0.1:1/nothing") as engine:
        lost = replace(page_parts(open_ledger("", engine)), now=lambda: END)
        server = HttpServer(with_api(Starlette(), lost.sources, None, lost), "127.0.0.1", 0)
        server.start()
        pages = empty_pages()
        pages.url = server.url
        try:
            for path in ("/jobs", "/pending", "/health"):
                assert "The ledger does not answer" in shown(pages, path, 503)
        finally:
            server.stop()
