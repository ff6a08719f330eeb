"""Rows that are sent in binary form are the rows that are sent as texts."""

import pytest
from psycopg.pq import Format
from sqlalchemy import Engine, literal, select

from jobledger.adapters.postgres.connection.engine import IN_BINARY
from jobledger.adapters.postgres.schema.stored_events import EVENTS, payloads_of, stored_event
from tests.support.ledgers import postgres_ledger
from tests.support.records import StreamWriter, a_stream

pytestmark = pytest.mark.postgres


def test_only_a_statement_that_asks_for_it_is_answered_in_binary(engine: Engine) -> None:
    query = select(literal("text"))
    with engine.connect() as connection:
        for asked, sent in ((query, Format.TEXT), (query.execution_options(**IN_BINARY), 1)):
            with connection.execute(asked) as result:
                assert result.cursor is not None
                assert result.cursor.pgresult.fformat(0) == sent


def test_events_are_the_same_in_both_forms(engine: Engine) -> None:
    ledger, writer = postgres_ledger(engine), StreamWriter(a_stream())
    ledger.take_all_shards()
    part = writer.next({"at": "2026-11-28", "fraction": 1.5e-10}, {"message": "\u2028 \U0001f680"})
    ledger.store.append([part])
    with engine.connect() as connection:
        as_texts = connection.execute(EVENTS)
        assert [stored_event(row).record for row in as_texts] == list(part.events)
        assert [event.record for event in ledger.store.read_after(0, 9)] == list(part.events)
        found = payloads_of(connection, [writer.stream_id, a_stream("another")])
    assert found[a_stream("another")] == []
    assert found[writer.stream_id] == [
        (event.type, event.schema_version, event.payload, event.occurred_at)
        for event in part.events
    ]
