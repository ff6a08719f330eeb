"""Records, their ids and their chain; upcasting."""

import json

import pytest
from msgspec.structs import replace

from jobledger.core.catalogue import read_event
from jobledger.core.errors import BrokenChain
from jobledger.core.jobs.events import DecisionScheduled, EffectSucceeded
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.log.chain import GENESIS, canonical, data_sha, first_fault, is_hash_of, link
from jobledger.core.log.codec import decode, read
from jobledger.core.log.envelope import EventRecord
from jobledger.core.log.recording import NamedEvent, Tail, Writer, record
from jobledger.core.log.upcasting import upcast
from jobledger.core.rayjob.events.lifecycle import JobDeleted
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import decision_id_of, effect_id_of, event_id, observation_id
from tests.support.rayjob_builders import after
from tests.support.records import NOON, a_stream, with_data

STREAM = a_stream()
SEEN = observation_id(STREAM, "manifest", "7")
DECISION = decision_id_of(SEEN, "retry", "")
WRITER = Writer(actor="jobledger-0", epoch=3, now=after(9))
SCHEDULED = DecisionScheduled(
    at=NOON,
    decision_id=DECISION,
    kind=DecisionKind.RETRY,
    attempt=1,
    due_at=after(5),
    cause="attempt 1 failed",
)


def named(event: DecisionScheduled | JobDeleted) -> NamedEvent:
    """Return an event with its stored name."""
    return NamedEvent(name=type(event).__name__, schema_version=1, at=event.at, event=event)


def recorded(version: int = 4) -> tuple[tuple[EventRecord, ...], Tail]:
    """Return two events behind a tail."""
    tail = Tail(stream_id=STREAM, version=version, chain=GENESIS)
    return record(tail, WRITER, SEEN, [named(SCHEDULED), named(JobDeleted(at=after(1)))])


def test_a_record_says_who_wrote_what_when_and_why() -> None:
    (first, second), end = recorded()
    assert (first.version, second.version, end.version) == (5, 6, 6)
    assert first.event_id == event_id(SEEN, 0)
    assert second.event_id == event_id(SEEN, 1)
    assert {first.causation_id, second.causation_id} == {SEEN}
    assert (first.occurred_at, second.occurred_at) == (NOON, after(1))
    assert (first.recorded_at, first.actor, first.epoch) == (after(9), "jobledger-0", 3)
    assert first.data_sha == data_sha(first.data)
    assert end.chain == second.chain


def test_a_record_is_correlated_with_its_decision_or_effect_else_with_its_stream() -> None:
    (first, second), _ = recorded()
    assert (first.correlation_id, second.correlation_id) == (DECISION, STREAM)


def test_a_record_is_correlated_with_its_effect_too() -> None:
    effect = effect_id_of(SEEN, "add_finalizer", "rayjob")
    done = EffectSucceeded(at=NOON, effect_id=effect, kind=EffectKind.ADD_FINALIZER, name="rayjob")
    stored = NamedEvent(name="EffectSucceeded", schema_version=2, at=NOON, event=done)
    tail = Tail(stream_id=STREAM, version=4, chain=GENESIS)
    ((made,), end) = record(tail, WRITER, SEEN, [stored])
    assert made.correlation_id == effect
    assert (made.type, made.schema_version) == ("EffectSucceeded", 2)
    assert made.payload == canonical(made.data)
    assert made.chain == end.chain == link(GENESIS, replace(made, chain=b""))
    assert end.stream_id == STREAM


def test_the_same_events_on_the_same_tail_are_the_same_records() -> None:
    assert recorded() == recorded()


def test_no_events_leave_the_tail_where_it_was() -> None:
    tail = Tail(stream_id=STREAM, version=4, chain=b"x")
    assert record(tail, WRITER, SEEN, []) == ((), tail)


def test_a_run_that_is_whole_has_no_fault() -> None:
    records, _ = recorded()
    assert first_fault(GENESIS, records) is None
    assert first_fault(GENESIS, ()) is None


CHANGES: dict[str, dict[str, object]] = {
    "stream": {"stream_id": a_stream("other")},
    "version": {"version": 9},
    "event id": {"event_id": event_id(SEEN, 7)},
    "type": {"type": "JobDeletes"},
    "schema version": {"schema_version": 2},
    "occurred at": {"occurred_at": after(0.000001)},
    "recorded at": {"recorded_at": after(9.000001)},
    "actor": {"actor": "jobledger-1"},
    "epoch": {"epoch": 4},
    "causation": {"causation_id": STREAM},
    "correlation": {"correlation_id": STREAM},
    "payload hash": {"data_sha": bytes(32)},
}


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_is_changed_in_an_envelope_changes_its_link(what: str) -> None:
    (first, _), _ = recorded()
    changed = replace(first, **CHANGES[what])
    assert link(GENESIS, changed) != link(GENESIS, first)


@pytest.mark.parametrize(
    "data",
    [{"b": [1, {"z": 1, "a": "é"}], "a": None}, {"small": 1e-7}, {"big": 10**30}, {"at": "x"}, {}],
    ids=str,
)
def test_a_payload_has_its_hash_in_whatever_form_it_is_kept(data: Manifest) -> None:
    written, other = canonical(data), canonical({**data, "more": 1})
    for form in (written, json.dumps(data).encode(), json.dumps(data, indent=1).encode()):
        assert is_hash_of(data_sha(data), form)
        assert not is_hash_of(data_sha({**data, "more": 1}), form)
    assert not is_hash_of(data_sha(data), other)


def test_an_event_is_read_from_its_payload_as_from_a_document() -> None:
    for one in recorded()[0]:
        at, data = one.occurred_at, one.data
        there = read(type(read_event(one)), one.payload, at)
        assert there == decode(type(there), data, at) == read_event(one)
        doubled = canonical({**data, "at": "1999-01-01T00:00:00Z", "unknown": [1e300]})
        assert read(type(there), doubled, at) == there, "the envelope says when"


@pytest.mark.parametrize("payload", [b"{}", b'{"attempt":"one"}', b'{"attempt":1e999}', b"[]", b""])
def test_a_payload_that_is_not_of_its_type_is_refused(payload: bytes) -> None:
    first = replace(recorded()[0][0], payload=payload)
    with pytest.raises(BrokenChain):
        read_event(first)


def test_a_changed_payload_is_found() -> None:
    (first, second), _ = recorded()
    forged = with_data(first, {**first.data, "attempt": 2})
    fault = first_fault(GENESIS, (forged, second))
    assert fault == (forged, "the payload does not have the recorded hash")


def test_a_forged_record_breaks_the_chain_even_with_a_matching_hash() -> None:
    (first, second), _ = recorded()
    data: Manifest = {**first.data, "attempt": 2}
    forged = replace(with_data(first, data), data_sha=data_sha(data))
    assert first_fault(GENESIS, (forged, second)) == (
        forged,
        "the link does not continue the chain",
    )
    relinked = replace(forged, chain=link(GENESIS, forged))
    assert first_fault(GENESIS, (relinked, second)) == (
        second,
        "the link does not continue the chain",
    )


def test_a_missing_record_is_found() -> None:
    (first, second), _ = recorded()
    third = replace(second, version=7)
    assert first_fault(GENESIS, (first, third)) == (third, "version 7 follows version 5")


def test_swapped_records_are_found() -> None:
    (first, second), _ = recorded()
    assert first_fault(GENESIS, (second, first)) is not None


def test_every_step_from_an_old_schema_to_the_newest_is_taken() -> None:
    steps = {
        ("Moved", 1): lambda data: {**data, "two": True},
        ("Moved", 2): lambda data: {**data, "three": data["two"]},
        ("Other", 1): lambda _: {},
    }
    assert upcast("Moved", 1, {"a": 1}, steps) == {"a": 1, "two": True, "three": True}
    assert upcast("Moved", 2, {"two": 0}, steps) == {"two": 0, "three": 0}
    assert upcast("Moved", 3, {"a": 1}, steps) == {"a": 1}
    assert upcast("Unknown", 1, {"a": 1}, steps) == {"a": 1}
