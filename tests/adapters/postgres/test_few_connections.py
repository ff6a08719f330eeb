"""Where the server takes few connections of a login, statements wait for one that is there."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import make_url

from jobledger.adapters.postgres.connection import patient_pool
from jobledger.adapters.postgres.connection.engine import EngineOptions, open_engine
from jobledger.adapters.postgres.connection.errors import lacks_room
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.core.errors import LedgerUnavailable
from tests.support.postgres import plain_url
from tests.support.records import NOON

pytestmark = pytest.mark.postgres

THREADS = 8
QUESTIONS = 400


@pytest.fixture
def narrow_url(ledger_url: str) -> Iterator[str]:
    """A ledger, by a login that may have two connections."""
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
        admin.execute("CREATE ROLE narrow LOGIN PASSWORD 'x' CONNECTION LIMIT 2")
        admin.execute("GRANT jobledger_app TO narrow")
    url = make_url(ledger_url).set(username="narrow", password="x")
    yield url.render_as_string(hide_password=False)
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
        admin.execute("DROP ROLE narrow")


def test_more_threads_than_connections_all_get_their_answers(narrow_url: str) -> None:
    """Each beyond the two was refused: leases were not renewed, and shards were lost."""
    engine = open_engine(narrow_url, EngineOptions(pool_size=THREADS))
    store = PostgresEventStore(engine, lambda: NOON)
    with ThreadPoolExecutor(THREADS) as threads:
        told = list(threads.map(lambda _: store.last_position(), range(QUESTIONS)))
    engine.dispose()
    assert told == [0] * QUESTIONS


def test_threads_whose_connections_were_ended_all_get_their_answers(
    ledger_url: str, narrow_url: str
) -> None:
    """Another took one of their places: what had lost its connection was refused for ever."""
    engine = open_engine(narrow_url, EngineOptions(pool_size=THREADS))
    store = PostgresEventStore(engine, lambda: NOON)
    with engine.connect(), engine.connect():
        pass
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'narrow'"
        )
    with psycopg.connect(plain_url(narrow_url)), ThreadPoolExecutor(THREADS) as threads:
        told = list(threads.map(lambda _: store.last_position(), range(QUESTIONS)))
    engine.dispose()
    assert told == [0] * QUESTIONS


def test_a_server_that_has_room_again_is_asked_again(
    narrow_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one connection of the pool may be held for long, as that of the reports is."""
    refused = threading.Event()

    def noted(error: psycopg.Error) -> bool:
        refused.set()
        return lacks_room(error)

    monkeypatch.setattr(patient_pool, "lacks_room", noted)
    engine = open_engine(narrow_url)
    store = PostgresEventStore(engine, lambda: NOON)
    with engine.connect(), ThreadPoolExecutor(1) as threads:
        with psycopg.connect(plain_url(narrow_url)):
            answer = threads.submit(store.last_position)
            assert refused.wait(60)
        assert answer.result(60) == 0
    engine.dispose()


def test_connections_that_come_and_go_are_no_lines_of_the_log(
    ledger_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        engine = open_engine(ledger_url)
        engine.connect().close()
        engine.dispose()
    assert not caplog.records


def test_who_has_none_is_refused_at_once(narrow_url: str) -> None:
    with psycopg.connect(plain_url(narrow_url)), psycopg.connect(plain_url(narrow_url)):
        engine = open_engine(narrow_url)
        with pytest.raises(LedgerUnavailable, match="too many connections"):
            PostgresEventStore(engine, lambda: NOON).last_position()
        engine.dispose()


def test_who_waits_in_vain_is_told_why(narrow_url: str) -> None:
    engine = open_engine(narrow_url, EngineOptions(statement_timeout_seconds=1))
    with (
        psycopg.connect(plain_url(narrow_url)),
        engine.connect(),
        pytest.raises(LedgerUnavailable, match="too many connections"),
    ):
        PostgresEventStore(engine, lambda: NOON).last_position()
    engine.dispose()
