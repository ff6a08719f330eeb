"""Every report says of a small year what its events say."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from bench.population.loading import load
from bench.population.population import END, Size
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.independent.comparing import HELD, differences, second
from tests.independent.comparing import YEAR as YEAR_LONG
from tests.independent.standing import leave_standing
from tests.support.ledgers import app_engine
from tests.support.postgres import fresh_database

pytestmark = pytest.mark.postgres

YEAR = Size(jobs=160, days=365, templates=60, open_jobs=10, seed=17)


@pytest.fixture(scope="module")
def year(postgres_server: EmbeddedPostgres, ledger_template: str) -> Iterator[Engine]:
    """A year of some 160 jobs."""
    with fresh_database(postgres_server, ledger_template) as url, app_engine(url) as engine:
        load(url, YEAR)
        assert leave_standing(url) > 0
        yield engine


@pytest.mark.parametrize("name", HELD)
def test_a_report_says_what_the_events_say(year: Engine, name: str) -> None:
    assert list(differences(year, year, name)) == []


def test_every_report_has_something_to_say_of_the_year(year: Engine) -> None:
    """Two empty answers are alike, too."""
    assert [name for name in HELD if not second(year, name, END - YEAR_LONG, END)] == []


def test_no_report_is_left_out() -> None:
    assert set(HELD) == set(REPORTS)
