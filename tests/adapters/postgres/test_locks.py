"""Who may hold up the writers of the ledger: nobody but its own functions."""

import psycopg
import pytest
from sqlalchemy import make_url

from jobledger.core.ports.event_store import AppendOutcome
from tests.support.ledgers import app_engine, postgres_ledger, tampering
from tests.support.postgres import plain_url
from tests.support.records import NOON, StreamWriter, a_stream

pytestmark = pytest.mark.postgres

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
