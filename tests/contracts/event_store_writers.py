"""What every event log does with many writers: fencing, and a tail that misses nothing."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from jobledger.core.errors import BrokenChain
from jobledger.core.log.chain import GENESIS, first_fault
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.ports.event_store import AppendOutcome
from tests.contracts.event_store import APPENDED, FENCED, outcomes, written
from tests.support.ledgers import ANOTHER_WRITER, TERM, Ledger
from tests.support.records import StreamWriter, a_stream, a_stream_in


class FencingContract:
    """Only the holder of a shard's lease writes for it."""

    def test_without_a_lease_nobody_writes(self, empty_ledger: Ledger) -> None:
        part = StreamWriter(a_stream()).next()
        (result,) = empty_ledger.store.append([part])
        assert (result.outcome, result.version, result.chain) == (FENCED, 0, GENESIS)
        assert empty_ledger.store.last_position() == 0

    def test_an_old_epoch_is_fenced_and_the_new_one_carries_on(self, ledger: Ledger) -> None:
        zombie = written(ledger, "a", 1)
        ledger.hand_over()
        assert outcomes(ledger, zombie.next()) == [FENCED]
        heir = StreamWriter(
            zombie.stream_id, epoch=2, actor=ANOTHER_WRITER, version=1, chain=zombie.chain
        )
        assert outcomes(ledger, heir.next()) == [APPENDED]

    def test_who_has_the_epoch_but_not_the_lease_is_fenced(self, ledger: Ledger) -> None:
        """A ledger that lost its newest leases gives an epoch again, to whoever asks first."""
        namesake = StreamWriter(a_stream("a"), actor="another run")
        ours = StreamWriter(a_stream("b"))
        assert outcomes(ledger, ours.next(None, None), namesake.next()) == [APPENDED, FENCED]
        behind = StreamWriter(a_stream("c")).next(None, None)
        assert outcomes(ledger, behind, namesake.next(None, None)) == [APPENDED, FENCED]
        assert outcomes(ledger, namesake.next(), StreamWriter(a_stream("d")).next()) == [
            FENCED,
            APPENDED,
        ]
        assert ledger.store.read_stream(namesake.stream_id) == []

    def test_a_part_has_one_actor(self, ledger: Ledger) -> None:
        part = StreamWriter(a_stream()).next(None, None)
        forged = replace(part.events[1], actor=ANOTHER_WRITER)
        with pytest.raises(ValueError, match="cannot be appended"):
            ledger.store.append([replace(part, events=(part.events[0], forged))])

    def test_an_epoch_from_the_future_is_fenced(self, ledger: Ledger) -> None:
        assert outcomes(ledger, StreamWriter(a_stream(), epoch=2).next()) == [FENCED]

    def test_a_fenced_writer_learns_nothing_of_duplicates(self, ledger: Ledger) -> None:
        part = StreamWriter(a_stream()).next()
        ledger.store.append([part])
        ledger.hand_over()
        assert outcomes(ledger, part) == [FENCED]

    def test_who_gave_a_shard_up_writes_no_more(self, ledger: Ledger) -> None:
        writer = written(ledger, "a", 1)
        ledger.leases.release(ledger.writer)
        assert outcomes(ledger, writer.next()) == [FENCED]

    def test_a_lost_shard_does_not_close_the_others(self, empty_ledger: Ledger) -> None:
        held = empty_ledger.leases.acquire(empty_ledger.writer, TERM, 1)
        (shard,) = held
        ours = StreamWriter(a_stream_in(shard)).next()
        theirs = StreamWriter(a_stream_in(shard + 1)).next()
        assert outcomes(empty_ledger, theirs, ours) == [FENCED, APPENDED]

    def test_a_takeover_falls_between_two_appends(self, ledger: Ledger) -> None:
        """After the takeover has returned, no event of the old epoch enters the log."""
        started, stop = threading.Event(), threading.Event()
        last: list[AppendOutcome] = []

        def zombie() -> None:
            writer = StreamWriter(a_stream("zombie"))
            while not stop.is_set():
                part = writer.next()
                (outcome,) = outcomes(ledger, part)
                started.set()
                if outcome is not APPENDED:
                    last.append(outcome)
                    return
                writer.wrote(part)

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(zombie)
            assert started.wait(30)
            ledger.hand_over()
            position = ledger.store.last_position()
            running.result(30)
            stop.set()
        assert last == [FENCED]
        assert ledger.store.last_position() == position


def keep_writing(ledger: Ledger, name: str) -> list[StreamWriter]:
    """Append to three streams, in between also what is broken or stale; return their writers."""
    writers = [StreamWriter(a_stream(f"{name}-{index}")) for index in range(3)]
    for turn in range(25):
        parts = [writer.next(*([None] * (1 + turn % 3))) for writer in writers]
        if turn % 5 == 4:
            broken = replace(parts[1].events[0], type="Nothing")
            with pytest.raises(BrokenChain):
                ledger.store.append([parts[0], replace(parts[1], events=(broken,))])
        if turn % 5 == 2:
            stale = StreamWriter(writers[2].stream_id)
            parts[2] = stale.next(*([None] * 200), observation="never")
        results = ledger.store.append(parts)
        for writer, part, result in zip(writers, parts, results, strict=True):
            if result.outcome is APPENDED:
                writer.wrote(part)
    return writers


def follow(ledger: Ledger, done: threading.Event) -> list[StoredEvent]:
    """Read the log piece by piece until `done` is set and nothing comes any more."""
    seen: list[StoredEvent] = []
    while True:
        finished = done.is_set()
        piece = ledger.store.read_after(seen[-1].position if seen else 0, 7)
        seen.extend(piece)
        if finished and not piece:
            return seen


class TailContract:
    """Whoever follows the log by position misses nothing, with many writers at once."""

    def test_a_reader_sees_every_event_once_and_in_order(self, ledger: Ledger) -> None:
        """Four writers, among them refused and conflicting batches; one reader on their heels."""
        done = threading.Event()
        with ThreadPoolExecutor(5) as pool:
            reader = pool.submit(follow, ledger, done)
            writing = [pool.submit(keep_writing, ledger, f"writer {n}") for n in range(4)]
            try:
                writers = [writer for future in writing for writer in future.result(120)]
            finally:
                done.set()
            seen = reader.result(120)
        assert [event.position for event in seen] == list(range(1, len(seen) + 1))
        for writer in writers:
            followed = [e.record for e in seen if e.record.stream_id == writer.stream_id]
            assert followed == writer.written
        assert len(seen) == sum(len(writer.written) for writer in writers)

    def test_of_two_writers_of_one_stream_one_wins_each_version(self, ledger: Ledger) -> None:
        stream = a_stream()

        def write(name: str) -> int:
            won = 0
            writer = StreamWriter(stream)
            while writer.version < 30:
                part = writer.next(None, observation=f"{name} {writer.version}")
                (result,) = ledger.store.append([part])
                won += result.outcome is APPENDED
                writer.version, writer.chain = result.version, result.chain
            return won

        with ThreadPoolExecutor(3) as pool:
            won = sum(pool.map(write, ["one", "two", "three"]))
        records = [event.record for event in ledger.store.read_stream(stream)]
        assert first_fault(GENESIS, records) is None
        assert len(records) == won >= 30
