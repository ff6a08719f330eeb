"""Advisory locks that are left: any login may take them, and nobody waits for ever or unknowing."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from alembic.config import Config
from sqlalchemy import Engine

from bench.population.life import RULES
from jobledger.adapters.postgres.archive.archives import PostgresArchives
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.reports.projecting import projector as report_projector
from jobledger.adapters.postgres.reports.projecting.checkpoint import report_lag
from jobledger.adapters.postgres.reports.projecting.projector import ReportService
from jobledger.adapters.postgres.reports.projecting.rebuild import rebuild_reports
from jobledger.adapters.postgres.schema import version as schema_version
from jobledger.core.errors import LedgerMisconfigured, LedgerUnavailable
from tests.support.postgres import plain_url
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres

NAMED = r"held by session \d+ \(user \w+, application stranger\).*pg_terminate_backend\(\d+\)"


@contextmanager
def held(url: str, first: int, second: str) -> Iterator[None]:
    """Hold a lock in a session that does nothing else."""
    with psycopg.connect(plain_url(url), application_name="stranger") as stranger:
        stranger.execute(f"SELECT pg_advisory_lock({first}, {second})".encode())
        try:
            yield
        finally:  # a session that ends lets go of its locks some time after its client has left
            stranger.rollback()
            stranger.execute("SELECT pg_advisory_unlock_all()")


def test_a_migration_gives_up_in_time_and_names_who_is_in_its_way(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hasty() -> Config:
        made = real()
        made.attributes["wait_seconds"] = 1
        return made

    real = schema_version.config
    monkeypatch.setattr(schema_version, "config", hasty)
    with (
        held(database_url, 1246708300, "3"),
        pytest.raises(LedgerUnavailable, match=f"no migration for 1 s.*{NAMED}"),
    ):
        schema_version.upgrade(database_url)
    schema_version.upgrade(database_url)
    assert schema_version.status(database_url).usable


def test_an_archive_is_refused_at_once_and_names_who_is_in_its_way(ledger_url: str) -> None:
    engine = open_engine(ledger_url)
    archives = PostgresArchives(engine)
    with held(ledger_url, 1246708300, "4"), pytest.raises(LedgerMisconfigured, match=NAMED):
        archives.alone().__enter__()
    with archives.alone():
        pass
    engine.dispose()


def test_so_is_a_rebuild_of_the_reports(unreported: Engine, reported_url: str) -> None:
    number = "hashtext(CAST(current_schema() AS text))"
    with held(reported_url, 1246708309, number), pytest.raises(LedgerUnavailable, match=NAMED):
        rebuild_reports(unreported, RULES)


def test_reports_go_on_without_the_lock_if_nobody_carries_them_on(
    unreported: Engine, reported_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_projector, "STILL_SECONDS", 0.0)
    monkeypatch.setattr(report_projector, "TROUBLE_SECONDS", 0.05)
    assert report_lag(unreported).events > 0
    service = ReportService(unreported, RULES)
    with held(reported_url, 1246708308, "hashtext(CAST(current_schema() AS text))"):
        service.start()
        try:
            wait_until(lambda: report_lag(unreported).events == 0, "the tables are up to date", 60)
        finally:
            service.stop()
