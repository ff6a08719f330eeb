"""What is held of which jobs."""

from collections.abc import Mapping, Sequence

import pytest

from jobledger.adapters.service.work.slots import CHUNK, Known, fold_slot
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.ports.history import FinishedJob
from jobledger.core.values.ids import SHARDS, StreamId, shard_of
from tests.adapters.service.parts import run_all
from tests.adapters.service.turns import TurnBench, a_job, seen
from tests.support.rayjob_builders import manifest_gone
from tests.support.records import a_stream_in

ONE, TWO = a_job("one"), a_job("two")


def test_jobs_are_held_as_the_log_has_them() -> None:
    bench = TurnBench()
    bench.see(seen("one"))
    bench.take()
    before = bench.slots.held(ONE)
    bench.slots.drop([ONE])
    bench.slots.load([ONE, TWO])
    assert bench.slots.held(ONE) == before
    empty = bench.slots.held(TWO)
    assert empty is not None
    assert (empty.tail.version, empty.view.version) == (0, 0)


def test_what_is_held_is_not_read_again() -> None:
    bench = TurnBench()
    bench.slots.load([ONE])
    held = bench.slots.held(ONE)
    bench.store.read.clear()
    bench.slots.load([ONE])
    assert (bench.store.read, bench.slots.held(ONE)) == ([], held)


def test_many_jobs_are_read_in_chunks() -> None:
    bench, sizes = TurnBench(), list[int]()
    read = bench.store.read_streams

    def noting(streams: Sequence[StreamId]) -> Mapping[StreamId, Sequence[StoredEvent]]:
        sizes.append(len(streams))
        return read(streams)

    bench.store.read_streams = noting  # type: ignore[method-assign]  # watched
    bench.slots.load([a_job(f"job {number}") for number in range(2 * CHUNK + 1)])
    assert sizes == [CHUNK, CHUNK, 1]


def test_a_job_in_which_something_is_left_to_do_is_not_let_go() -> None:
    bench = TurnBench()
    bench.see(seen("one"))
    bench.take()
    slot = bench.slots.held(ONE)
    assert slot is not None
    assert not bench.slots.retire(slot)
    assert bench.slots.held(ONE) is slot


def test_a_deleted_job_leaves_nothing_behind() -> None:
    bench = TurnBench()
    bench.see(seen("one"))
    bench.inbox.put(ONE, manifest_gone())
    bench.take()
    assert (len(bench.slots), bench.slots.finished_of(range(SHARDS))) == (0, {})


def test_a_relist_of_finished_jobs_reads_nothing_from_the_log() -> None:
    bench = TurnBench()
    names = [f"job {number}" for number in range(50)]
    bench.slots.note_finished(FinishedJob(stream_id=a_job(name), generation=3) for name in names)
    bench.see(*[seen(name, 3) for name in names])
    assert bench.take() == 50
    assert (bench.store.read, bench.store.sent, len(bench.slots)) == ([], [], 0)
    bench.see(seen("job 7", 4))
    bench.take()
    assert bench.store.read == [a_job("job 7")], "an edited one is looked at"


def test_the_jobs_of_lost_shards_are_forgotten() -> None:
    bench = TurnBench()
    mine, others = a_stream_in(3), a_stream_in(4)
    bench.slots.load([mine, others])
    done, others_done = a_stream_in(3, "done"), a_stream_in(4, "done")
    bench.slots.note_finished(
        FinishedJob(stream_id=stream, generation=1) for stream in (done, others_done)
    )
    bench.slots.drop_shards({3})
    assert [slot.shard for slot in bench.slots] == [4]
    assert [shard_of(stream) for stream in bench.slots.finished_of(range(SHARDS))] == [4]


def test_reading_a_job_anew_never_leaves_a_moment_without_it() -> None:
    """Workers ask for its state meanwhile, and would take its absence for an end."""
    bench = TurnBench()
    bench.see(seen("one"))
    bench.take()
    absent: list[int] = []

    def reload() -> None:
        for _ in range(50):
            bench.slots.reload(ONE)

    def look() -> None:
        absent.extend(1 for _ in range(5000) if bench.slots.state(ONE) is None)

    run_all([reload, look, look])
    assert absent == []


def test_a_stream_that_cannot_be_folded_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = TurnBench()
    bench.slots.load([ONE])

    def fold(stream: StreamId, stored: Sequence[StoredEvent], known: Known | None) -> object:
        if stream == ONE:
            raise KeyError("an event of tomorrow")
        return fold_slot(stream, stored, known)

    monkeypatch.setattr("jobledger.adapters.service.work.slots.fold_slot", fold)
    bench.slots.reload(ONE)
    bench.slots.load([ONE, TWO])
    assert [slot.stream_id for slot in bench.slots] == [TWO]


def test_a_job_that_another_has_brought_to_its_end_since_it_was_read_is_not_held() -> None:
    bench = TurnBench()
    bench.see(seen("one"), seen("two"))
    bench.take()
    ends = bench.slots.versions()
    bench.slots.note_finished(
        [
            FinishedJob(stream_id=ONE, generation=1, version=ends[ONE] + 1),
            FinishedJob(stream_id=TWO, generation=1, version=ends[TWO]),
        ]
    )
    assert bench.slots.held(ONE) is None, "its stream was not set back: it was read too early"
    assert bench.slots.held(TWO) is not None
    assert bench.slots.finished(ONE) is not None
