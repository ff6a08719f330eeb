"""Every report says of a small year what its events say."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from bench.population.loading import load
from bench.population.population import Size
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.independent.comparing import differences
from tests.independent.queries import QUERIES
from tests.support.ledgers import app_engine
from tests.support.postgres import fresh_database

pytestmark = pytest.mark.postgres

YEAR = Size(jobs=160, days=365, templates=60, open_jobs=10, seed=17)


@pytest.fixture(scope="module")
def year(postgres_server: EmbeddedPostgres, ledger_template: str) -> Iterator[Engine]:
    """A year of some 160 jobs."""
    with fresh_database(postgres_server, ledger_template) as url, app_engine(url) as engine:
        load(url, YEAR)
        yield engine


@pytest.mark.parametrize("name", QUERIES)
def test_a_report_says_what_the_events_say(year: Engine, name: str) -> None:
    assert list(differences(year, year, name)) == []


def test_no_report_is_left_out() -> None:
    """Which jobs are `stuck` follows from the stays of their peers, which events do not tell."""
    assert set(REPORTS) - set(QUERIES) == {"stuck"}
