"""The ledger through pgBouncer in transaction mode, where nothing of a session lasts."""

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from sqlalchemy import URL, Engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from jobledger.adapters.postgres.archive.archives import PostgresArchives
from jobledger.adapters.postgres.connection.engine import APP_ROLE, EngineOptions, open_engine
from jobledger.adapters.postgres.connection.pooler import owns_session
from jobledger.adapters.postgres.reports.projecting.projector import ReportService
from jobledger.adapters.postgres.reports.projecting.rebuild import rebuild_reports
from jobledger.adapters.postgres.schema.version import status
from jobledger.adapters.postgres.verifying.verify import verify
from jobledger.core.errors import LedgerMisconfigured
from jobledger.core.ports.event_store import AppendOutcome
from jobledger.core.projections.reporting.fold import Rules
from tests.support.ledgers import Ledger, postgres_ledger
from tests.support.pooler import bring_role, pooled
from tests.support.postgres import plain_url
from tests.support.records import StreamWriter, a_stream
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres

STATEMENTS = re.compile(r"(ALTER ROLE .*?)(?:; then|; (?=ALTER))")
WRITERS, EVENTS = 8, 30


@pytest.fixture
def address(ledger_url: str) -> Iterator[URL]:
    """The ledger through pgBouncer, for a login of which nothing was set."""
    with pooled(ledger_url) as through:
        yield through


@contextmanager
def through(address: URL, role: str = APP_ROLE) -> Iterator[Engine]:
    engine = open_engine(address.render_as_string(hide_password=False), EngineOptions(role=role))
    try:
        yield engine
    finally:
        engine.dispose()


def refusal(address: URL) -> str:
    found: list[str] = []

    def is_refused() -> bool:
        with through(address) as engine:
            try:
                engine.connect().close()
            except LedgerMisconfigured as error:
                found.append(str(error))
            except SQLAlchemyError:
                return False  # a connection to the server that was ended is met once
        return bool(found)

    wait_until(is_refused, "the login is refused")
    return found[0]


def altered(url: str, address: URL, statements: Iterable[str]) -> None:
    """Change the login, and have pgBouncer's connections begin anew with it (RECONNECT)."""
    with psycopg.connect(plain_url(url), autocommit=True) as admin:
        for statement in statements:
            admin.execute(statement.encode())
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = %s",
            (address.username,),
        )


def follow(address: URL, url: str) -> None:
    """Do what the refusal says."""
    statements = STATEMENTS.findall(refusal(address))
    assert statements
    altered(url, address, statements)


@pytest.fixture
def ready(address: URL, ledger_url: str) -> Iterator[Engine]:
    """The service's connections, through pgBouncer, after what the refusal says was done."""
    follow(address, ledger_url)
    with through(address) as engine:
        wait_until(lambda: _connects(engine), "pgbouncer has connected anew")
        yield engine


def _connects(engine: Engine) -> bool:
    try:
        engine.connect().close()
    except SQLAlchemyError:
        return False  # as above
    return True


def test_a_login_that_brings_no_role_is_refused_with_what_to_do(address: URL) -> None:
    told = refusal(address)
    assert f'ALTER ROLE "{address.username}" SET role = "jobledger_app"' in told
    assert "the address of Postgres itself" in told
    assert "pooled:" not in told, "no password"


def test_a_pooler_that_pools_by_statement_is_told_what_to_change(ledger_url: str) -> None:
    """It was told as what passes, so that a service began again and again."""
    with pooled(ledger_url, "statement") as address:
        bring_role(ledger_url, address)
        altered(ledger_url, address, [f"ALTER ROLE \"{address.username}\" SET timezone = 'UTC'"])
        url = address.render_as_string(hide_password=False)
        with pytest.raises(LedgerMisconfigured, match="set pool_mode = transaction"):
            status(url)


def test_what_the_login_brings_wrong_is_named(address: URL, ledger_url: str) -> None:
    follow(address, ledger_url)
    change = f'ALTER ROLE "{address.username}" SET default_transaction_isolation = serializable'
    altered(ledger_url, address, [change])
    told = refusal(address)
    assert "SET default_transaction_isolation = 'read committed'" in told
    assert "SET role" not in told


@pytest.mark.parametrize(
    ("setting", "value", "needed"),
    [
        ("intervalstyle", "iso_8601", "'postgres'"),
        ("extra_float_digits", "0", "1"),
        ("synchronous_commit", "off", "on"),
        ("lock_timeout", "5000", "0"),
    ],
)
def test_what_would_change_values_or_lose_commits_is_named(
    address: URL, ledger_url: str, setting: str, value: str, needed: str
) -> None:
    follow(address, ledger_url)
    change = f'ALTER ROLE "{address.username}" SET {setting} = {value}'
    altered(ledger_url, address, [change])
    assert f"SET {setting} = {needed}" in refusal(address)


def test_rows_that_would_be_hidden_are_named(address: URL, ledger_url: str) -> None:
    """Of a table with row level security; else the login needs no such setting."""
    follow(address, ledger_url)
    altered(ledger_url, address, ["ALTER TABLE log_head ENABLE ROW LEVEL SECURITY"])
    assert "SET row_security = off" in refusal(address)


def test_nothing_is_set_for_a_session_that_others_get(ready: Engine) -> None:
    """Whoever gets the server's connection next finds it as the login made it."""
    with ready.connect() as connection:
        assert not owns_session(connection)
        found = connection.execute(
            text("SELECT name, setting FROM pg_settings WHERE source = 'session'")
        ).all()
        prepared = connection.execute(text("SELECT count(*) FROM pg_prepared_statements"))
        assert prepared.scalar_one() == 0
    # what pgBouncer itself passes on for each client, and takes back
    assert {name for name, _ in found} <= {"client_encoding", "application_name"}


def test_a_direct_connection_has_a_session(engine: Engine) -> None:
    with engine.connect() as connection:
        assert owns_session(connection)
        assert connection.execute(text("SHOW timezone")).scalar_one() == "UTC"


def test_a_login_may_have_any_form_of_values(ledger_url: str) -> None:
    """As a database may that was made for German users, or as servers once were set up."""
    database = make_url(ledger_url).database
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE \"{database}\" SET datestyle = 'German'".encode())
        admin.execute(f'ALTER DATABASE "{database}" SET intervalstyle = iso_8601'.encode())
        admin.execute(f'ALTER DATABASE "{database}" SET extra_float_digits = 0'.encode())
    engine = open_engine(ledger_url)
    with engine.connect() as connection:
        found = connection.execute(
            text(
                "SELECT '2026-11-28 10:00Z'::timestamptz, '90 minutes'::interval, "
                "'16.205000000000002'::float8"
            )
        ).one()
    engine.dispose()
    instant = datetime(2026, 11, 28, 10, tzinfo=UTC)
    assert tuple(found) == (instant, timedelta(minutes=90), 16.205000000000002)


def test_a_login_may_have_statements_of_servers_as_they_once_were(ledger_url: str) -> None:
    """As before Postgres 9.1, when backslashes escaped, or with locks that are not waited for."""
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
        for setting in ("standard_conforming_strings = off", "lock_timeout = '1ms'"):
            statement = f'ALTER DATABASE "{make_url(ledger_url).database}" SET {setting}'
            admin.execute(statement.encode())
    engine = open_engine(ledger_url)
    with engine.connect() as connection:
        waits = connection.execute(text("SHOW lock_timeout")).scalar_one()
        backslash = connection.execute(text(r"SELECT '\u0000'")).scalar_one()
    engine.dispose()
    assert (waits, backslash) == ("0", r"\u0000")


@pytest.mark.parametrize(
    ("set_for_the_database", "in_force"),
    [("off", "on"), ("local", "local"), ("remote_apply", "remote_apply")],
)
def test_no_commit_is_acted_on_that_a_crash_may_lose(
    ledger_url: str, set_for_the_database: str, in_force: str
) -> None:
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
        statement = (
            f'ALTER DATABASE "{make_url(ledger_url).database}" '
            f"SET synchronous_commit = {set_for_the_database}"
        )
        admin.execute(statement.encode())
    engine = open_engine(ledger_url)
    with engine.connect() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == in_force
    engine.dispose()


def written(ledger: Ledger, number: int) -> None:
    writer = StreamWriter(a_stream(f"job {number}"))
    for _ in range(EVENTS):
        part = writer.next()
        (result,) = ledger.store.append([part])
        writer.wrote(part)
        assert result.outcome is AppendOutcome.APPENDED


def test_writers_and_readers_share_a_few_connections(ready: Engine) -> None:
    """Any statement may be another server process'; the driver prepares after five of a kind."""
    ledger = postgres_ledger(ready)
    ledger.take_all_shards()
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda number: written(ledger, number), range(WRITERS)))
    for number in range(WRITERS):
        assert len(ledger.store.read_stream(a_stream(f"job {number}"))) == EVENTS
    assert verify(ready, lambda *_: None).faults == ()
    with ready.connect() as connection:
        left = connection.execute(text("SELECT count(*) FROM pg_prepared_statements"))
        assert left.scalar_one() == 0
        assert connection.execute(text("SHOW statement_timeout")).scalar_one() == "0", "as it was"


def test_reports_are_carried_on_without_a_lock(ready: Engine) -> None:
    ledger = postgres_ledger(ready)
    lags: list[int] = []
    services = [ReportService(ready, Rules(), lambda events, _: lags.append(events)) for _ in "ab"]
    for service in services:
        service.start()
    try:
        wait_until(lambda: len(lags) > 1, "both have looked")
        with ready.connect() as connection:
            locks = text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
            assert connection.execute(locks).scalar_one() == 0
    finally:
        for service in services:
            service.stop()
    assert ledger.store.last_position() == 0


def test_what_needs_a_session_says_so(ready: Engine) -> None:
    with pytest.raises(LedgerMisconfigured, match="it needs a session of its own"):
        rebuild_reports(ready, Rules())
    assert status(ready.url.render_as_string(hide_password=False)).is_current


def test_an_archive_says_so_to_its_owner(address: URL, ledger_url: str) -> None:
    follow(address, ledger_url)
    login = f'ALTER ROLE "{address.username}"'
    altered(ledger_url, address, [f"{login} SUPERUSER", f"{login} RESET role"])
    with through(address, role="") as owner:
        wait_until(lambda: _connects(owner), "pgbouncer has connected anew")
        with (
            pytest.raises(LedgerMisconfigured, match="`jobledger archive create`: it needs a"),
            PostgresArchives(owner).alone(),
        ):
            pass
