"""The projector of reports on a real server: batches, kills, two of them, one poisoned job."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import psycopg
import pytest
from sqlalchemy import Connection, Engine, text

from bench.population.life import RULES
from jobledger.adapters.postgres.reports.projecting import projector as report_projector
from jobledger.adapters.postgres.reports.projecting.checkpoint import read_checkpoint, report_lag
from jobledger.adapters.postgres.reports.projecting.projector import Projector, ReportService
from jobledger.adapters.postgres.reports.projecting.rebuild import rebuild_reports
from jobledger.adapters.postgres.reports.projecting.rows import put_rows
from jobledger.core.errors import LedgerError
from tests.support.reported import admin, differences, project_all
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres


class Killed(BaseException):
    """The end of a process."""


@contextmanager
def killed_at(call: int, *, after_commit: bool) -> Iterator[None]:
    """End the projector at its so many-th write, before or after the commit."""
    calls = 0

    def write(connection: Connection, *arguments: object) -> bool:
        nonlocal calls
        calls += 1
        if calls == call and not after_commit:
            raise Killed
        answer = put_rows(connection, *arguments)  # type: ignore[arg-type] # passed on
        if calls == call:
            raise Killed
        return answer

    with patch.object(report_projector, "put_rows", write):
        yield


@pytest.mark.parametrize("batch", [7, 10_000])
def test_the_tables_are_what_the_log_says(unreported: Engine, batch: int) -> None:
    batches = project_all(unreported, batch)
    lag = report_lag(unreported)
    assert batches == -(-lag.last_position // batch)
    assert (lag.events, lag.seconds) == (0, 0.0)
    assert differences(unreported) == []


@pytest.mark.parametrize("after_commit", [False, True])
def test_a_kill_between_batches_loses_and_repeats_nothing(
    unreported: Engine, *, after_commit: bool
) -> None:
    with pytest.raises(Killed), killed_at(3, after_commit=after_commit):
        project_all(unreported, 40)
    assert report_lag(unreported).projected_position == (120 if after_commit else 80)
    assert differences(unreported) == []
    project_all(unreported, 40)
    assert differences(unreported) == []


def test_a_projector_whose_answer_was_lost_goes_on_by_itself(unreported: Engine) -> None:
    projector = Projector(RULES, 40)
    with unreported.connect() as connection:
        with pytest.raises(Killed), killed_at(1, after_commit=True):
            projector.step(connection)
        while projector.step(connection):
            pass
    assert differences(unreported) == []


def test_whoever_is_behind_writes_nothing(unreported: Engine) -> None:
    with unreported.connect() as connection:
        checkpoint = read_checkpoint(connection)
        project_all(unreported, 100)
        at = read_checkpoint(connection)
        assert at.recorded_at is not None
        moved = put_rows(connection, checkpoint.position, 100, at.recorded_at, [])
        assert not moved
        assert read_checkpoint(connection) == at


def test_two_projectors_in_turn_agree(unreported: Engine) -> None:
    """Each finds that the other went on: what it holds in memory is not what is there."""
    one, other = Projector(RULES, 30), Projector(RULES, 30)
    with unreported.connect() as connection:
        while one.step(connection) + other.step(connection):
            pass
    assert differences(unreported) == []


def test_a_job_that_cannot_be_read_holds_up_no_other(unreported: Engine, reported_url: str) -> None:
    with admin(reported_url) as connection:
        connection.execute("SET session_replication_role = replica")  # past the triggers
        connection.execute(
            'UPDATE event SET data = \'{"attempt": "one"}\' WHERE version = 3 AND stream_id ='
            " (SELECT min(stream_id::text)::uuid FROM stream)"
        )
    project_all(unreported)
    assert differences(unreported) == []
    rebuild_reports(unreported, RULES)
    with unreported.connect() as connection:
        jobs = connection.execute(text("SELECT count(*) FROM report_job")).scalar_one()
        all_of_them = connection.execute(text("SELECT count(*) FROM stream")).scalar_one()
    assert jobs == all_of_them - 1


@pytest.mark.parametrize("batch", [7, 10_000])
def test_a_job_that_the_tables_cannot_hold_holds_up_no_other(
    unreported: Engine, reported_url: str, batch: int
) -> None:
    with admin(reported_url) as connection:
        connection.execute("SET session_replication_role = replica")  # past the triggers
        connection.execute(
            "UPDATE event SET data = jsonb_set(data::jsonb, '{generation}', '9223372036854775808')"
            " WHERE type = 'AttemptStarted' AND stream_id = (SELECT min(stream_id::text)::uuid"
            " FROM event WHERE type = 'AttemptStarted')"
        )
    batches = project_all(unreported, batch)
    assert report_lag(unreported).events == 0
    assert batches == -(-report_lag(unreported).last_position // batch)
    held = "SELECT count(*) FROM report_job"
    there = "SELECT count(*) FROM stream"
    rebuild_reports(unreported, RULES)
    with unreported.connect() as connection:
        jobs = connection.execute(text(held)).scalar_one()
        assert jobs == connection.execute(text(there)).scalar_one() - 1
    assert differences(unreported) == []


def test_the_reports_are_not_behind_because_the_last_events_were_archived(
    unreported: Engine, reported_url: str
) -> None:
    with admin(reported_url) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "DELETE FROM event WHERE stream_id = (SELECT stream_id FROM event"
            " ORDER BY position DESC LIMIT 1)"
        )
    project_all(unreported, 100)
    assert report_lag(unreported).events == 0


def test_an_event_of_a_newer_version_stops_the_tables(
    unreported: Engine, reported_url: str
) -> None:
    with admin(reported_url) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE event SET schema_version = 99 WHERE position = 130")
    with pytest.raises(LedgerError):
        project_all(unreported, 100)
    assert report_lag(unreported).projected_position == 100


def test_a_difference_is_found(unreported: Engine, reported_url: str) -> None:
    project_all(unreported)
    with admin(reported_url) as connection:
        connection.execute("UPDATE report_phase SET phase = 'Odd' WHERE number = 1")
        connection.execute("DELETE FROM report_failure")
    found = {(one.table, one.column) for one in differences(unreported)}  # type: ignore[attr-defined] # its fields
    assert ("report_phase", "phase") in found
    assert ("report_failure", "(the whole row)") in found


def test_a_job_that_is_not_in_the_log_any_more_is_found(
    unreported: Engine, reported_url: str
) -> None:
    project_all(unreported)
    with admin(reported_url) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "DELETE FROM stream WHERE stream_id = (SELECT stream_id FROM stream LIMIT 1)"
        )
    found = differences(unreported)
    assert "report_job" in {item.table for item in found}  # type: ignore[attr-defined] # its fields
    rebuild_reports(unreported, RULES)
    assert differences(unreported) == []


def test_the_service_catches_up_and_only_one_of_two_works(unreported: Engine) -> None:
    told: list[int] = []
    one = ReportService(unreported, RULES, lambda events, _seconds: told.append(events))
    other = ReportService(unreported, RULES)
    one.start()
    other.start()
    try:
        wait_until(lambda: 0 in told, "the tables are at the end of the log")
    finally:
        one.stop()
        other.stop()
    assert differences(unreported) == []


def test_reports_wait_for_the_start_of_the_service(unreported: Engine) -> None:
    told, asked, has_started = list[int](), list[bool](), threading.Event()

    def is_starting() -> bool:
        asked.append(True)
        return not has_started.is_set()

    service = ReportService(unreported, RULES, lambda events, _seconds: told.append(events))
    with patch.object(report_projector, "LOOK_SECONDS", 0.01):
        service.start(is_starting)
        try:
            wait_until(lambda: len(asked) > 2, "it is looked again whether the start is over")
            assert told == []
            has_started.set()
            wait_until(lambda: 0 in told, "the tables are at the end of the log")
        finally:
            service.stop()


def test_reports_do_not_wait_for_a_start_without_end(unreported: Engine) -> None:
    service = ReportService(unreported, RULES)
    with patch.object(report_projector, "START_SECONDS_MAX", 0.0):
        service.start(lambda: True)
        try:
            wait_until(lambda: _caught_up(unreported), "the tables are at the end of the log")
        finally:
            service.stop()


def test_the_service_survives_the_loss_of_its_connections(
    unreported: Engine, reported_url: str
) -> None:
    with patch.object(report_projector, "TROUBLE_SECONDS", 0.05):
        service = ReportService(unreported, RULES)
        service.start()
        try:
            with admin(reported_url) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            wait_until(lambda: _caught_up(unreported), "the tables are at the end of the log")
        finally:
            service.stop()
    assert differences(unreported) == []


def _caught_up(engine: Engine) -> bool:
    try:
        return report_lag(engine).events == 0
    except (LedgerError, psycopg.Error):
        return False
