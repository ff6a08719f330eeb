"""The sample data (`bench.sample`), loaded once per test process; nobody changes it."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from bench.sample import load_sample
from jobledger.adapters.postgres.connection.engine import REPORT_ROLE, EngineOptions, open_engine
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.support.postgres import fresh_database


@pytest.fixture(scope="session")
def sample_url(postgres_server: EmbeddedPostgres, ledger_template: str) -> Iterator[str]:
    """A ledger with the sample data; the URL is that of a superuser."""
    with fresh_database(postgres_server, ledger_template) as url:
        load_sample(url)
        yield url


@pytest.fixture(scope="session")
def sample_engine(sample_url: str) -> Iterator[Engine]:
    """Connections to the sample data with the rights of reports and no more."""
    engine = open_engine(sample_url, EngineOptions(role=REPORT_ROLE))
    yield engine
    engine.dispose()
