"""Walks over a whole log may take longer than any other statement."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from jobledger.adapters.postgres.connection.answer_limit import unhurried
from jobledger.adapters.postgres.connection.engine import EngineOptions, open_engine

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
