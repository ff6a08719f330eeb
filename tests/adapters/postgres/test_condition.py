"""In which condition the database is, and what is said of it; each check is made to fail once."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from jobledger.adapters.ledger_wiring import open_ledger
from jobledger.adapters.page_wiring import page_parts
from jobledger.adapters.postgres.checks.busy import busy_jobs
from jobledger.adapters.postgres.checks.housekeeping import CHECKS
from jobledger.adapters.postgres.connection.engine import open_engine
from jobledger.adapters.postgres.connection.statements import analyze_grown
from jobledger.adapters.postgres.log.partitions import Partitions
from jobledger.adapters.postgres.reports.projecting.checkpoint import report_lag
from jobledger.adapters.postgres.verifying.condition import (
    Condition,
    TableCondition,
    condition,
    lacks_room,
)
from jobledger.core.errors import LedgerMisconfigured
from jobledger.core.forensics.findings import Finding, Severity
from tests.support.ledgers import app_engine, postgres_ledger, tampering
from tests.support.records import NOON, StreamWriter, a_stream
from tests.support.reported import project_all
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres


@pytest.fixture
def owner(ledger_url: str) -> Iterator[Engine]:
    """The connections of the owner, to a ledger with one job and the partitions of these months."""
    made = open_engine(ledger_url)
    ledger = postgres_ledger(made)
    ledger.take_all_shards()
    ledger.store.append([StreamWriter(a_stream()).next()])
    Partitions(made).ensure_around(condition(made).now)
    project_all(made)
    yield made
    made.dispose()


def findings(found: Condition) -> list[Finding]:
    return [finding for check in CHECKS for finding in check.run(found)]


def test_a_kept_database_gives_no_warning(owner: Engine) -> None:
    found = condition(owner)
    assert (found.last_position, found.events, found.open_jobs) == (1, 1, 1)
    assert found.is_owner
    assert found.oldest_open is not None
    assert found.bytes_per_million_events
    assert [item for item in findings(found) if item.severity > Severity.NOTE] == []


def test_since_when_the_reports_lack_an_event_is_known(owner: Engine, ledger_url: str) -> None:
    assert condition(owner).unreported_since is None
    with tampering(ledger_url) as superuser:
        superuser.execute("UPDATE report_checkpoint SET position = 0")
    since = condition(owner).unreported_since
    assert since is not None
    assert NOON < since < NOON + timedelta(minutes=1), "when its only event was written down"


@pytest.mark.parametrize("table", ["log_head", "report_checkpoint"])
def test_it_is_said_that_nothing_tells_where_the_log_ends(
    owner: Engine, ledger_url: str, table: str
) -> None:
    """`db status`, `doctor` and the page about the ledger's health are made of these."""
    with tampering(ledger_url) as superuser:
        superuser.execute(f"DELETE FROM {table}".encode())
    pages = page_parts(open_ledger(ledger_url, owner))
    for asks in (lambda: condition(owner), lambda: list(pages.health())):
        with pytest.raises(LedgerMisconfigured, match="row of log_head or report_checkpoint"):
            asks()


@pytest.mark.parametrize(
    "row", ["report_checkpoint VALUES (false, 0, now())", "log_head VALUES (false, 777)"]
)
def test_a_second_row_confuses_nobody(owner: Engine, ledger_url: str, row: str) -> None:
    """The table is asked for its true row, wherever it stands."""
    opened = open_ledger(ledger_url, owner)
    before = list(page_parts(opened).health())
    with tampering(ledger_url) as superuser:
        superuser.execute(f"INSERT INTO {row}".encode())
        for table in ("log_head", "report_checkpoint"):  # so that the other comes first
            superuser.execute(f"UPDATE {table} SET single = single WHERE single".encode())
    assert (condition(owner).last_position, condition(owner).reported_to) == (1, 1)
    assert list(page_parts(opened).health()) == before
    assert (opened.store.last_position(), opened.seals.last_position()) == (1, 1)
    assert busy_jobs(owner, timedelta(days=36500), 1)
    assert report_lag(owner).last_position == 1


def test_a_second_head_of_the_seals_confuses_nobody(owner: Engine, ledger_url: str) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute("INSERT INTO seal_head SELECT false, 9, digest FROM seal_head")
    assert open_ledger(ledger_url, owner).seals.last_seal() is None


def test_busy_jobs_say_that_nothing_tells_where_the_log_ends(
    owner: Engine, ledger_url: str
) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute("DELETE FROM log_head")
    with pytest.raises(LedgerMisconfigured, match="row of log_head or report_checkpoint"):
        busy_jobs(owner, timedelta(hours=1), 1)


def test_the_service_sees_the_same(owner: Engine, ledger_url: str) -> None:
    with app_engine(ledger_url) as service:
        assert condition(service).last_position == condition(owner).last_position


def test_a_database_that_only_reads_is_named(owner: Engine, ledger_url: str) -> None:
    """As after a failover that left us with the old primary; `leases` alone was said to be off."""
    assert (condition(owner).only_reads, condition(owner).standby) == (False, False)
    with tampering(ledger_url) as superuser:
        database = superuser.info.dbname
        superuser.execute(f'ALTER DATABASE "{database}" SET default_transaction_read_only = on')
    owner.dispose()
    assert "every write is refused" in findings(condition(owner))[0].what


FULL = 'could not write to file "base/pgsql_tmp/pgsql_tmp7.0": No space left on device'
AS_FULL = f"""
    CREATE SCHEMA full_disk;
    CREATE FUNCTION full_disk.md5(text) RETURNS text LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION '{FULL}' USING ERRCODE = '{{state}}'; END $$;
    ALTER DATABASE "{{database}}" SET search_path TO public, full_disk, pg_catalog;
"""
"""What is sorted says what Postgres says where what it sorts finds no room."""


@pytest.mark.parametrize(("state", "is_told"), [("53100", True), ("53400", False)])
def test_a_full_disk_is_named(owner: Engine, ledger_url: str, state: str, *, is_told: bool) -> None:
    """`doctor` said that the database takes writes, while every append was refused."""
    assert condition(owner).lacks_room == ""
    with tampering(ledger_url) as superuser:
        superuser.execute(AS_FULL.format(state=state, database=superuser.info.dbname))
    owner.dispose()
    told = [item.what for item in findings(condition(owner)) if item.check == "writes"]
    assert told == [f"the disk of the database is full: {FULL}"] * is_told


def test_what_is_sorted_is_written_however_much_memory_a_sort_may_have(
    owner: Engine, ledger_url: str
) -> None:
    """What has room in memory finds room on any disk."""
    with tampering(ledger_url) as superuser:
        superuser.execute(f"ALTER DATABASE \"{superuser.info.dbname}\" SET work_mem = '256MB'")
    owner.dispose()
    before = written_beside_tables(owner)

    def is_written() -> bool:
        assert lacks_room(owner) == ""
        return written_beside_tables(owner) > before

    wait_until(is_written, "it was written beside the tables")


def written_beside_tables(engine: Engine) -> int:
    told = text("SELECT temp_bytes FROM pg_stat_database WHERE datname = current_database()")
    with engine.connect() as connection:
        return int(connection.execute(told).scalar_one())


def test_asking_for_room_changes_nothing(owner: Engine) -> None:
    wait_until(lambda: writes_no_wal(owner), "not even a line of Postgres' own log is written")


def writes_no_wal(owner: Engine) -> bool:
    """Ask for room; return whether nothing was written meanwhile: the server may do so itself."""
    with owner.connect() as beside:
        wal = text("SELECT pg_current_wal_insert_lsn()")
        before = beside.execute(wal).scalar_one()
        assert lacks_room(owner) == ""
        return bool(beside.execute(wal).scalar_one() == before)


def follows(found: Condition) -> Condition:
    return replace(found, only_reads=True, standby=True)


def dead(found: Condition) -> Condition:
    table = replace(found.tables[0], table="stream", rows=10, dead_rows=20_000)
    return replace(found, tables=(*found.tables, table))


def ahead(found: Condition) -> Condition:
    return replace(found, reported_to=found.last_position + 1)


def late(found: Condition) -> Condition:
    since = found.now - timedelta(minutes=2)
    return replace(found, last_position=found.reported_to + 1, unreported_since=since)


def never_analyzed(found: Condition) -> Condition:
    table = TableCondition(
        table="job",
        rows=50_000,
        dead_rows=0,
        bytes=1,
        vacuumed_at=None,
        analyzed_at=None,
        is_partition=False,
    )
    return replace(found, tables=(*found.tables, table))


@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("writes", lambda found: replace(found, only_reads=True)),
        ("writes", follows),
        ("roles", lambda found: replace(found, app_role=False)),
        ("partitions", lambda found: replace(found, now=found.now + timedelta(days=70))),
        ("vacuum", lambda found: replace(found, autovacuum=False)),
        ("vacuum", dead),
        ("vacuum", never_analyzed),
        ("seals", lambda found: replace(found, last_position=2_000_000, reported_to=2_000_000)),
        ("archives", lambda found: replace(found, archived_still_here=1)),
        ("reports", lambda found: replace(found, last_position=20_000)),
        ("reports", ahead),
        ("reports", late),
    ],
)
def test_what_is_not_in_order_is_said_with_what_to_do(
    owner: Engine, check: str, change: Callable[[Condition], Condition]
) -> None:
    found = [item for item in findings(change(condition(owner))) if item.severity > Severity.NOTE]
    assert {item.check for item in found} == {check}
    assert all(item.remedy for item in found)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "REVOKE EXECUTE ON FUNCTION append_v1 FROM jobledger_app",
            "GRANT EXECUTE ON FUNCTION append_v1 TO",
        ),
        ("REVOKE SELECT ON job FROM jobledger_app", "GRANT SELECT ON job TO"),
        ("GRANT DELETE ON event TO jobledger_app", "REVOKE DELETE ON event"),
    ],
)
def test_rights_that_are_missing_or_too_many_are_named(
    owner: Engine, change: str, said: str
) -> None:
    with owner.connect() as connection:
        connection.exec_driver_sql(change)
    (found,) = (item for item in findings(condition(owner)) if item.severity > Severity.NOTE)
    assert found.check == "rights"
    assert said in f"{found.what} {found.remedy}"


def test_months_without_a_partition_are_named(owner: Engine) -> None:
    now = condition(owner).now
    last = max(table.table for table in condition(owner).partitions if "y" in table.table)
    with tampering(owner.url.render_as_string(hide_password=False)) as superuser:
        superuser.execute(f"DROP TABLE {last}")
    assert condition(owner).months_missing == (last,)
    assert last > f"event_y{now.year}m{now.month:02}"


def test_every_check_of_the_house_has_a_name_of_its_own_and_asks_something() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.asks.endswith("?") for check in CHECKS)


def test_the_service_lets_the_planner_look_at_what_has_grown(
    owner: Engine, ledger_url: str
) -> None:
    with tampering(ledger_url) as superuser:  # which would be quicker now and then
        superuser.execute("ALTER TABLE event_y2026m11 SET (autovacuum_enabled = off)")
    filling = open_engine(ledger_url)
    writers = [StreamWriter(a_stream(f"job-{number}")) for number in range(300)]
    postgres_ledger(filling).store.append([writer.next(*[{}] * 5) for writer in writers])
    filling.dispose()  # a session that ends tells the statistics what it did
    with app_engine(ledger_url) as service:
        wait_until(lambda: "event" in analyze_grown(service), "the log was analyzed", 30)
    assert condition(owner).tables
