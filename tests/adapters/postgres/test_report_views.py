"""The reporting views: who may read them, what their comments say, what their numbers mean."""

from collections.abc import Iterator

import psycopg
import pytest

from jobledger.adapters.postgres.report_v1.views import VERSION, VIEWS, schema_of_views
from jobledger.adapters.postgres.schema.report_tables import FACTS
from jobledger.adapters.postgres.schema.version import upgrade
from tests.support.postgres import plain_url
from tests.support.reported import admin

pytestmark = pytest.mark.postgres

Rows = list[tuple[object, ...]]

NOT_ALLOWED = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.ObjectNotInPrerequisiteState,  # a view that nobody could write through
)


@pytest.fixture
def reader(reported_reading_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection as a dashboard has it."""
    with admin(reported_reading_url) as connection:
        connection.execute("SET ROLE jobledger_report")
        connection.execute(f"SET search_path = {VERSION}")
        yield connection


Reader = psycopg.Connection[tuple[object, ...]]


def test_the_comments_in_the_database_are_those_of_the_reference(reader: Reader) -> None:
    found = reader.execute(
        "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod),"
        " col_description(c.oid, a.attnum) FROM pg_class c JOIN pg_attribute a"
        " ON a.attrelid = c.oid WHERE c.relnamespace = %s::regnamespace ORDER BY c.oid, a.attnum",
        (VERSION,),
    ).fetchall()
    assert found == [
        (view.name, one.name, one.kind, one.comment) for view in VIEWS for one in view.fields
    ]
    told = reader.execute(
        "SELECT relname, obj_description(oid) FROM pg_class"
        " WHERE relnamespace = %s::regnamespace ORDER BY oid",
        (VERSION,),
    ).fetchall()
    assert told == [(view.name, view.meaning) for view in VIEWS]


def test_the_role_of_reports_may_read_every_view(reader: Reader) -> None:
    empty = {
        view.name for view in VIEWS if not reader.execute(f"SELECT * FROM {view.name}").fetchall()
    }
    assert empty <= {"observation_gaps"}, "the rest has rows"


def test_the_role_of_reports_may_write_and_call_nothing(reader: Reader) -> None:
    refused = [
        "INSERT INTO jobs (name) VALUES ('x')",
        "UPDATE public.report_job SET name = 'x'",
        "DELETE FROM public.report_phase",
        f"TRUNCATE public.{FACTS[0]}",
        "SELECT public.prepare_reports_v1()",
        "SELECT public.swap_reports_v1(1, NULL, true)",
        "SELECT public.put_report_facts_v1('', '[]', '{}')",
        "SELECT public.put_report_rows_v1(0, 1, NULL, '[]', '{}')",
        "CREATE VIEW mine AS SELECT 1",
        *(f"SELECT * FROM public.{table}" for table in FACTS),
    ]
    for statement in refused:
        with pytest.raises(NOT_ALLOWED):
            reader.execute(statement)


def test_the_service_may_change_facts_by_its_functions_only(reported_reading_url: str) -> None:
    with admin(reported_reading_url) as connection:
        connection.execute("SET ROLE jobledger_app")
        for table in (*FACTS, "report_checkpoint", "report_dimension"):
            connection.execute(f"SELECT * FROM {table}")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"DELETE FROM {table}")
        with pytest.raises(psycopg.errors.DatabaseError, match="there is no reporting table"):
            connection.execute("SELECT put_report_facts_v1('', '[]', '{\"event\": []}')")
        with pytest.raises(psycopg.errors.DatabaseError, match="there is no reporting table"):
            connection.execute("SELECT put_report_facts_v1('x', '[]', '{\"report_job\": []}')")


def test_the_stays_of_a_job_touch_and_do_not_overlap(reader: Reader) -> None:
    holes = reader.execute(
        "SELECT * FROM (SELECT left_at, lead(entered_at) OVER stays AS next_at,"
        " next_phase, lead(phase) OVER stays AS later FROM phases"
        " WINDOW stays AS (PARTITION BY stream_id ORDER BY number)) s"
        " WHERE next_at IS NOT NULL AND (left_at <> next_at OR next_phase <> later)"
    ).fetchall()
    assert holes == []
    open_ones = "SELECT count(*) FROM phases WHERE left_at IS NULL OR seconds IS NULL"
    running = "SELECT count(*) FROM jobs WHERE deleted_at IS NULL"
    assert reader.execute(open_ones).fetchall() == reader.execute(running).fetchall()


def test_every_instant_is_in_exactly_one_half_open_interval(reader: Reader) -> None:
    """At the instant of a change a job is in the later state, and in no other."""
    found = reader.execute(
        "SELECT count(*) FROM phases p JOIN phases o ON o.stream_id = p.stream_id"
        " AND p.entered_at >= o.entered_at AND (p.entered_at < o.left_at OR o.left_at IS NULL)"
        " WHERE o.number <> p.number"
    ).fetchone()
    assert found == (0,)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_the_time_zone_of_a_session_changes_no_instant(reader: Reader, zone: str) -> None:
    reader.execute("SELECT set_config('timezone', %s, false)", (zone,))
    lengths = "SELECT sum(seconds), sum(date_part('epoch', left_at - entered_at)) FROM phases"
    (told, counted) = reader.execute(lengths).fetchone() or (None, None)
    assert told == pytest.approx(counted)
    days = "SELECT date_trunc('day', created_at, %s) AS day, count(*) FROM jobs GROUP BY 1"
    by_day: Rows = reader.execute(days, (zone,)).fetchall()
    for day, jobs in by_day:
        window = "SELECT count(*) FROM jobs WHERE created_at >= %s AND created_at < %s::timestamptz"
        counts = reader.execute(f"{window} + interval '1 day'", (day, day)).fetchone()
        assert counts == (jobs,)


def test_the_same_work_is_counted_in_all_views(reader: Reader) -> None:
    sums: Rows = reader.execute(
        "SELECT (SELECT sum(cluster_seconds) FROM jobs),"
        " (SELECT sum(cluster_seconds) FROM attempts)"
    ).fetchall()
    assert sums[0][0] == pytest.approx(sums[0][1])
    retries = "SELECT (SELECT count(*) FROM retries), (SELECT sum(retries) FROM jobs)"
    assert len({int(str(one)) for one in reader.execute(retries).fetchone() or ()}) == 1
    events = "SELECT sum(events)::bigint FROM {}"
    assert (
        reader.execute(events.format("controller_hours")).fetchone()
        == reader.execute(events.format("jobs")).fetchone()
    )


def test_health_tells_the_lag(reported_url: str) -> None:
    health = f"SELECT lag_events, lag_seconds > 0, open_jobs FROM {VERSION}.controller_health"
    with admin(reported_url) as connection:
        assert connection.execute(health).fetchone() == (0, False, 3)
        connection.execute("UPDATE report_checkpoint SET position = position - 5")
        assert connection.execute(health).fetchone() == (5, True, 3)


def test_joins_that_a_query_does_not_need_are_left_out(reader: Reader) -> None:
    def plan(columns: str) -> str:
        rows = reader.execute(f"EXPLAIN SELECT {columns} FROM phases").fetchall()
        return "\n".join(str(line) for (line,) in rows)

    assert "report_job" not in plan("phase, seconds")
    assert "report_dimension" not in plan("phase, seconds")
    assert "report_dimension" in plan("namespace")


def test_a_ledger_in_another_schema_has_views_of_its_own(database_url: str) -> None:
    with admin(database_url) as connection:
        connection.execute("CREATE SCHEMA other")
        connection.execute(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = other', "
            "current_database()); END $$"
        )
    upgrade(database_url)
    with psycopg.connect(plain_url(database_url)) as connection:
        name = schema_of_views("other")
        assert connection.execute(f"SELECT count(*) FROM {name}.jobs").fetchone() == (0,)
