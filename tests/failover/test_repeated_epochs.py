"""A promoted replica gives an epoch once more, while its first holder still believes in it."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from jobledger.core.ports.event_store import AppendOutcome, StreamAppend
from jobledger.core.values.ids import SHARDS
from tests.failover.standby import Standby, standby_of
from tests.support.ledgers import TERM, Ledger, app_engine, postgres_ledger
from tests.support.records import StreamWriter, a_stream

pytestmark = [pytest.mark.faults, pytest.mark.postgres]


@pytest.fixture
def standby(ledger_url: str) -> Iterator[Standby]:
    """A replica of a migrated, empty ledger."""
    with standby_of(ledger_url) as replica:
        yield replica


def epochs_of(ledger: Ledger, owner: str) -> set[int]:
    return {lease.epoch for lease in ledger.leases.acquire(owner, TERM, SHARDS).values()}


def outcome(ledger: Ledger, part: StreamAppend) -> AppendOutcome:
    (result,) = ledger.store.append([part])
    return result.outcome


def test_only_its_second_holder_writes(ledger_url: str, standby: Standby) -> None:
    first, last, heir = "a/first", "a/last", "b/heir"
    with ExitStack() as both:
        before = postgres_ledger(both.enter_context(app_engine(ledger_url)))
        assert epochs_of(before, first) == {1}
        standby.wait_until_caught_up()
        standby.cut_off()
        before.leases.release(first)
        assert epochs_of(before, last) == {2}
        written = StreamWriter(a_stream("written"), epoch=2, actor=last)
        part = written.next()
        assert outcome(before, part) is AppendOutcome.APPENDED
        written.wrote(part)

        standby.promote()
        after = postgres_ledger(both.enter_context(app_engine(standby.url)))
        after.leases.release(first)
        assert epochs_of(after, heir) == {2}, "the epoch of the owner that was lost, again"
        new = StreamWriter(a_stream("new"), epoch=2, actor=last)
        assert outcome(after, written.next()) is AppendOutcome.FENCED
        assert outcome(after, part) is AppendOutcome.FENCED, "nor what was lost, sent again"
        assert outcome(after, new.next()) is AppendOutcome.FENCED
        assert after.store.last_position() == 0
        ours = StreamWriter(a_stream("new"), epoch=2, actor=heir)
        assert outcome(after, ours.next()) is AppendOutcome.APPENDED
