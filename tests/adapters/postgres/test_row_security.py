"""Row level security hides nothing of the ledger in silence: who would see a part is refused."""

import psycopg
import pytest

from jobledger.adapters.postgres.connection.engine import (
    APP_ROLE,
    REPORT_ROLE,
    EngineOptions,
    open_engine,
)
from jobledger.adapters.postgres.log.event_store import PostgresEventStore
from jobledger.core.errors import LedgerMisconfigured
from tests.support.postgres import plain_url
from tests.support.records import NOON

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("role", [APP_ROLE, REPORT_ROLE])
def test_a_table_whose_rows_are_hidden_is_no_empty_one(ledger_url: str, role: str) -> None:
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
        admin.execute("ALTER TABLE log_head ENABLE ROW LEVEL SECURITY")
    engine = open_engine(ledger_url, EngineOptions(role=role))
    try:
        with pytest.raises(LedgerMisconfigured, match=r"DISABLE ROW LEVEL SECURITY.*log_head"):
            PostgresEventStore(engine, lambda: NOON).last_position()
    finally:
        engine.dispose()


def test_the_owner_of_the_tables_sees_all_of_them(ledger_url: str) -> None:
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as admin:
        admin.execute("ALTER TABLE log_head ENABLE ROW LEVEL SECURITY")
    engine = open_engine(ledger_url)
    assert PostgresEventStore(engine, lambda: NOON).last_position() == 0
    engine.dispose()
