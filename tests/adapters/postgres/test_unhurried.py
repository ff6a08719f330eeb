"""Walks over a whole log may take longer than any other statement."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, make_url, text
from sqlalchemy.exc import DBAPIError

from jobledger.adapters.postgres.connection.answer_limit import unhurried
from jobledger.adapters.postgres.connection.engine import (
    TRANSACTION_TIMEOUT_SINCE,
    EngineOptions,
    open_engine,
)
from tests.support.ledgers import tampering

pytestmark = pytest.mark.postgres

HASTY_SECONDS = 4
"""Long enough for what a busy machine answers at once."""

LONG = text(f"SELECT pg_sleep({HASTY_SECONDS + 0.6})")


@pytest.fixture
def hasty(ledger_url: str) -> Iterator[Engine]:
    """An engine whose statements may take so long."""
    options = EngineOptions(pool_size=1, statement_timeout_seconds=HASTY_SECONDS, grace_seconds=0)
    engine = open_engine(ledger_url, options)
    yield engine
    engine.dispose()


def test_a_walk_takes_its_time_and_the_next_statement_does_not(hasty: Engine) -> None:
    with hasty.connect() as connection:
        with unhurried(connection):
            connection.execute(LONG)
        assert (
            connection.execute(text("SHOW statement_timeout")).scalar_one() == f"{HASTY_SECONDS}s"
        )
    with hasty.connect() as again, pytest.raises(DBAPIError):
        again.execute(LONG)


def test_a_walk_that_failed_leaves_no_connection_without_a_limit(hasty: Engine) -> None:
    with hasty.connect() as connection, pytest.raises(DBAPIError), unhurried(connection):
        connection.execute(text("SELECT 1 / 0"))
    with hasty.connect() as again:
        assert again.execute(text("SHOW statement_timeout")).scalar_one() == f"{HASTY_SECONDS}s"


def test_no_limit_of_idle_sessions_ends_what_holds_a_snapshot_or_a_lock(ledger_url: str) -> None:
    limits = ["idle_in_transaction_session_timeout", "idle_session_timeout", "transaction_timeout"]
    with tampering(ledger_url) as admin:
        server = admin.execute("SHOW server_version_num").fetchone()
        assert server is not None
        known = limits if int(server[0]) >= TRANSACTION_TIMEOUT_SINCE else limits[:2]
        database = make_url(ledger_url).database
        for limit in known:
            admin.execute(f"ALTER DATABASE {database} SET {limit} = '1min'")
    engine = open_engine(ledger_url)
    with engine.connect() as connection:
        found = [connection.exec_driver_sql(f"SHOW {limit}").scalar_one() for limit in known]
    engine.dispose()
    assert found == ["0"] * len(known)
