"""Nobody changes or removes what is in the log, and the service writes through functions only."""

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from jobledger.sandbox.postgres.embedded import EmbeddedPostgres
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.postgres import fresh_database, plain_url
from tests.support.records import (
    WRITER,
    StreamWriter,
    a_decision_row,
    a_stream,
    an_attempt_row,
    an_effect_row,
)

pytestmark = pytest.mark.postgres

INSTALLATION = Path(__file__).parents[3] / "docs" / "howto" / "install-on-postgres.md"
PARTITION = "event_y2026m11"
LOG_TABLES = ("event", PARTITION, "event_default")
ALL_TABLES = (
    "event",
    "stream",
    "log_head",
    "job",
    "attempt",
    "decision",
    "effect",
    "shard_lease",
)
CHANGES = {
    "update": "UPDATE {} SET actor = 'nobody'",
    "delete": "DELETE FROM {}",
    "truncate": "TRUNCATE {} CASCADE",
}


@pytest.fixture(scope="module")
def filled_url(postgres_server: EmbeddedPostgres, ledger_template: str) -> Iterator[str]:
    """A database with a stream in a monthly partition and rows in every table.

    One for all tests here: what each of them tries is refused, or taken back with its transaction.
    """
    with fresh_database(postgres_server, ledger_template) as url:
        fill(url)
        yield url


def fill(url: str) -> None:
    stream = a_stream()
    with app_engine(url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        ledger.store.append(
            [
                StreamWriter(stream).next(
                    None,
                    None,
                    attempts=[an_attempt_row(stream)],
                    decisions=[a_decision_row(stream)],
                    effects=[an_effect_row(stream)],
                )
            ]
        )


@pytest.fixture
def superuser(filled_url: str) -> Iterator[psycopg.Connection]:
    """A superuser's connection; the superuser is the owner too. Whatever it did is taken back."""
    with psycopg.connect(plain_url(filled_url)) as connection:
        yield connection
        connection.rollback()


def run(connection: psycopg.Connection, statement: str, table: str) -> None:
    connection.execute(sql.SQL(statement).format(sql.Identifier(table)))


@pytest.mark.parametrize("table", LOG_TABLES)
@pytest.mark.parametrize("change", CHANGES)
def test_owner_and_superuser_are_refused(
    superuser: psycopg.Connection, table: str, change: str
) -> None:
    if table == "event_default":
        superuser.execute("SET session_replication_role = replica")
        superuser.execute(
            "INSERT INTO event SELECT 99, gen_random_uuid(), 1, event_id, type, schema_version, "
            "occurred_at, recorded_at, actor, epoch, causation_id, correlation_id, data, data_sha, "
            "chain FROM event LIMIT 1"
        )
        superuser.execute("SET session_replication_role = origin")
    with pytest.raises(psycopg.Error, match="append-only") as refused:
        run(superuser, CHANGES[change], table)
    assert refused.value.sqlstate == "JL003"


@pytest.mark.parametrize("table", ["stream", "log_head"])
@pytest.mark.parametrize("change", ["delete", "truncate"])
def test_the_ends_of_the_log_cannot_be_removed(
    superuser: psycopg.Connection, table: str, change: str
) -> None:
    with pytest.raises(psycopg.Error, match="append-only"):
        run(superuser, CHANGES[change], table)


def test_a_partition_that_is_made_later_is_protected_too(superuser: psycopg.Connection) -> None:
    superuser.execute("SELECT ensure_partitions_v1('2031-03-05Z', '2031-03-05Z')")
    with pytest.raises(psycopg.Error, match="append-only"):
        superuser.execute("TRUNCATE event_y2031m03")


def test_what_the_installation_page_shows_is_refused_on_a_log_without_events(
    ledger_url: str,
) -> None:
    """Whoever follows the page has no event yet; a DELETE of none is refused by no trigger."""
    shown = re.search(r'-c "(.+)"\nERROR:  (.+)', INSTALLATION.read_text())
    assert shown
    typed, said = shown.groups()
    with (
        psycopg.connect(plain_url(ledger_url)) as superuser,
        pytest.raises(psycopg.Error) as refused,
    ):
        superuser.execute(typed)
    assert refused.value.diag.message_primary == said


@pytest.mark.parametrize("role", ["jobledger_app", "jobledger_report"])
@pytest.mark.parametrize("table", ALL_TABLES)
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO {0} SELECT * FROM {0} LIMIT 1",
        "DELETE FROM {0}",
        "TRUNCATE {0}",
        "ALTER TABLE {0} DISABLE TRIGGER ALL",
        "DROP TABLE {0}",
    ],
    ids=lambda statement: statement.split()[0].lower(),
)
def test_no_role_of_ours_touches_a_table(
    superuser: psycopg.Connection, role: str, table: str, statement: str
) -> None:
    superuser.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        run(superuser, statement, table)


@pytest.mark.parametrize("role", ["jobledger_app", "jobledger_report"])
def test_both_roles_read_everything(superuser: psycopg.Connection, role: str) -> None:
    superuser.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    for table in (*ALL_TABLES, "alembic_version"):
        row = superuser.execute(
            sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
        ).fetchone()
        assert row is not None
        assert row[0] > 0, table


def test_no_role_of_ours_updates_a_table(superuser: psycopg.Connection) -> None:
    superuser.execute("SET ROLE jobledger_app")
    for assignment in (
        "stream SET version = 9",
        "log_head SET position = 9",
        "job SET open = true",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), superuser.transaction():
            superuser.execute("UPDATE " + assignment)


@pytest.mark.parametrize(
    ("role", "call"),
    [
        ("jobledger_app", "put_rows_v1(NULL, NULL, NULL, NULL, NULL)"),
        ("jobledger_report", "release_shards_v1('writer')"),
        ("jobledger_report", "acquire_shards_v1('me', '1 min', 1, 16, 0)"),
        ("jobledger_report", "ensure_partitions_v1(now(), now())"),
    ],
)
def test_functions_are_for_whom_they_are_meant(
    superuser: psycopg.Connection, role: str, call: str
) -> None:
    superuser.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        superuser.execute("SELECT " + call)


def test_a_temporary_table_cannot_stand_in_for_a_table_of_the_log(
    superuser: psycopg.Connection,
) -> None:
    """SECURITY DEFINER functions must not see objects that their caller made."""
    superuser.execute("SET ROLE jobledger_app")
    superuser.execute("CREATE TEMP TABLE shard_lease (shard int, epoch bigint, owner text)")
    superuser.execute("SET search_path = pg_temp, public")
    superuser.execute("SELECT public.release_shards_v1(%s)", [WRITER])
    owners = superuser.execute("SELECT DISTINCT owner FROM public.shard_lease").fetchall()
    assert owners == [("",)]


def test_append_refuses_a_transaction_that_would_not_see_what_its_lock_waited_for(
    superuser: psycopg.Connection,
) -> None:
    superuser.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    with pytest.raises(psycopg.Error, match="READ COMMITTED"), superuser.transaction():
        superuser.execute(
            "SELECT * FROM append_v1('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', "
            "'{}', '{}', '{}', '{}', '{}', '{}', NULL, NULL, NULL, NULL)"
        )
