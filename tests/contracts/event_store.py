"""What every event log does: `core.ports.event_store`, one rule per function."""

import pytest
from msgspec.structs import replace

from jobledger.core.errors import BrokenChain, LedgerUnavailable
from jobledger.core.log.chain import GENESIS, first_fault
from jobledger.core.log.recording import Tail
from jobledger.core.ports.event_store import AppendOutcome, StreamAppend
from tests.support.ledgers import ANOTHER_WRITER, Ledger
from tests.support.lost_acknowledgements import ForgetfulStore
from tests.support.records import (
    StreamWriter,
    a_decision_row,
    a_stream,
    an_attempt_row,
    an_effect_row,
    with_data,
)

APPENDED, DUPLICATE = AppendOutcome.APPENDED, AppendOutcome.DUPLICATE
CONFLICT, FENCED = AppendOutcome.CONFLICT, AppendOutcome.FENCED


def outcomes(ledger: Ledger, *parts: StreamAppend) -> list[AppendOutcome]:
    """Append one batch and return what became of each part."""
    return [result.outcome for result in ledger.store.append(parts)]


def written(ledger: Ledger, name: str, *counts: int) -> StreamWriter:
    """Return a writer whose stream holds that many events, one append per count."""
    writer = StreamWriter(a_stream(name))
    for count in counts:
        part = writer.next(*([None] * count))
        assert outcomes(ledger, part) == [APPENDED]
        writer.wrote(part)
    return writer


def tail_of(writer: StreamWriter, version: int) -> Tail:
    """Return where its stream ended when it had so many events."""
    chain = writer.written[version - 1].chain
    return Tail(stream_id=writer.stream_id, version=version, chain=chain)


class EventStoreContract:
    """Appending, reading, refusing."""

    def test_what_was_appended_is_read_back_whole(self, ledger: Ledger) -> None:
        writer = StreamWriter(a_stream())
        part = writer.next({"a": 1}, {"b": ["x", None, True, 1.5, {"c": "ü\n"}]})
        (result,) = ledger.store.append([part])
        assert (result.outcome, result.version) == (APPENDED, 2)
        assert result.chain == part.events[-1].chain
        stored = ledger.store.read_stream(writer.stream_id)
        assert [event.record for event in stored] == list(part.events)
        assert first_fault(GENESIS, [event.record for event in stored]) is None

    def test_an_empty_batch_is_nothing(self, ledger: Ledger) -> None:
        assert list(ledger.store.append([])) == []
        assert ledger.store.last_position() == 0

    def test_an_unknown_stream_has_no_events(self, ledger: Ledger) -> None:
        stream = a_stream("unknown")
        assert list(ledger.store.read_stream(stream)) == []
        assert ledger.store.read_streams([stream]) == {stream: []}
        assert ledger.store.read_streams([]) == {}

    def test_reading_after_a_version_leaves_out_what_came_before(self, ledger: Ledger) -> None:
        writer = written(ledger, "a", 2, 3)
        versions = [e.record.version for e in ledger.store.read_stream(writer.stream_id, 3)]
        assert versions == [4, 5]

    def test_streams_are_read_together(self, ledger: Ledger) -> None:
        one, two = written(ledger, "one", 2), written(ledger, "two", 1)
        found = ledger.store.read_streams([two.stream_id, one.stream_id, a_stream("none")])
        assert {stream: len(events) for stream, events in found.items()} == {
            two.stream_id: 1,
            one.stream_id: 2,
            a_stream("none"): 0,
        }
        assert [event.record for event in found[one.stream_id]] == one.written

    def test_an_event_is_there_with_its_own_link_alone(self, ledger: Ledger) -> None:
        one, two = written(ledger, "one", 2), written(ledger, "two", 1)
        ends = [tail_of(one, 1), tail_of(one, 2), tail_of(two, 1)]
        assert ledger.store.has(ends)
        assert ledger.store.has([])
        beyond = replace(ends[1], version=3)
        unknown = replace(ends[2], stream_id=a_stream("none"))
        other_link = replace(ends[0], chain=ends[1].chain)
        for absent in (beyond, unknown, other_link, replace(ends[0], version=0)):
            assert not ledger.store.has([absent])
            assert not ledger.store.has([*ends, absent])

    def test_the_rest_of_streams_is_read_together(self, ledger: Ledger) -> None:
        one, two, none = written(ledger, "one", 2, 3), written(ledger, "two", 1), a_stream("none")
        found = ledger.store.read_rest({two.stream_id: 1, one.stream_id: 3, none: 0})
        versions = {stream: [e.record.version for e in rest] for stream, rest in found.items()}
        assert versions == {two.stream_id: [], one.stream_id: [4, 5], none: []}
        assert [event.record for event in found[one.stream_id]] == one.written[3:]
        assert ledger.store.read_rest({}) == {}

    def test_positions_are_dense_and_in_the_order_of_appends(self, ledger: Ledger) -> None:
        one, two = StreamWriter(a_stream("one")), StreamWriter(a_stream("two"))
        ledger.store.append([one.next(None, None), two.next(None)])
        written(ledger, "three", 1)
        log = ledger.store.read_after(0, 100)
        assert [event.position for event in log] == [1, 2, 3, 4]
        assert [event.record.stream_id for event in log] == [
            *[one.stream_id] * 2,
            two.stream_id,
            a_stream("three"),
        ]
        assert ledger.store.last_position() == 4

    def test_the_log_is_read_in_pieces(self, ledger: Ledger) -> None:
        written(ledger, "a", 5)
        assert [event.position for event in ledger.store.read_after(1, 2)] == [2, 3]
        assert [event.position for event in ledger.store.read_after(4, 2)] == [5]
        assert list(ledger.store.read_after(5, 2)) == []

    def test_a_stale_writer_meets_a_conflict_and_is_told_where_the_stream_is(
        self, ledger: Ledger
    ) -> None:
        writer = written(ledger, "a", 2)
        stale = StreamWriter(writer.stream_id).next(None, observation="something else")
        (result,) = ledger.store.append([stale])
        assert (result.outcome, result.version) == (CONFLICT, 2)
        assert result.chain == writer.chain
        assert len(ledger.store.read_stream(writer.stream_id)) == 2

    def test_a_writer_ahead_of_the_stream_meets_a_conflict(self, ledger: Ledger) -> None:
        ahead = StreamWriter(a_stream(), version=3)
        assert outcomes(ledger, ahead.next()) == [CONFLICT]
        assert ledger.store.last_position() == 0

    def test_the_same_append_again_is_a_duplicate_and_writes_nothing(self, ledger: Ledger) -> None:
        part = StreamWriter(a_stream()).next(None, None)
        assert outcomes(ledger, part) == [APPENDED]
        (result,) = ledger.store.append([part])
        assert (result.outcome, result.version) == (DUPLICATE, 2)
        assert result.chain == part.events[-1].chain
        assert ledger.store.last_position() == 2

    def test_an_older_append_again_is_still_a_duplicate(self, ledger: Ledger) -> None:
        writer = StreamWriter(a_stream())
        first = writer.next(None, None)
        ledger.store.append([first])
        writer.wrote(first)
        ledger.store.append([writer.next()])
        (result,) = ledger.store.append([first])
        assert (result.outcome, result.version) == (DUPLICATE, 3)

    def test_an_append_of_which_only_the_beginning_is_there_is_a_conflict(
        self, ledger: Ledger
    ) -> None:
        writer = StreamWriter(a_stream())
        ledger.store.append([writer.next(None, observation="seen")])
        assert outcomes(ledger, writer.next(None, None, observation="seen")) == [CONFLICT]

    def test_a_refused_part_does_not_keep_the_others_out(self, ledger: Ledger) -> None:
        old, new = written(ledger, "old", 1), StreamWriter(a_stream("new"))
        again = StreamWriter(a_stream("again"))
        repeated = again.next(None)
        ledger.store.append([repeated])
        stale = StreamWriter(old.stream_id).next(None, None, observation="stale")
        results = ledger.store.append([stale, new.next(None, None), repeated])
        assert [r.outcome for r in results] == [CONFLICT, APPENDED, DUPLICATE]
        log = ledger.store.read_after(2, 10)
        assert [(e.position, e.record.stream_id) for e in log] == [
            (3, new.stream_id),
            (4, new.stream_id),
        ]

    def test_a_stream_may_stand_in_a_batch_once(self, ledger: Ledger) -> None:
        part = StreamWriter(a_stream()).next()
        with pytest.raises(ValueError, match="occurs twice"):
            ledger.store.append([part, part])

    def test_a_payload_without_its_hash_is_refused_and_nothing_is_written(
        self, ledger: Ledger
    ) -> None:
        good = StreamWriter(a_stream("good")).next()
        part = StreamWriter(a_stream("bad")).next(None, None)
        forged = with_data(part.events[1], {"phase": "Complete"})
        bad = replace(part, events=(part.events[0], forged))
        with pytest.raises(BrokenChain, match=f"{a_stream('bad')} version 2: the payload"):
            ledger.store.append([good, bad])
        assert ledger.store.last_position() == 0
        assert ledger.history.attempts(good.stream_id) == []

    @pytest.mark.parametrize(
        "change",
        [
            {"type": "AttemptFailed"},
            {"schema_version": 2},
            {"causation_id": a_stream("x")},
            {"correlation_id": a_stream("x")},
            {"event_id": a_stream("x")},
            {"chain": bytes(32)},
            {"chain": b""},
        ],
        ids=lambda change: next(iter(change)) + str(len(str(change))),
    )
    def test_an_envelope_that_the_link_does_not_cover_is_refused(
        self, ledger: Ledger, change: dict[str, object]
    ) -> None:
        part = StreamWriter(a_stream()).next(None, None)
        forged = replace(part.events[0], **change)
        with pytest.raises(BrokenChain, match="version 1: the link does not continue"):
            ledger.store.append([replace(part, events=(forged, part.events[1]))])
        assert ledger.store.last_position() == 0

    def test_nor_is_what_says_that_another_wrote_it(self, ledger: Ledger) -> None:
        ledger.hand_over()
        part = StreamWriter(a_stream(), epoch=2).next()
        forged = replace(part.events[0], actor=ANOTHER_WRITER)
        with pytest.raises(BrokenChain, match="version 1: the link does not continue"):
            ledger.store.append([replace(part, events=(forged,))])
        assert ledger.store.last_position() == 0

    @pytest.mark.parametrize("field", ["occurred_at", "recorded_at"])
    def test_an_instant_is_covered_to_the_microsecond(self, ledger: Ledger, field: str) -> None:
        part = StreamWriter(a_stream()).next()
        at = getattr(part.events[0], field)
        forged = replace(part.events[0], **{field: at.replace(microsecond=at.microsecond + 1)})
        with pytest.raises(BrokenChain):
            ledger.store.append([replace(part, events=(forged,))])

    def test_events_that_continue_another_history_are_refused(self, ledger: Ledger) -> None:
        writer = written(ledger, "a", 1)
        writer.chain = bytes(31) + b"\x01"
        with pytest.raises(BrokenChain, match="version 2: the link"):
            ledger.store.append([writer.next()])

    def test_versions_that_do_not_follow_each_other_are_refused(self, ledger: Ledger) -> None:
        part = StreamWriter(a_stream()).next(None, None, None)
        gap = replace(part, events=(part.events[0], part.events[2]))
        with pytest.raises(BrokenChain):
            ledger.store.append([gap])
        assert ledger.store.last_position() == 0

    def test_an_observation_that_was_written_once_is_not_written_at_a_later_version(
        self, ledger: Ledger
    ) -> None:
        """The deciders are idempotent; one that is not is a bug, and must not enter the log."""
        writer = StreamWriter(a_stream())
        first = writer.next(None, observation="seen")
        ledger.store.append([first])
        writer.wrote(first)
        with pytest.raises(BrokenChain, match="already"):
            ledger.store.append([writer.next(None, observation="seen")])
        assert ledger.store.last_position() == 1

    def test_a_text_that_postgres_cannot_hold_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(BrokenChain):
            ledger.store.append([StreamWriter(a_stream()).next({"log": ["a\x00b"]})])
        part = StreamWriter(a_stream()).next()
        rows = replace(part.rows, job=replace(part.rows.job, message="a\x00b"))
        with pytest.raises(BrokenChain):
            ledger.store.append([replace(part, rows=rows)])
        assert ledger.store.last_position() == 0

    def test_a_lost_acknowledgement_ends_in_a_duplicate(self, ledger: Ledger) -> None:
        store = ForgetfulStore(ledger.store)
        part = StreamWriter(a_stream()).next(None, None)
        with pytest.raises(LedgerUnavailable):
            store.append([part])
        assert [result.outcome for result in store.append([part])] == [DUPLICATE]
        assert ledger.store.last_position() == 2


class AtomicRowsContract:
    """Rows and events go in together or not at all."""

    def test_rows_are_written_with_their_events(self, ledger: Ledger) -> None:
        stream = a_stream()
        rows = (an_attempt_row(stream), a_decision_row(stream), an_effect_row(stream))
        part = StreamWriter(stream).next(
            None, attempts=rows[:1], decisions=rows[1:2], effects=rows[2:]
        )
        ledger.store.append([part])
        assert ledger.history.attempts(stream) == [rows[0]]
        assert ledger.history.decisions(stream) == [rows[1]]
        assert ledger.history.effects(stream) == [rows[2]]

    def test_a_newer_row_takes_the_place_of_the_older(self, ledger: Ledger) -> None:
        writer = StreamWriter(a_stream())
        stream = writer.stream_id
        first = writer.next(
            attempts=[an_attempt_row(stream)],
            decisions=[a_decision_row(stream)],
            effects=[an_effect_row(stream)],
        )
        ledger.store.append([first])
        writer.wrote(first)
        newer = (
            an_attempt_row(stream, outcome="failed"),
            a_decision_row(stream, state="fired"),
            an_effect_row(stream, state="succeeded"),
        )
        second = writer.next(attempts=newer[:1], decisions=newer[1:2], effects=newer[2:])
        ledger.store.append([second])
        assert ledger.history.attempts(stream) == [newer[0]]
        assert ledger.history.decisions(stream) == [newer[1]]
        assert ledger.history.effects(stream) == [newer[2]]

    def test_rows_of_a_refused_part_stay_out(self, ledger: Ledger) -> None:
        writer = written(ledger, "a", 1)
        stream, other = writer.stream_id, a_stream("other")
        stale = StreamWriter(stream).next(
            None, observation="stale", attempts=[an_attempt_row(stream, 7)]
        )
        fresh = StreamWriter(other).next(attempts=[an_attempt_row(other)])
        assert outcomes(ledger, stale, fresh) == [CONFLICT, APPENDED]
        assert ledger.history.attempts(stream) == []
        assert len(ledger.history.attempts(other)) == 1

    def test_rows_are_replaced_while_the_stream_stands_still(self, ledger: Ledger) -> None:
        writer = StreamWriter(a_stream())
        stream = writer.stream_id
        part = writer.next(attempts=[an_attempt_row(stream), an_attempt_row(stream, 2)])
        ledger.store.append([part])
        anew = replace(part.rows, attempts=(an_attempt_row(stream, 1, "failed"),))
        assert not ledger.projections.replace_rows(stream, 2, anew)
        assert len(ledger.history.attempts(stream)) == 2
        assert ledger.projections.replace_rows(stream, 1, anew)
        assert ledger.history.attempts(stream) == list(anew.attempts)
        assert not ledger.projections.replace_rows(a_stream("unknown"), 1, anew)
