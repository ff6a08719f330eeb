"""Reports rebuilt while they are read: the old rows until the new are complete, then those."""

from typing import LiteralString
from unittest.mock import patch

import psycopg
import pytest
from sqlalchemy import Connection, Engine

from bench.population.life import RULES
from jobledger.adapters.postgres.connection.statements import end_of_log
from jobledger.adapters.postgres.refolding import processes
from jobledger.adapters.postgres.report_v1.views import VERSION
from jobledger.adapters.postgres.reports.projecting import projector as report_projector
from jobledger.adapters.postgres.reports.projecting import rebuild as report_rebuild
from jobledger.adapters.postgres.reports.projecting.checkpoint import report_lag
from jobledger.adapters.postgres.reports.projecting.projector import Projector, ReportService
from jobledger.adapters.postgres.reports.projecting.rebuild import check_reports, rebuild_reports
from jobledger.adapters.postgres.schema.report_tables import FACTS
from jobledger.core.errors import LedgerUnavailable
from tests.support.postgres import plain_url
from tests.support.reported import SMALL, admin, differences, project_all
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres

OLD = "from before"
NAMES = f"SELECT DISTINCT name = '{OLD}' FROM {VERSION}.jobs"
MADE = """
    SELECT 'index', indexdef FROM pg_indexes WHERE tablename LIKE 'report_%'
    UNION ALL
    SELECT 'comment', c.relname || coalesce(a.attname, '') || d.description
    FROM pg_description d JOIN pg_class c ON c.oid = d.objoid AND d.classoid = 'pg_class'::regclass
    LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND d.objsubid > 0
    WHERE c.relname LIKE 'report_%' OR c.relnamespace = 'report_v1'::regnamespace
    UNION ALL
    SELECT 'grant', relname || coalesce(relacl::text, '') FROM pg_class
    WHERE (relname LIKE 'report_%' AND relkind = 'r') OR relnamespace = 'report_v1'::regnamespace
    ORDER BY 1, 2
"""


def test_readers_see_the_old_rows_until_the_new_are_complete(
    unreported: Engine, reported_url: str
) -> None:
    project_all(unreported)
    seen = []
    with admin(reported_url) as reader:
        reader.execute(f"UPDATE report_job SET name = '{OLD}'")
        made = reader.execute(MADE).fetchall()

        def told(_done: int, _total: int) -> None:
            seen.append(reader.execute(NAMES).fetchall())

        jobs = rebuild_reports(unreported, RULES, told)
        assert seen == [[(True,)]] * len(seen) != []
        assert reader.execute(NAMES).fetchall() == [(False,)]
        assert reader.execute(MADE).fetchall() == made, "indexes, comments and grants stay"
        left = "SELECT count(*) FROM pg_class WHERE relname ~ '^report_.*_(next|old)'"
        assert reader.execute(left).fetchone() == (0,)
        assert reader.execute("SELECT count(*) FROM stream").fetchone() == (jobs,)
    assert differences(unreported) == []
    assert report_lag(unreported).events == 0


def test_events_that_come_during_a_rebuild_are_in_it(unreported: Engine, reported_url: str) -> None:
    """The head of the log stands back while the tables are filled, and moves on before the swap."""
    with admin(reported_url) as connection:
        row = connection.execute("SELECT position FROM log_head").fetchone()
        assert row is not None
        connection.execute("UPDATE log_head SET position = 100")
        rebuild_reports(
            unreported,
            RULES,
            lambda _done, _total: _move_on(connection, row[0]),
        )
    assert report_lag(unreported).events == 0
    assert differences(unreported) == []


def test_jobs_that_leave_the_log_during_a_rebuild_are_not_in_it(
    unreported: Engine, reported_url: str
) -> None:
    with admin(reported_url) as connection:
        connection.execute("SET session_replication_role = replica")  # past the triggers
        leave = (
            "SELECT forget_jobs_v1(ARRAY(SELECT stream_id FROM stream"
            " ORDER BY stream_id::text LIMIT 2))"
        )
        jobs = rebuild_reports(unreported, RULES, lambda _done, _total: _run(connection, leave))
        assert connection.execute("SELECT count(*) FROM report_job").fetchone() == (jobs - 2,)
        phases = "SELECT count(DISTINCT stream_id) FROM report_phase"
        assert connection.execute(phases).fetchone() == (jobs - 2,)


def _run(connection: psycopg.Connection[tuple[object, ...]], statement: LiteralString) -> None:
    connection.execute(statement)


def _move_on(connection: psycopg.Connection[tuple[object, ...]], position: object) -> None:
    connection.execute("UPDATE log_head SET position = %s", (position,))


def test_a_projector_goes_on_after_a_rebuild(unreported: Engine) -> None:
    project_all(unreported, 50)
    rebuild_reports(unreported, RULES)
    assert project_all(unreported) == 0
    assert differences(unreported) == []


def test_a_projector_that_a_rebuild_has_turned_back_writes_again_what_was_lost(
    unreported: Engine, reported_url: str
) -> None:
    projector = Projector(RULES)
    with unreported.connect() as connection, admin(reported_url) as other:
        while projector.step(connection):
            pass
        row = other.execute("SELECT position FROM log_head").fetchone()
        assert row is not None
        head = row[0]
        assert isinstance(head, int)
        with patch.object(report_rebuild, "end_of_log", lambda _: head - 60):
            rebuild_reports(unreported, RULES)  # ahead of every try, so the last one turns back
        while projector.step(connection):
            pass
    assert differences(unreported) == []


def test_a_job_that_begins_as_a_rebuild_does_is_in_it(
    unreported: Engine, reported_url: str
) -> None:
    project_all(unreported)
    youngest = "SELECT stream_id FROM event ORDER BY position DESC LIMIT 1"
    with admin(reported_url) as connection:
        connection.execute("SET session_replication_role = replica")  # past the triggers
        gone = connection.execute(
            f"DELETE FROM stream WHERE stream_id = ({youngest}) RETURNING *"
        ).fetchall()

        def begins(asked: Connection) -> int:
            position = end_of_log(asked)
            while gone:
                values = psycopg.sql.SQL("INSERT INTO stream VALUES (%s, %s, %s, %s)")
                connection.execute(values, gone.pop())
            return position

        with patch.object(report_rebuild, "end_of_log", begins):
            rebuild_reports(unreported, RULES)
    assert differences(unreported) == []


def test_what_an_interrupted_rebuild_left_behind_is_in_nobodys_way(unreported: Engine) -> None:
    class Interrupted(Exception):
        pass

    def stop(_done: int, _total: int) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        rebuild_reports(unreported, RULES, stop)
    project_all(unreported)
    assert differences(unreported) == []
    rebuild_reports(unreported, RULES)
    assert differences(unreported) == []


def test_several_processes_share_the_jobs(unreported: Engine) -> None:
    with patch.object(processes, "PROCESS_JOBS", 6), patch.object(processes, "SHARE_JOBS", 4):
        jobs = rebuild_reports(unreported, RULES, processes=2)
        assert list(check_reports(unreported, RULES, processes=2)) == []
    assert jobs == SMALL.jobs
    assert differences(unreported) == []


def test_only_one_rebuild_at_a_time(unreported: Engine) -> None:
    refused = []

    def again(_done: int, _total: int) -> None:
        with pytest.raises(LedgerUnavailable, match="another rebuild"):
            rebuild_reports(unreported, RULES)
        refused.append(True)

    rebuild_reports(unreported, RULES, again)
    assert refused


def test_a_reader_that_holds_the_tables_is_waited_for(
    unreported: Engine, reported_url: str
) -> None:
    """It goes on over the old rows, and so do others; the new ones come after its end."""
    project_all(unreported)
    query = f"SELECT count(*) FROM {VERSION}.jobs"
    pauses = []
    with psycopg.connect(plain_url(reported_url)) as reader, admin(reported_url) as other:
        before = reader.execute(query).fetchone()

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            assert other.execute(query).fetchone() == before
            assert not _waits_for_a_lock(other)
            if len(pauses) == 3:
                assert reader.execute(query).fetchone() == before
                reader.rollback()

        with patch("time.sleep", pause):
            rebuild_reports(unreported, RULES)
    assert pauses == list(report_rebuild.PAUSES_SECONDS[:3])
    assert differences(unreported) == []


def test_a_reader_that_never_ends_is_named_and_nothing_is_left_behind(
    unreported: Engine, reported_url: str
) -> None:
    project_all(unreported)
    with psycopg.connect(plain_url(reported_url)) as reader, admin(reported_url) as other:
        reader.execute(f"SELECT count(*) FROM {VERSION}.jobs")
        held = patch("time.sleep", lambda _: None)
        with held, pytest.raises(LedgerUnavailable, match="held the reporting tables for too long"):
            rebuild_reports(unreported, RULES)
        for table in FACTS:
            left = psycopg.sql.SQL("SELECT count(*) FROM {}")
            twin = psycopg.sql.Identifier(f"{table}_next")
            assert other.execute(left.format(twin)).fetchone() == (0,)
    assert differences(unreported) == []
    rebuild_reports(unreported, RULES)


def test_a_rebuild_of_another_schema_is_in_nobodys_way(
    unreported: Engine, reported_url: str
) -> None:
    with admin(reported_url) as other:
        other.execute("CREATE SCHEMA elsewhere")
        other.execute("SET search_path = elsewhere")
        for lock in (report_projector._LOCK, report_rebuild._LOCK):  # noqa: SLF001 what they take
            assert other.execute(str(lock).encode()).fetchone() == (True,)
        rebuild_reports(unreported, RULES)
        service = ReportService(unreported, RULES)
        service.start()
        try:
            wait_until(lambda: report_lag(unreported).events == 0, "the tables are up to date")
        finally:
            service.stop()


def _waits_for_a_lock(connection: psycopg.Connection[tuple[object, ...]]) -> bool:
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"
    return connection.execute(waiting).fetchone() != (0,)
