"""The database's clock is set back: nothing waits until it is as late again."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine

from jobledger.adapters.notifying.service import LONGEST_PAUSE
from jobledger.adapters.postgres.log.notifications import PostgresNotifications
from jobledger.core.sharing import quotas
from jobledger.core.values.ids import SHARDS
from tests.support.ledgers import TERM, postgres_ledger, tampering
from tests.support.notices import a_notice

pytestmark = pytest.mark.postgres

SET_BACK = """
    UPDATE shard_lease SET until = until + interval '3 h';
    UPDATE replica SET since = since + interval '3 h', until = until + interval '3 h',
        heard_at = heard_at + interval '3 h', well_since = well_since + interval '2 h';
"""
"""What is written is as late as if the clock had been three hours ahead, for an hour."""

PATIENCE = timedelta(seconds=6)


def test_who_goes_on_gets_the_shards_of_who_died(engine: Engine, ledger_url: str) -> None:
    """Nobody held any: the dead replica had heard the API server later than all others."""
    ledger = postgres_ledger(engine)
    for owner in ("dead/1", "one/1"):
        ledger.replicas.beat(owner, TERM, hears=True)
        ledger.leases.acquire(owner, TERM, SHARDS // 2)
    with tampering(ledger_url) as admin:
        admin.execute(SET_BACK)
    told = ledger.replicas.beat("one/1", TERM, hears=True)
    assert quotas(told, PATIENCE) == {"dead/1": SHARDS // 2, "one/1": SHARDS // 2}
    held = ledger.leases.acquire("one/1", TERM, SHARDS)
    assert len(held) == SHARDS // 2
    latest = max(lease.until for lease in held.values())
    ends = {lease.until for lease in ledger.leases.current().values()}
    ends |= {one.until for one in told}
    assert all(end <= latest for end in ends), "within one lease the dead one is gone"


DUE_IN = "UPDATE notification SET due_at = clock_timestamp() + %s"
MOMENT = timedelta(minutes=1)


def test_a_notification_that_is_due_later_than_any_pause_is_sent(
    engine: Engine, ledger_url: str
) -> None:
    waiting, notice = PostgresNotifications(engine), a_notice()
    assert waiting.put(None, 0, (notice,))
    with tampering(ledger_url) as admin:
        admin.execute(DUE_IN, [LONGEST_PAUSE - MOMENT])
        assert waiting.take(notice.target, 10, TERM) == []
        admin.execute(DUE_IN, [LONGEST_PAUSE + MOMENT])
    (taken,) = waiting.take(notice.target, 10, TERM)
    assert (taken.notice.id, taken.tries) == (notice.id, 1)
    assert waiting.take(notice.target, 10, TERM) == []
