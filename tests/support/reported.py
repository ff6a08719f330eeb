"""Ledgers with a small made-up platform in them, facts behind the reports included."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine

from bench.population.life import RULES
from bench.population.loading import load
from bench.population.population import Size
from jobledger.adapters.postgres.reports.projecting.projector import Projector
from jobledger.adapters.postgres.reports.projecting.rebuild import check_reports
from jobledger.adapters.postgres.schema.report_tables import FACTS
from jobledger.core.values.instants import Instant
from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.support.ledgers import app_engine
from tests.support.postgres import fresh_database, plain_url

SMALL = Size(jobs=12, days=4, templates=10, open_jobs=3, seed=4)


@pytest.fixture(scope="session")
def reported_template(postgres_server: EmbeddedPostgres, ledger_template: str) -> Iterator[str]:
    """The name of a database with a few jobs and their facts, to be copied."""
    with fresh_database(postgres_server, ledger_template) as url:
        load(url, SMALL)
        yield url.rsplit("/", 1)[1]


@pytest.fixture
def reported_url(postgres_server: EmbeddedPostgres, reported_template: str) -> Iterator[str]:
    """A database with a few jobs and their facts; the URL is that of a superuser."""
    with fresh_database(postgres_server, reported_template) as url:
        yield url


@pytest.fixture(scope="session")
def reported_reading_url(
    postgres_server: EmbeddedPostgres, reported_template: str
) -> Iterator[str]:
    """The same for tests that only read, which share it."""
    with fresh_database(postgres_server, reported_template) as url:
        yield url


@pytest.fixture
def unreported(reported_url: str) -> Iterator[Engine]:
    """The same jobs, as the service connects; nothing of them was projected yet."""
    with psycopg.connect(plain_url(reported_url)) as connection:
        connection.execute(f"TRUNCATE {', '.join(FACTS)}, report_dimension")
        connection.execute("UPDATE report_checkpoint SET position = 0, recorded_at = NULL")
    with app_engine(reported_url) as engine:
        yield engine


@contextmanager
def admin(url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Connect as the superuser; each statement is its own transaction."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        yield connection


def project_all(engine: Engine, batch_events: int = 500) -> int:
    """Carry the reporting tables on to the end of the log; return in how many batches."""
    projector, batches = Projector(RULES, batch_events), 0
    with engine.connect() as connection:
        while projector.step(connection):
            batches += 1
    return batches


def differences(engine: Engine) -> list[object]:
    """Return what of the reporting tables is not what the log says."""
    return list(check_reports(engine, RULES))


def held(attempt: Mapping[str, Any], until: Instant) -> float:
    """Return for how many seconds an attempt of the view held its cluster, up to an instant."""
    since = attempt["standing_since"]
    stands = (until - since).total_seconds() if since is not None else 0.0
    return float(attempt["cluster_seconds"]) + stands
