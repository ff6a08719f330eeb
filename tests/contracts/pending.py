"""What every list of pending decisions does: `core.ports.pending`, one rule per function."""

from collections.abc import Collection
from datetime import timedelta

from jobledger.core.jobs.rows import DecisionRow
from jobledger.core.values.ids import SHARDS, DecisionId, shard_of
from jobledger.core.values.instants import Instant
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


def due(
    ledger: Ledger,
    now: Instant,
    shards: Collection[int] = ALL,
    limit: int = 10,
    besides: Collection[DecisionId] = (),
) -> list[DecisionRow]:
    """Return what is due."""
    return list(ledger.pending.look(now, shards, limit, besides).due)


def next_due_at(
    ledger: Ledger,
    now: Instant,
    shards: Collection[int] = ALL,
    limit: int = 10,
    besides: Collection[DecisionId] = (),
) -> Instant | None:
    """Return when the next is due, after those that are due now."""
    return ledger.pending.look(now, shards, limit, besides).next_due_at


class PendingDecisionsContract:
    """What is due, what is next, what is left."""

    def test_without_decisions_nothing_is_due(self, ledger: Ledger) -> None:
        assert due(ledger, NOON) == []
        assert next_due_at(ledger, NOON) is None
        assert ledger.pending.pending(ALL, 10) == []

    def test_what_is_due_comes_earliest_first_and_the_instant_counts(self, ledger: Ledger) -> None:
        three, one, two, _ = scheduled(ledger, 3, 1, 2, 4)
        assert due(ledger, NOON + 3 * MINUTE) == [one, two, three]
        earlier = NOON + 3 * MINUTE - timedelta(microseconds=1)
        assert due(ledger, earlier) == [one, two]

    def test_no_more_than_the_limit_is_given(self, ledger: Ledger) -> None:
        rows = scheduled(ledger, 1, 2, 3)
        assert due(ledger, NOON + 9 * MINUTE, limit=2) == rows[:2]
        assert ledger.pending.pending(ALL, 2) == rows[:2]

    def test_what_is_in_flight_is_left_out(self, ledger: Ledger) -> None:
        one, two, three = scheduled(ledger, 1, 2, 3)
        besides = {one.decision_id, two.decision_id}
        assert due(ledger, NOON + 9 * MINUTE, limit=1, besides=besides) == [three]
        assert next_due_at(ledger, NOON, besides=besides) == three.due_at
        assert next_due_at(ledger, NOON, besides={*besides, three.decision_id}) is None

    def test_the_next_is_the_earliest_though_it_be_overdue(self, ledger: Ledger) -> None:
        scheduled(ledger, 7, -5, 3, -2)
        assert next_due_at(ledger, NOON, limit=0) == NOON - 5 * MINUTE
        assert next_due_at(ledger, NOON, limit=1) == NOON - 2 * MINUTE, "there was no room for it"

    def test_the_next_is_not_among_those_that_are_due(self, ledger: Ledger) -> None:
        scheduled(ledger, 7, -5, 3, -2)
        assert next_due_at(ledger, NOON, limit=2) == NOON + 3 * MINUTE
        assert next_due_at(ledger, NOON + 7 * MINUTE) is None

    def test_reading_claims_nothing(self, ledger: Ledger) -> None:
        rows = scheduled(ledger, 1)
        for _ in range(2):
            assert due(ledger, NOON + MINUTE, limit=1) == rows

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
        assert due(ledger, NOON) == left
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
        assert due(ledger, NOON, [3, 4]) == rows[1:]
        assert ledger.pending.pending({2}, 10) == rows[:1]
        assert next_due_at(ledger, NOON, []) is None
        assert due(ledger, NOON, []) == []
