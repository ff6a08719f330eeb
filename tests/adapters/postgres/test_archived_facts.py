"""What reports say of a job stays when it leaves the log, and comes back from the files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import psycopg
import pytest
from psycopg import sql

from bench.population.life import RULES
from jobledger.adapters.forensics.archive_files import bundles
from jobledger.adapters.postgres.connection.statements import end_of_log
from jobledger.adapters.postgres.refolding.processes import shared_among
from jobledger.adapters.postgres.report_v1.views import VERSION, VIEWS
from jobledger.adapters.postgres.reports.projecting import rebuild as report_rebuild
from jobledger.adapters.postgres.reports.projecting.archived import jobs_without_facts
from jobledger.adapters.postgres.reports.projecting.rebuild import check_reports, rebuild_reports
from jobledger.adapters.postgres.schema.report_tables import FACTS
from jobledger.core.errors import LedgerError
from jobledger.core.log.envelope import StoredEvent
from tests.adapters.postgres.archive_site import OLD_MONTH_DAYS, Site, filled_site, gone
from tests.adapters.postgres.test_archive_locks import Keeping
from tests.support import rayjob_stories as stories
from tests.support.postgres import plain_url
from tests.support.reported import differences, project_all

pytestmark = pytest.mark.postgres

OF_THE_LOG = frozenset({"controller_health"})
"""Views of the ledger as it is now, and not of the past."""


@pytest.fixture
def site(ledger_url: str, tmp_path: Path) -> Iterator[Site]:
    """A filled ledger."""
    with filled_site(ledger_url, tmp_path) as made:
        yield made


def told(site: Site) -> dict[str, list[object]]:
    """Return every row of every reporting view about the past."""
    with psycopg.connect(plain_url(site.url)) as connection:
        return {
            view.name: sorted(
                connection.execute(
                    sql.SQL("SELECT * FROM {}").format(sql.Identifier(VERSION, view.name))
                ).fetchall(),
                key=str,
            )
            for view in VIEWS
            if view.name not in OF_THE_LOG
        }


def reported(site: Site, table: str) -> set[object]:
    with psycopg.connect(plain_url(site.url)) as connection:
        query = sql.SQL("SELECT DISTINCT stream_id FROM {}").format(sql.Identifier(table))
        return {stream for (stream,) in connection.execute(query).fetchall()}


def archived(site: Site) -> list[tuple[StoredEvent, ...]]:
    return [
        bundle.events
        for record in site.ledger.archives.records()
        for bundle in bundles(site.directory / record.file.name)
    ]


def changed(site: Site) -> list[tuple[str, str]]:
    found = check_reports(site.engine, RULES, archived=archived(site))
    return [(one.table, one.column) for one in found]


@pytest.mark.parametrize("age_days", [0, OLD_MONTH_DAYS], ids=["job by job", "a month at once"])
def test_every_view_says_the_same_before_and_after(site: Site, age_days: int) -> None:
    site.fill({"old": gone(lambda: (*stories.working(), *stories.failing()))}, age_days)
    project_all(site.engine)
    before = told(site)
    assert site.archive().jobs == 3
    assert told(site) == before
    assert project_all(site.engine) == 0
    rebuild_reports(site.engine, RULES)
    assert told(site) == before
    assert differences(site.engine) == []
    assert reported(site, "report_job") == set(site.streams.values())


def test_what_reports_lack_is_caught_up_with_before_a_job_leaves(site: Site) -> None:
    assert reported(site, "report_job") == set()
    site.archive()
    assert reported(site, "report_job") == set(site.streams.values())


def test_no_job_leaves_while_reports_are_behind_it(site: Site) -> None:
    site.fill({"old": gone(stories.succeeded)}, OLD_MONTH_DAYS)
    site.archive(Keeping(site.engine))
    site.tamper("UPDATE report_checkpoint SET position = position - 1")
    assert list(site.ledger.archives.drop_partitions()) == []
    with pytest.raises(LedgerError, match="the reports are behind the jobs of an archive"):
        list(site.ledger.archives.remove(1))
    assert set(site.streams.values()) == site.in_the_log()


def test_facts_that_are_lost_come_back_from_the_files(site: Site) -> None:
    project_all(site.engine)
    before = told(site)
    site.archive()
    done = site.streams["done"]
    for table in FACTS:
        with psycopg.connect(plain_url(site.url)) as connection:
            lose = sql.SQL("DELETE FROM {} WHERE stream_id = %s").format(sql.Identifier(table))
            connection.execute(lose, (done,))
    assert jobs_without_facts(site.engine) == 1
    assert {table for table, _ in changed(site)} >= {"report_job", "report_attempt"}
    rebuild_reports(site.engine, RULES, archived=archived(site))
    assert jobs_without_facts(site.engine) == 0
    assert told(site) == before
    assert changed(site) == []


def test_facts_of_an_archived_job_that_were_changed_are_found_by_its_file(site: Site) -> None:
    site.archive()
    failed = site.streams["failed"]
    site.tamper("UPDATE report_failure SET cause = 'x' WHERE stream_id = %s", failed)
    assert set(changed(site)) == {("report_failure", "cause")}
    rebuild_reports(site.engine, RULES)
    assert set(changed(site)) == {("report_failure", "cause")}, "without the files they stay"
    rebuild_reports(site.engine, RULES, archived=archived(site))
    assert changed(site) == []


def leaving(site: Site) -> Callable[[int, int], None]:
    """Return what has the jobs archived once a rebuild has read all of them."""

    def leave(_done: int, _all: int) -> None:
        if site.in_the_log() == set(site.streams.values()):
            site.archive()

    return leave


def test_a_job_that_leaves_while_reports_are_rebuilt_is_in_them(site: Site) -> None:
    project_all(site.engine)
    before = told(site)
    rebuild_reports(site.engine, RULES, leaving(site))
    assert len(site.in_the_log()) == 2
    assert told(site) == before


def test_a_job_that_leaves_while_reports_are_checked_is_not_told_to_differ(site: Site) -> None:
    project_all(site.engine)

    def meanwhile(*given: object, **named: object) -> object:
        assert len(site.archive().records) == 1
        return shared_among(*given, **named)  # type: ignore[arg-type]  # handed on as it is

    with patch.object(report_rebuild, "shared_among", meanwhile):
        assert list(check_reports(site.engine, RULES)) == []


def test_facts_of_a_rebuild_that_lack_an_event_do_not_count(site: Site) -> None:
    """The rebuild read the job up to the event before its last, which it could not read later."""
    project_all(site.engine)
    before = told(site)
    last = site.ledger.store.read_stream(site.streams["failed"])[-1].position
    positions = iter([last - 1])
    with patch.object(report_rebuild, "end_of_log", lambda c: next(positions, end_of_log(c))):
        rebuild_reports(site.engine, RULES, leaving(site))
    assert told(site) == before
