"""What every list of pending decisions does: `core.ports.pending`, one rule per function."""

from datetime import timedelta

from core.jobs.rows import DecisionRow
from core.values.ids import SHARDS, shard_of
from tests.support.ledgers import Ledger
from tests.support.records import NOON, StreamWriter, a_decision_row, a_stream, a_stream_in

ALL = range(SHARDS)
MINUTE = timedelta(minutes=1)


def scheduled(ledger: Ledger, *minutes: int, name: str = "train") -> list[DecisionRow]:
    """Schedule one decision per number, due that many minutes after noon; the rows in order."""
    stream = a_stream(name)
    rows = [
        a_decision_row(stream, f"decision {number}", due_at=NOON + number * MINUTE)
        for number in minutes
    ]
    ledger.store.append([StreamWriter(stream).next(decisions=rows)])
    return rows


class PendingDecisionsContract:
    """What is due, what is next, what is left."""

    def test_without_decisions_nothing_is_due(self, ledger: Ledger) -> None:
        assert ledger.pending.due(NOON, ALL, 10, ()) == []
        assert ledger.pending.next_due_at(ALL, ()) is None
        assert ledger.pending.pending(ALL, 10) == []

    def test_what_is_due_comes_earliest_first_and_the_instant_counts(self, ledger: Ledger) -> None:
        three, one, two, _ = scheduled(ledger, 3, 1, 2, 4)
        assert ledger.pending.due(NOON + 3 * MINUTE, ALL, 10, ()) == [one, two, three]
        earlier = NOON + 3 * MINUTE - timedelta(microseconds=1)
        assert ledger.pending.due(earlier, ALL, 10, ()) == [one, two]

    def test_no_more_than_the_limit_is_given(self, ledger: Ledger) -> None:
        rows = scheduled(ledger, 1, 2, 3)
        assert ledger.pending.due(NOON + 9 * MINUTE, ALL, 2, ()) == rows[:2]
        assert ledger.pending.pending(ALL, 2) == rows[:2]

    def test_what_is_in_flight_is_left_out(self, ledger: Ledger) -> None:
        one, two, three = scheduled(ledger, 1, 2, 3)
        besides = {one.decision_id, two.decision_id}
        assert ledger.pending.due(NOON + 9 * MINUTE, ALL, 1, besides) == [three]
        assert ledger.pending.next_due_at(ALL, besides) == three.due_at
        assert ledger.pending.next_due_at(ALL, {*besides, three.decision_id}) is None

    def test_the_next_is_the_earliest_though_it_be_overdue(self, ledger: Ledger) -> None:
        scheduled(ledger, 7, -5, 3)
        assert ledger.pending.next_due_at(ALL, ()) == NOON - 5 * MINUTE

    def test_reading_claims_nothing(self, ledger: Ledger) -> None:
        rows = scheduled(ledger, 1)
        for _ in range(2):
            assert ledger.pending.due(NOON + MINUTE, ALL, 1, ()) == rows

    def test_what_fired_or_was_cancelled_is_gone(self, ledger: Ledger) -> None:
        writer = StreamWriter(a_stream())
        names = ("a", "b", "c")
        part = writer.next(decisions=[a_decision_row(writer.stream_id, name) for name in names])
        ledger.store.append([part])
        writer.wrote(part)
        ended = [
            a_decision_row(writer.stream_id, "a", state="fired"),
            a_decision_row(writer.stream_id, "b", state="cancelled"),
        ]
        ledger.store.append([writer.next(decisions=ended)])
        left = [a_decision_row(writer.stream_id, "c")]
        assert ledger.pending.due(NOON, ALL, 10, ()) == left
        assert ledger.pending.pending(ALL, 10) == left

    def test_other_shards_are_not_our_business(self, ledger: Ledger) -> None:
        streams = [a_stream_in(shard) for shard in (2, 3)]
        rows = [a_decision_row(stream) for stream in streams]
        ledger.store.append(
            [
                StreamWriter(stream).next(decisions=[row])
                for stream, row in zip(streams, rows, strict=True)
            ]
        )
        assert [shard_of(row.stream_id) for row in rows] == [2, 3]
        assert ledger.pending.due(NOON, [3, 4], 10, ()) == rows[1:]
        assert ledger.pending.pending({2}, 10) == rows[:1]
        assert ledger.pending.next_due_at([], ()) is None
        assert ledger.pending.due(NOON, [], 10, ()) == []
