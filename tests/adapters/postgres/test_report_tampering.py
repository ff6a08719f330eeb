"""Whatever is changed in the tables behind the reports is found, and a rebuild puts it right."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine

from bench.population.life import RULES
from bench.sample import END
from jobledger.adapters.ledger_wiring import reports_engine
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.reports.asking.asking import ask
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Question
from jobledger.adapters.postgres.reports.projecting.checkpoint import report_lag
from jobledger.adapters.postgres.reports.projecting.rebuild import check_reports, rebuild_reports
from jobledger.adapters.postgres.schema.report_tables import FACTS
from jobledger.core.errors import LedgerError, LedgerMisconfigured
from jobledger.core.projections.differences import WHOLE_ROW, Difference
from tests.support.ledgers import tampering
from tests.support.lost_rows import NOBODY, leave_rows
from tests.support.reported import admin, differences, project_all

pytestmark = pytest.mark.postgres

LEFT_OVER = "INSERT INTO report_dimension VALUES (7, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')"


def found(engine: Engine) -> list[tuple[str, str, str, str]]:
    told = check_reports(engine, RULES)
    return [(one.table, one.column, one.found, one.expected) for one in told]


def rebuilt(engine: Engine, url: str) -> None:
    owner = open_engine(url)
    rebuild_reports(engine, RULES, owner=owner)
    owner.dispose()


def test_facts_of_no_job_are_found_in_every_table(unreported: Engine, reported_url: str) -> None:
    project_all(unreported)
    with admin(reported_url) as superuser:
        filled = [
            table
            for table in FACTS
            if superuser.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() != (0,)
        ]
        assert set(filled) >= {"report_job", "report_attempt", "report_phase", "report_failure"}
        for table in filled:
            leave_rows(superuser, table)
    assert list(check_reports(unreported, RULES)) == [
        Difference(
            table=table, key=str(NOBODY), column=WHOLE_ROW, found="present", expected="absent"
        )
        for table in filled
    ]
    rebuilt(unreported, reported_url)
    assert differences(unreported) == []


def test_a_changed_dimension_is_found_and_put_right(unreported: Engine, reported_url: str) -> None:
    project_all(unreported)
    with admin(reported_url) as superuser:
        one = "(SELECT dimension_id FROM report_job ORDER BY stream_id LIMIT 1)"
        row = superuser.execute(f"SELECT queue FROM report_dimension WHERE dimension_id = {one}")
        ((queue,),) = row.fetchall()
        superuser.execute(f"UPDATE report_dimension SET queue = 'x' WHERE dimension_id = {one}")
        superuser.execute(LEFT_OVER)
        assert sorted(found(unreported)) == [
            ("report_dimension", WHOLE_ROW, "present", "absent"),
            ("report_dimension", "queue", "x", queue),
        ]
        rebuild_reports(unreported, RULES)
        assert len(found(unreported)) == 2, "the service's role may not put it right"
        rebuilt(unreported, reported_url)
        assert found(unreported) == []
        superuser.execute(f"DELETE FROM report_dimension WHERE dimension_id = {one}")
        assert found(unreported) == [("report_dimension", WHOLE_ROW, "absent", "present")]
        rebuilt(unreported, reported_url)
        assert found(unreported) == []


def test_a_checkpoint_beyond_the_log_is_found_and_put_right(
    unreported: Engine, reported_url: str
) -> None:
    project_all(unreported)
    with admin(reported_url) as superuser:
        query = "UPDATE report_checkpoint SET position = position + 9 RETURNING position"
        ((ahead,),) = superuser.execute(query).fetchall()
    assert isinstance(ahead, int)
    wrong = ("report_checkpoint", "position", str(ahead), f"at most {ahead - 9}")
    assert found(unreported) == [wrong]
    rebuilt(unreported, reported_url)
    assert found(unreported) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE report_checkpoint SET single = false",
        "DELETE FROM report_checkpoint",
    ],
)
def test_a_checkpoint_that_is_gone_is_said_and_put_back_by_the_owner(
    unreported: Engine, reported_url: str, change: str
) -> None:
    project_all(unreported)
    with admin(reported_url) as superuser:
        superuser.execute(change.encode())
    gone = ("report_checkpoint", WHOLE_ROW, "absent", "present")
    assert gone in found(unreported)
    for asks in (
        lambda: rebuild_reports(unreported, RULES),  # the service's role may not put it back
        lambda: project_all(unreported),
        lambda: report_lag(unreported),
    ):
        with pytest.raises(
            LedgerMisconfigured, match=r"report_checkpoint has no row .* as the owner"
        ):
            asks()
    rebuilt(unreported, reported_url)
    assert found(unreported) == []
    assert report_lag(unreported).events == 0


def test_a_second_checkpoint_is_found_and_removed(unreported: Engine, reported_url: str) -> None:
    project_all(unreported)
    with admin(reported_url) as superuser:
        superuser.execute("INSERT INTO report_checkpoint VALUES (false, 1, now())")
    assert found(unreported) == [("report_checkpoint", WHOLE_ROW, "present", "absent")]
    assert report_lag(unreported).events == 0, "and it confuses nobody"
    rebuilt(unreported, reported_url)
    assert found(unreported) == []


def test_a_checkpoint_with_another_time_is_found_and_put_right(
    unreported: Engine, reported_url: str
) -> None:
    project_all(unreported)
    with admin(reported_url) as superuser:
        read = "SELECT recorded_at FROM report_checkpoint"
        ((told,),) = superuser.execute(read).fetchall()
        superuser.execute("UPDATE report_checkpoint SET recorded_at = NULL")
    assert found(unreported) == [("report_checkpoint", "recorded_at", "None", str(told))]
    rebuilt(unreported, reported_url)
    assert found(unreported) == []


@pytest.mark.parametrize("table", ["log_head", "report_checkpoint"])
def test_a_report_says_so_if_it_is_not_known_up_to_where_it_tells(
    unreported: Engine, reported_url: str, table: str
) -> None:
    with tampering(reported_url) as superuser:
        superuser.execute(f"DELETE FROM {table}".encode())
    asked = Question(since=END - timedelta(days=1), until=END)
    with pytest.raises(LedgerMisconfigured, match="row of log_head or report_checkpoint is gone"):
        ask(unreported, REPORTS["durations"], asked)


def test_a_report_says_so_if_two_rows_tell_up_to_where_it_tells(
    unreported: Engine, reported_url: str
) -> None:
    """Its role sees the views alone, which tell no true row from another."""
    project_all(unreported)
    asked = Question(since=END - timedelta(days=1), until=END)
    with tampering(reported_url) as superuser:
        superuser.execute("INSERT INTO log_head VALUES (false, 777)")
    assert ask(unreported, REPORTS["durations"], asked).events < 777
    of_views = reports_engine(reported_url, time_limit_seconds=20)
    with of_views as engine, pytest.raises(LedgerMisconfigured, match="or not the only one"):
        ask(engine, REPORTS["durations"], asked)
    assert found(unreported) == []


def test_a_fact_that_cannot_be_read_for_its_instant_is_found_and_put_right(
    unreported: Engine, reported_url: str
) -> None:
    project_all(unreported)
    with admin(reported_url) as superuser:
        one = "(SELECT min(stream_id::text)::uuid FROM report_job)"
        superuser.execute(f"UPDATE report_job SET created_at = 'infinity' WHERE stream_id = {one}")
    ((table, column, value, _),) = found(unreported)
    assert (table, column, value) == ("report_job", "created_at", "infinity")
    rebuilt(unreported, reported_url)
    assert found(unreported) == []


def test_a_fact_that_is_none_is_not_told_as_an_old_schema(
    unreported: Engine, reported_url: str
) -> None:
    project_all(unreported)
    with admin(reported_url) as superuser:
        superuser.execute("UPDATE report_attempt SET resources = '5'")
    asked = Question(since=END - timedelta(days=28), until=END)
    with pytest.raises(LedgerError, match="on a non-array") as told:
        ask(unreported, REPORTS["cost"], asked)
    assert "no ledger" not in str(told.value)
    assert {column for table, column, *_ in found(unreported)} == {"resources"}
