"""Connections that break: what the caller is told, and how the log stands afterwards."""

import threading

import psycopg
import pytest
from sqlalchemy import Engine, make_url

from jobledger.adapters.postgres.connection.engine import APP_ROLE, EngineOptions, open_engine
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.ports.event_store import AppendOutcome
from tests.support.ledgers import APPEND_LOCK, WAITING, Ledger, app_engine, postgres_ledger
from tests.support.lost_acknowledgements import cutting_proxy
from tests.support.postgres import plain_url
from tests.support.postgres_fault_proxy import PostgresFaultProxy
from tests.support.records import StreamWriter, a_stream
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.postgres]

PATIENCE_SECONDS = 5
"""Waited for in vain, and long enough for what a busy machine answers."""


def begun(engine: Engine) -> tuple[Ledger, StreamWriter]:
    """Return a ledger and a stream whose first event is in it."""
    ledger, writer = postgres_ledger(engine), StreamWriter(a_stream())
    ledger.take_all_shards()
    first = writer.next()
    ledger.store.append([first])
    writer.wrote(first)
    return ledger, writer


def test_a_commit_whose_answer_is_cut_off_ends_in_a_duplicate(ledger_url: str) -> None:
    url = make_url(ledger_url)
    with cutting_proxy(url.host or "", url.port or 0) as proxy:
        through = url.set(port=proxy.port).render_as_string(hide_password=False)
        with app_engine(through) as engine:
            ledger = postgres_ledger(engine)
            ledger.take_all_shards()
            writer = StreamWriter(a_stream())
            first = writer.next()
            ledger.store.append([first])
            writer.wrote(first)
            second = writer.next(None, None)
            proxy.cut_next_answer()
            with pytest.raises(LedgerUnavailable):
                ledger.store.append([second])
            # The commit had been sent; the server finishes it without us.
            with app_engine(ledger_url) as direct:
                other = postgres_ledger(direct).store
                wait_until(lambda: other.last_position() == 3, "the commit took place")
            (result,) = ledger.store.append([second])
    assert (result.outcome, result.version) == (AppendOutcome.DUPLICATE, 3)


def test_connections_that_were_ended_while_idle_are_replaced_before_they_are_used(
    engine: Engine, ledger_url: str
) -> None:
    ledger, writer = begun(engine)
    with engine.connect(), engine.connect():  # there are two
        pass
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE application_name = 'jobledger' AND datname = current_database()"
        )
    (result,) = ledger.store.append([writer.next()])
    assert result.outcome is AppendOutcome.APPENDED
    with engine.connect() as one, engine.connect() as other:
        for connection in (one, other):
            connection.exec_driver_sql("SELECT 1")


def test_no_connection_to_a_server_that_only_reads_is_kept(engine: Engine) -> None:
    ledger, writer = begun(engine)
    with engine.connect() as one, engine.connect() as other:
        for connection in (one, other):
            connection.exec_driver_sql("SET default_transaction_read_only = on")
    part = writer.next()
    with pytest.raises(LedgerUnavailable, match="read-only"):
        ledger.store.append([part])
    (result,) = ledger.store.append([part])
    assert result.outcome is AppendOutcome.APPENDED


def test_an_append_that_waits_too_long_for_the_lock_gives_up(ledger_url: str) -> None:
    with (
        app_engine(ledger_url, statement_timeout_seconds=PATIENCE_SECONDS) as engine,
        psycopg.connect(plain_url(ledger_url)) as holder,
    ):
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        part = StreamWriter(a_stream()).next()
        holder.execute(APPEND_LOCK)
        with pytest.raises(LedgerUnavailable, match="timeout"):
            ledger.store.append([part])
        holder.rollback()
        (result,) = ledger.store.append([part])
    assert result.outcome is AppendOutcome.APPENDED


def test_a_server_that_is_lost_behind_a_line_that_stays_is_not_waited_for(ledger_url: str) -> None:
    """A proxy goes on acknowledging what it gets, so no limit of TCP is ever reached."""
    url = make_url(ledger_url)
    with PostgresFaultProxy(url.host or "", url.port or 0) as line:
        through = url.set(port=line.port).render_as_string(hide_password=False)
        options = EngineOptions(
            role=APP_ROLE, statement_timeout_seconds=PATIENCE_SECONDS - 1, grace_seconds=1
        )
        engine = open_engine(through, options)
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        part = StreamWriter(a_stream()).next()
        line.half_open()
        with pytest.raises(LedgerUnavailable, match=f"no answer within {PATIENCE_SECONDS} s"):
            ledger.store.append([part])
        line.restore()
        (result,) = ledger.store.append([part])
        assert result.outcome is AppendOutcome.APPENDED
        engine.dispose()


def test_what_is_answered_in_time_is_not_cut_off(ledger_url: str) -> None:
    """The limit is that of one statement, not of the connection."""
    options = EngineOptions(
        role=APP_ROLE, statement_timeout_seconds=PATIENCE_SECONDS, grace_seconds=0
    )
    engine = open_engine(ledger_url, options)
    with engine.connect() as connection:
        first = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        for _ in range(PATIENCE_SECONDS):
            connection.exec_driver_sql("SELECT pg_sleep(1.2)")
        assert connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one() == first
    engine.dispose()


def test_an_append_judges_what_was_committed_while_it_waited(
    engine: Engine, ledger_url: str
) -> None:
    """The lock comes before anything is read: of two that waited, the second sees the first."""
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    stream = a_stream()
    parts = [StreamWriter(stream).next(observation=name) for name in ("one", "two")]
    outcomes: list[AppendOutcome] = []

    def append(number: int) -> None:
        (result,) = ledger.store.append([parts[number]])
        outcomes.append(result.outcome)

    threads = [threading.Thread(target=append, args=(number,)) for number in (0, 1)]
    with (
        psycopg.connect(plain_url(ledger_url)) as holder,
        psycopg.connect(plain_url(ledger_url), autocommit=True) as looker,
    ):
        ledger.store.append([StreamWriter(a_stream("other")).next()])
        holder.execute(APPEND_LOCK)
        for thread in threads:
            thread.start()

        def both_wait() -> bool:
            return looker.execute(WAITING).fetchone() == (2,)

        wait_until(both_wait, "both appends wait for the lock")
        holder.rollback()
        for thread in threads:
            thread.join(30)
    assert sorted(outcomes) == [AppendOutcome.APPENDED, AppendOutcome.CONFLICT]
