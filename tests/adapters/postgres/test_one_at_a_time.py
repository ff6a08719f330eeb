"""Whatever writes waits for the append in flight, so that a takeover falls between two appends."""

import threading
from collections.abc import Callable

import psycopg
import pytest
from msgspec.structs import replace
from sqlalchemy import Engine

from jobledger.core.ports.history import JobFilter
from jobledger.core.values.ids import SHARDS
from tests.support.ledgers import APPEND_LOCK, TERM, WAITING, Ledger, postgres_ledger
from tests.support.postgres import plain_url
from tests.support.records import WRITER, StreamWriter, a_stream
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres

PART = StreamWriter(a_stream()).next()

WRITES: dict[str, Callable[[Ledger], object]] = {
    "append": lambda ledger: ledger.store.append([StreamWriter(a_stream("other")).next()]),
    "acquire": lambda ledger: ledger.leases.acquire("another", TERM, SHARDS),
    "release": lambda ledger: ledger.leases.release(WRITER),
    "replace_rows": lambda ledger: ledger.projections.replace_rows(
        PART.stream_id, 1, replace(PART.rows, job=replace(PART.rows.job, reason="anew"))
    ),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_waits_for_the_append_in_flight(
    engine: Engine, ledger_url: str, write: str
) -> None:
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    ledger.store.append([PART])
    before = state(ledger)
    thread = threading.Thread(target=WRITES[write], args=(ledger,))
    with (
        psycopg.connect(plain_url(ledger_url)) as append_in_flight,
        psycopg.connect(plain_url(ledger_url), autocommit=True) as looker,
    ):
        append_in_flight.execute(APPEND_LOCK)
        thread.start()

        def it_waits() -> bool:
            return looker.execute(WAITING).fetchone() == (1,)

        wait_until(it_waits, f"{write} waits")
        assert state(ledger) == before
        append_in_flight.rollback()
        thread.join(30)
    if write != "acquire":  # the other owner finds nothing free
        assert state(ledger) != before


def state(ledger: Ledger) -> object:
    """Return what the four writes would change."""
    (job,) = [row for row in ledger.history.jobs(JobFilter(), 9) if row.stream_id == PART.stream_id]
    return ledger.store.last_position(), ledger.leases.current(), job
