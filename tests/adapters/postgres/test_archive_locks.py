"""Jobs leave the log in small steps, and nothing that reports say of them stays or comes back."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import text

from jobledger.adapters.postgres.archive.archives import PostgresArchives, Removed
from tests.adapters.postgres.archive_site import OLD_MONTH_DAYS, Site, filled_site, gone
from tests.support import rayjob_stories as stories
from tests.support.ledgers import APPEND_LOCK
from tests.support.postgres import plain_url
from tests.support.records import NOON
from tests.support.reported import project_all
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres


@pytest.fixture
def site(ledger_url: str, tmp_path: Path) -> Iterator[Site]:
    """A filled ledger."""
    with filled_site(ledger_url, tmp_path) as made:
        yield made


class Keeping(PostgresArchives):
    """Keeps the record and takes nothing out of the log."""

    def remove(self, number: int) -> Iterator[Removed]:  # noqa: ARG002 that of the port
        yield from ()

    def drop_partitions(self) -> Iterator[Removed]:
        yield from ()


def told(site: Site, table: str) -> int:
    """Return how many rows of old jobs a table has."""
    with psycopg.connect(plain_url(site.url)) as connection:
        query = "SELECT count(*) FROM {} WHERE stream_id < first_stream_of_v1('2023-01-01')"
        row = connection.execute(sql.SQL(query).format(sql.Identifier(table))).fetchone()
    assert row is not None
    count: int = row[0]
    return count


def drop_step(site: Site, resume_from: object) -> tuple[object, ...]:
    with psycopg.connect(plain_url(site.url), autocommit=True) as owner:
        call = "SELECT dropped, jobs, next_from FROM drop_archived_partition_v1(%s::uuid, 1)"
        row = owner.execute(call, (resume_from,)).fetchone()
    assert row is not None
    return row


def test_before_a_month_goes_its_rows_go_step_by_step(site: Site) -> None:
    site.fill({f"old {n}": gone(stories.succeeded) for n in range(3)}, OLD_MONTH_DAYS)
    project_all(site.engine, 1_000)
    site.archive(Keeping(site.engine))
    events, after = told(site, "event"), None
    for jobs_left in (2, 1):
        dropped, jobs, after = drop_step(site, after)
        assert (dropped, jobs) == (None, 0)
        assert after is not None
        assert told(site, "job") == jobs_left
        assert (told(site, "event"), told(site, "stream")) == (events, 3)
    assert drop_step(site, after) == ("event_y2022m10", 3, None)
    assert {told(site, table) for table in ("event", "stream", "job", "effect")} == {0}
    assert told(site, "report_job") == 3, "facts stay"
    assert site.archive().jobs == 2, "the others"
    assert site.faults(with_files=True) == []


def test_a_month_of_which_the_rows_are_half_gone_goes_with_the_next_run(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobledger.adapters.postgres.archive.archives._REMOVE_AT_ONCE", 1)
    site.fill({f"old {n}": gone(stories.succeeded) for n in range(3)}, OLD_MONTH_DAYS)
    site.archive(Keeping(site.engine))
    assert drop_step(site, None)[2] is not None
    assert site.archive().partitions == ["event_y2022m10"]
    assert site.faults(with_files=True) == []


def test_where_a_month_cannot_go_as_a_whole_its_jobs_go_one_by_one(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.fill({"old": gone(stories.succeeded)}, OLD_MONTH_DAYS)
    too_long = text("DO $$ BEGIN RAISE query_canceled; END $$")
    monkeypatch.setattr("jobledger.adapters.postgres.archive.archives._DROP", too_long)
    left = site.archive()
    assert (left.partitions, left.jobs) == ([], 3)
    assert site.faults(with_files=True) == []


def test_a_month_stays_whole_where_the_lock_of_appends_does_not_come(site: Site) -> None:
    site.fill({"old": gone(stories.succeeded)}, OLD_MONTH_DAYS)
    site.archive(Keeping(site.engine))
    with psycopg.connect(plain_url(site.url)) as writer:
        writer.execute(APPEND_LOCK)
        assert drop_step(site, None) == (None, 0, None)
    assert [told(site, table) for table in ("stream", "job")] == [1, 1]
    assert site.archive().partitions == ["event_y2022m10"]


def test_a_removal_ends_at_so_many_events_or_one_job(site: Site) -> None:
    site.archive(Keeping(site.engine))
    with psycopg.connect(plain_url(site.url)) as owner:
        call = "SELECT jobs FROM remove_archived_v1(1, %s)"
        sizes = owner.execute("SELECT version FROM archived_stream ORDER BY stream_id").fetchall()
        both = sum(size for (size,) in sizes)
        for at_most, jobs in ((1, 1), (both - 1, 1), (both, 2)):
            assert owner.execute(call, (at_most,)).fetchone() == (jobs,)
            owner.rollback()


def test_a_removal_waits_for_the_projector_and_no_append_waits_with_it(site: Site) -> None:
    """The projector has not committed yet when the job leaves: what it writes of the job stays."""
    site.archive(Keeping(site.engine))
    gap = {
        "stream_id": str(site.streams["done"]),
        "number": 7,
        "dimension_id": 1,
        "source": "",
        "since_at": NOON.isoformat(),
        "until_at": NOON.isoformat(),
        "found_at": NOON.isoformat(),
        "reason": "",
    }
    removal = threading.Thread(target=lambda: list(site.ledger.archives.remove(1)), daemon=True)
    with (
        psycopg.connect(plain_url(site.url)) as projector,
        psycopg.connect(plain_url(site.url), autocommit=True) as looker,
    ):
        put = "SELECT put_report_rows_v1(position, position, NULL, '[]', %s) FROM report_checkpoint"
        assert projector.execute(put, (json.dumps({"report_gap": [gap]}),)).fetchone() == (True,)
        removal.start()
        waits = "SELECT FROM pg_locks l WHERE NOT l.granted"
        wait_until(
            lambda: not removal.is_alive() or bool(looker.execute(waits).fetchall()),
            "the removal waits, or is done",
        )
        with looker.transaction():
            looker.execute(f"{APPEND_LOCK} NOWAIT")  # no append waits with it
        projector.commit()
        removal.join()
        left = "SELECT count(*) FROM report_gap WHERE number = 7"
        assert looker.execute(left).fetchone() == (1,)
    assert site.in_the_log() == {site.streams["there"], site.streams["busy"]}
