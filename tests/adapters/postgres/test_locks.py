"""Who may hold up the writers of the ledger: nobody but its own functions."""

import threading

import psycopg
import pytest
from sqlalchemy import make_url

from jobledger.adapters.postgres.schema.version import downgrade, upgrade
from jobledger.core.ports.event_store import AppendOutcome
from tests.support.ledgers import APPEND_LOCK, WAITING, app_engine, postgres_ledger, tampering
from tests.support.postgres import plain_url
from tests.support.records import NOON, StreamWriter, a_stream
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres

BEFORE = "0014"
"""The last schema whose appends took an advisory lock."""

ADVISORY = "SELECT pg_advisory_lock(1246708300, n) FROM generate_series(0, 9) n"
"""What every login may do: take every lock of the ledger's that has a number."""


def login(url: str, name: str, role: str = "") -> str:
    """Return the address for a new login of the database, of a role if one is given."""
    with tampering(url) as superuser:
        superuser.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
        if role:
            superuser.execute(f"GRANT {role} TO {name}")
    return plain_url(make_url(url).set(username=name, password="x").render_as_string(False))


@pytest.mark.parametrize("role", ["", "jobledger_report", "jobledger_app"])
def test_no_login_can_hold_up_an_append(ledger_url: str, role: str) -> None:
    name = f"stranger_{role or 'of_no_role'}"
    try:
        with (
            psycopg.connect(login(ledger_url, name, role)) as stranger,
            app_engine(ledger_url, statement_timeout_seconds=30) as engine,
        ):
            stranger.execute(ADVISORY)
            for table in ("append_lock", "upkeep_lock", "log_head", "shard_lease", "stream"):
                for mode in ("ROW SHARE", "EXCLUSIVE", "ACCESS EXCLUSIVE"):
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        stranger.execute(f"SAVEPOINT a; LOCK TABLE {table} IN {mode} MODE NOWAIT")
                    stranger.execute("ROLLBACK TO SAVEPOINT a")
            if role:  # as much as a reader may, and readers hold up nobody
                stranger.execute("LOCK TABLE append_lock, log_head IN ACCESS SHARE MODE")
            ledger = postgres_ledger(engine)
            ledger.take_all_shards()
            (result,) = ledger.store.append([StreamWriter(a_stream()).next()])
            ledger.store.partitions.ensure_around(NOON)  # type: ignore[attr-defined]  # of Postgres
        assert result.outcome is AppendOutcome.APPENDED
    finally:
        with tampering(ledger_url) as superuser:
            superuser.execute(f"DROP ROLE IF EXISTS {name}")


def test_no_function_of_the_ledger_takes_a_lock_that_any_login_may_take(ledger_url: str) -> None:
    with psycopg.connect(plain_url(ledger_url)) as connection:
        found = connection.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace "
            "AND prosrc LIKE '%pg\\_advisory%' ORDER BY proname"
        ).fetchall()
    assert found == []


def test_an_append_that_began_under_the_old_lock_is_refused_and_made_again(
    database_url: str,
) -> None:
    """It waited in the old function while the schema went up: it cannot see the new ones."""
    upgrade(database_url, BEFORE)
    with app_engine(database_url) as engine, psycopg.connect(plain_url(database_url)) as holder:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        store, parts = ledger.store, [StreamWriter(a_stream(name)).next() for name in "ab"]
        holder.execute("SELECT pg_advisory_xact_lock(1246708300, 1)")
        told: list[object] = []

        def append() -> None:
            try:
                told.extend(store.append([parts[0]]))
            except Exception as error:  # noqa: BLE001  # whatever it is, it is looked at below
                told.append(error)

        early = threading.Thread(target=append)
        early.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        wait_until(lambda: holder.execute(waiting).fetchone() == (1,), "it waits")
        upgrade(database_url)
        (new,) = store.append([parts[1]])
        assert new.outcome is AppendOutcome.APPENDED
        holder.rollback()
        early.join()
        (refused,) = told
        assert "began before the schema was upgraded" in str(refused)
        assert type(refused).__name__ == "LedgerUnavailable", "so it is made again"
        (again,) = store.append([parts[0]])
        assert again.outcome is AppendOutcome.APPENDED
        assert [item.position for item in store.read_after(0, 9)] == [1, 2]


def test_the_lock_is_the_old_one_again_on_the_way_down(ledger_url: str) -> None:
    downgrade(ledger_url, BEFORE)
    with app_engine(ledger_url) as engine, psycopg.connect(plain_url(ledger_url)) as holder:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        holder.execute("SELECT pg_advisory_xact_lock(1246708300, 1)")
        part = StreamWriter(a_stream()).next()
        late = threading.Thread(target=lambda: ledger.store.append([part]))
        late.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        wait_until(lambda: holder.execute(waiting).fetchone() == (1,), "it waits")
        holder.rollback()
        late.join()
    upgrade(ledger_url)
    with app_engine(ledger_url) as engine, psycopg.connect(plain_url(ledger_url)) as holder:
        ledger = postgres_ledger(engine)
        holder.execute(APPEND_LOCK)
        late = threading.Thread(
            target=lambda: ledger.store.append([StreamWriter(a_stream("b")).next()])
        )
        late.start()
        with psycopg.connect(plain_url(ledger_url), autocommit=True) as looker:
            wait_until(lambda: looker.execute(WAITING).fetchone() == (1,), "it waits")
        holder.rollback()
        late.join()
        assert ledger.store.last_position() == 2
