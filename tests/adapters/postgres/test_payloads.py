"""Whatever a payload holds, it comes back from Postgres with the hash it was written with."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from jobledger.core.log.chain import GENESIS, canonical, first_fault
from jobledger.core.values.documents import Json, Manifest
from tests.support.ledgers import Ledger, postgres_ledger
from tests.support.records import StreamWriter, a_stream

pytestmark = pytest.mark.postgres

# What redaction lets in: no NUL, no lone surrogates, no whole-number floats (see core.log.chain).
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
FRACTIONS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer())
LEAVES: st.SearchStrategy[Json] = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**200), 2**200), FRACTIONS, TEXTS
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)
PAYLOADS: st.SearchStrategy[Manifest] = st.dictionaries(TEXTS, VALUES, max_size=5)


@pytest.fixture
def written(engine: Engine) -> tuple[Ledger, StreamWriter]:
    """A log and one stream that all examples append to."""
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    return ledger, StreamWriter(a_stream())


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payload=PAYLOADS)
@example(payload={"small": 1.5e-10, "smaller": 5e-324, "sum": 0.1 + 0.2, "big": 10**300 + 1})
@example(
    payload={"b": {"a": [], "": {}}, "aa": [[[None]]], "a": "\x01\x1f\x7f\u2028\U0001f680\\u0000"}
)
def test_a_payload_keeps_its_hash(written: tuple[Ledger, StreamWriter], payload: Manifest) -> None:
    ledger, writer = written
    part = writer.next(payload)
    ledger.store.append([part])
    (stored,) = ledger.store.read_stream(writer.stream_id, writer.version)
    writer.wrote(part)
    assert canonical(stored.record.data) == canonical(payload)
    assert stored.record == part.events[0]


def test_a_long_payload_keeps_its_hash(written: tuple[Ledger, StreamWriter]) -> None:
    ledger, writer = written
    part = writer.next({"log": "line\n" * 200_000, "items": list(range(10_000))})
    ledger.store.append([part])
    records = [event.record for event in ledger.store.read_stream(writer.stream_id)]
    assert first_fault(GENESIS, records) is None
