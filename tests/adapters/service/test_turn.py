"""The one road: decide, append, and only then hand over."""

from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from jobledger.adapters.service.loop.turn import BATCH_OBSERVATIONS_MAX, DECISIONS_AGAIN_MAX
from jobledger.adapters.service.work.slots import fold_slot
from jobledger.core.errors import BrokenChain, LedgerUnavailable
from jobledger.core.ports.event_store import AppendOutcome, AppendResult, StreamAppend
from jobledger.core.rayjob.observations.observations import ManifestGone, ManifestSeen
from jobledger.core.values.ids import SHARDS, observation_id, shard_of
from tests.adapters.service.turns import TurnBench, a_job, seen
from tests.support.rayjob_builders import cluster, cluster_of
from tests.support.records import NOON

ONE, TWO, THREE = a_job("one"), a_job("two"), a_job("three")
LogLines = list[MutableMapping[str, Any]]


def raising(error: Exception) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


AWAY = raising(LedgerUnavailable("gone for lunch"))


@pytest.fixture
def bench() -> TurnBench:
    return TurnBench()


def test_the_news_of_many_jobs_go_into_one_append(bench: TurnBench) -> None:
    bench.see(seen("one"), seen("two"), seen("three"))
    assert bench.take() == 3
    assert [len(batch) for batch in bench.store.sent] == [3]
    assert bench.notes.streams() == [ONE, TWO, THREE]
    assert all(version > 0 for version in bench.versions(ONE, TWO, THREE))


def test_a_turn_takes_a_limited_number_of_observations(bench: TurnBench) -> None:
    for number in range(BATCH_OBSERVATIONS_MAX + 1):
        bench.see(seen(f"job {number}"))
    assert [bench.take(), bench.take(), bench.take()] == [BATCH_OBSERVATIONS_MAX, 1, 0]


def test_observations_of_a_job_are_decided_in_their_order_and_appended_together(
    bench: TurnBench,
) -> None:
    bench.see(seen("one"), seen("one", 2), seen("one", 3))
    bench.take()
    ((part,),) = bench.store.sent
    slot = bench.slots.held(ONE)
    assert slot is not None
    assert slot.view.state.manifest is not None
    assert slot.view.state.manifest.generation == 3
    assert slot.view == fold_slot(ONE, bench.store.read_stream(ONE)).view
    assert len(part.events) == slot.tail.version


def test_what_brings_no_news_is_not_appended(bench: TurnBench) -> None:
    bench.see(seen("one"))
    bench.take()
    bench.see(seen("one"))
    bench.take()
    assert len(bench.store.sent) == 1
    assert len(bench.notes.handed_over) == 1


def test_a_job_that_is_not_held_is_read_from_the_log_first(bench: TurnBench) -> None:
    bench.see(seen("one"))
    bench.take()
    bench.slots.drop([ONE])
    bench.see(seen("one", 2))
    bench.take()
    assert bench.notes.handed_over[-1].part.expected_version == len(bench.store.sent[0][0].events)


def test_nothing_is_handed_over_before_it_is_appended(bench: TurnBench) -> None:
    handed_over: list[int] = []
    bench.store.before = [lambda: handed_over.append(len(bench.notes.handed_over))]
    bench.see(seen("one"))
    bench.take()
    assert (handed_over, bench.notes.streams()) == ([0], [ONE])


def test_while_the_ledger_is_away_the_same_records_are_sent_again(bench: TurnBench) -> None:
    bench.store.before = [AWAY, AWAY, AWAY]
    bench.see(seen("one"))
    bench.take()
    assert bench.store.sent[0] == bench.store.sent[3]
    assert len(bench.store.sent) == 4
    assert bench.pauses == sorted(bench.pauses)
    assert bench.notes.streams() == [ONE]
    assert not bench.turn.is_waiting_for_ledger


def test_a_lost_acknowledgement_is_handed_over_once(bench: TurnBench) -> None:
    bench.store.after = [AWAY]
    bench.see(seen("one"), seen("two"))
    bench.take()
    assert bench.notes.streams() == [ONE, TWO]
    slot = bench.slots.held(ONE)
    assert slot is not None
    assert bench.versions(ONE) == [slot.tail.version]
    bench.see(seen("one", 2))
    bench.take()
    assert bench.notes.streams() == [ONE, TWO, ONE]


def test_a_service_that_stops_while_the_ledger_is_away_hands_nothing_over(
    bench: TurnBench,
) -> None:
    bench.store.before = [AWAY]
    bench.stops = True
    bench.see(seen("one"))
    bench.take()
    assert (bench.notes.handed_over, bench.turn.is_waiting_for_ledger) == ([], True)


def test_after_a_conflict_the_job_is_read_again_and_decided_anew(bench: TurnBench) -> None:
    """Somebody else has appended: here, another turn under the same lease."""
    bench.see(seen("one"), seen("two"))
    bench.take()

    def somebody_else() -> None:
        bench.store.before = []
        stale = bench.slots.held(ONE)
        assert stale is not None
        view, tail = stale.view, stale.tail
        bench.see(seen("one", 2))
        bench.take()
        stale.view, stale.tail = view, tail

    bench.store.before = [somebody_else]
    bench.see(seen("one", 3), seen("two", 2))
    bench.take()
    slot = bench.slots.held(ONE)
    assert slot is not None
    assert slot.view.state.manifest is not None
    assert slot.view.state.manifest.generation == 3
    assert bench.versions(ONE) == [slot.tail.version]
    assert bench.notes.resumed == [ONE], "what the other has asked for is passed on"
    assert bench.notes.streams()[-2:] == [TWO, ONE], "the other job is not held up"


def test_the_same_news_by_anothers_hand_are_read_and_continued(bench: TurnBench) -> None:
    """A replica that held the shard in between has seen the same, and written it as its own.

    Found by the simulation (seed 10071165): the events had the same ids, so they counted as those
    of this replica. What it appended next continued nothing, and it took the ledger for set back.
    """
    bench.see(seen("one"))
    bench.take()
    held = bench.slots.held(ONE)
    assert held is not None
    view, tail = held.view, held.tail
    bench.clock.advance(1)  # it writes a second later, and so other links
    bench.see(seen("one", 2))
    bench.take()
    held.view, held.tail = view, tail  # as it was held before the other came
    bench.clock.advance(1)
    bench.see(seen("one", 2))
    bench.take()
    assert bench.notes.resumed == [ONE]
    assert bench.turn.footing.is_lost() is False
    bench.see(seen("one", 3))
    bench.take()
    slot = bench.slots.held(ONE)
    assert slot is not None
    assert slot.view.state.manifest is not None
    assert (slot.view.state.manifest.generation, bench.versions(ONE)) == (3, [slot.tail.version])
    assert bench.metrics.poisoned._value.get() == 0  # noqa: SLF001 as other tests read it


def test_an_endless_conflict_is_left_to_the_next_turn(
    bench: TurnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.see(seen("one"))
    bench.take()
    bench.see(seen("one", 2))
    held = bench.slots.held(ONE)
    assert held is not None
    stale = replace(held.tail, version=held.tail.version - 1)

    def never(stream: object) -> None:
        del stream
        slot = bench.slots.held(ONE)
        assert slot is not None
        slot.tail = stale

    with monkeypatch.context() as patch:
        patch.setattr(bench.slots, "reload", never)
        never(ONE)
        bench.take()
    assert (len(bench.store.sent), len(bench.inbox)) == (1 + DECISIONS_AGAIN_MAX, 1)
    bench.slots.reload(ONE)
    bench.take()
    slot = bench.slots.held(ONE)
    assert slot is not None
    assert slot.view.state.manifest is not None
    assert slot.view.state.manifest.generation == 2


def test_a_fenced_writer_lets_go_of_the_shard_and_of_no_other(bench: TurnBench) -> None:
    bench.see(seen("one"))
    bench.take()
    bench.lose_shards()
    bench.see(seen("one", 2))
    bench.take()
    assert bench.notes.streams() == [ONE]
    assert bench.leases.epoch(shard_of(ONE)) is None
    assert len(bench.leases.held()) == SHARDS - 1
    assert bench.turn.unheard == {shard_of(ONE)}
    bench.see(seen("one", 3))
    bench.take()
    assert len(bench.store.sent) == 2, "nothing more is sent for it"


def test_what_a_fenced_writer_had_heard_is_decided_once_the_lease_is_back(
    bench: TurnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ledger may give it back under the same epoch, before anybody has missed it."""
    bench.see(seen("one"))
    with monkeypatch.context() as patch:
        patch.setattr(bench.leases, "lost", lambda _: None)
        patch.setattr(bench.store, "append", fenced)
        bench.take()
    bench.take()
    slot = bench.slots.held(ONE)
    assert slot is not None
    assert slot.view.state.manifest is not None


def fenced(parts: Sequence[StreamAppend]) -> Sequence[AppendResult]:
    return [
        AppendResult(stream_id=one.stream_id, outcome=AppendOutcome.FENCED, version=0, chain=b"")
        for one in parts
    ]


def test_what_comes_for_a_shard_that_is_not_held_is_passed_over_and_remembered(
    bench: TurnBench,
) -> None:
    bench.leases.lost(shard_of(ONE))
    bench.see(seen("one"))
    assert bench.take() == 1
    assert (bench.store.sent, bench.turn.unheard) == ([], {shard_of(ONE)})


def test_an_observation_that_nobody_can_judge_harms_only_itself(
    bench: TurnBench, log_lines: LogLines
) -> None:
    bench.see(seen("one"))
    nonsense: Any = None
    poisoned = replace(seen("one", 2), spec=nonsense)
    bench.see(poisoned, seen("one", 3), seen("two"))
    bench.take()
    slot = bench.slots.held(ONE)
    assert slot is not None
    assert slot.view.state.manifest is not None
    assert slot.view.state.manifest.generation == 3
    assert bench.notes.streams() == [ONE, TWO]
    lines = [line for line in log_lines if line["event"] == "observation_poisoned"]
    assert [(line["stream"], line["observation"]) for line in lines] == [(str(ONE), "ManifestSeen")]


def test_what_follows_from_one_job_does_not_keep_the_others_waiting(bench: TurnBench) -> None:
    bench.notes.poison = ONE
    bench.see(seen("one"), seen("two"))
    bench.take()
    assert bench.notes.streams() == [TWO]
    assert all(bench.versions(ONE, TWO))


def test_a_job_with_a_broken_chain_stands_alone(bench: TurnBench, log_lines: LogLines) -> None:
    bench.see(seen("one"), seen("two"))
    bench.take()
    slot = bench.slots.held(ONE)
    assert slot is not None
    slot.tail = replace(slot.tail, chain=b"\x01" * 32)
    bench.see(seen("one", 2), seen("two", 2), seen("three"))
    bench.take()
    assert bench.notes.streams() == [ONE, TWO, TWO, THREE, ONE]
    assert [item.record.type for item in bench.store.read_stream(ONE)].count(
        "LedgerBehindFound"
    ) == 1, "what was known of it is not what is there"
    assert [line["stream"] for line in log_lines if line["event"] == "append_poisoned"] == [
        str(ONE)
    ]
    bench.see(seen("one", 3))
    bench.take()
    assert bench.notes.streams()[-1] == ONE, "read anew, it goes on"


def test_an_observation_whose_events_are_in_the_log_already_takes_no_other_with_it(
    bench: TurnBench,
) -> None:
    """The same object is told again after others, and is judged otherwise than before."""
    bench.see(seen("one"))
    bench.see(replace(seen("one", 2), finalizer=True))
    bench.take()
    again = replace(seen("one", 2), finalizer=False)
    bench.see(again, seen("one", 3), seen("two"))
    bench.take()
    slot = bench.slots.held(ONE)
    assert slot is not None
    assert slot.view.state.manifest is not None
    assert slot.view.state.manifest.generation == 3
    assert bench.notes.streams()[-2:] == [ONE, TWO]
    assert slot.view == fold_slot(ONE, bench.store.read_stream(ONE)).view


def test_a_stop_in_the_middle_of_appending_one_by_one_hands_over_what_was_appended_only(
    bench: TurnBench,
) -> None:
    broken = raising(BrokenChain("append", "made up"))
    bench.store.before = [broken, AWAY]
    bench.stops = True
    bench.see(seen("one"), seen("two"))
    bench.take()
    assert bench.notes.streams() == [TWO]
    assert bench.versions(ONE) == [0]
    slot = bench.slots.held(ONE)
    assert slot is not None
    assert slot.tail.version == 0


def test_reading_waits_until_the_ledger_is_available(
    bench: TurnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    load, failures = bench.slots.load, [LedgerUnavailable("a"), LedgerUnavailable("b")]

    def failing(streams: list[Any]) -> None:
        if failures:
            raise failures.pop()
        load(streams)

    monkeypatch.setattr(bench.slots, "load", failing)
    bench.see(seen("one"))
    bench.take()
    assert (len(bench.pauses), bench.notes.streams()) == (2, [ONE])


def test_a_stream_that_cannot_be_folded_harms_only_its_job(
    bench: TurnBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.see(seen("one"), seen("two"))
    bench.take()
    bench.slots.drop([ONE, TWO])

    def fold(stream: object, stored: Any, _: object) -> object:  # noqa: ANN401 passes all on
        if stream == ONE:
            raise ZeroDivisionError
        return fold_slot(TWO, stored)

    monkeypatch.setattr("jobledger.adapters.service.work.slots.fold_slot", fold)
    bench.see(seen("one", 2), seen("two", 2))
    bench.take()
    assert bench.notes.streams() == [ONE, TWO, TWO]


def test_a_job_in_which_nothing_is_left_to_do_is_let_go(bench: TurnBench) -> None:
    bench.see(seen("one"))
    bench.take()
    bench.confirmations.count(ONE, "RayJob", NOON)
    bench.inbox.put(ONE, ManifestGone(id=observation_id(ONE, "gone"), at=NOON))
    bench.take()
    assert (bench.slots.held(ONE), bench.notes.let_go) == (None, [ONE])
    assert bench.confirmations.take(ONE) is None


def test_late_news_of_a_deleted_job_bring_nothing(bench: TurnBench) -> None:
    bench.see(seen("one"))
    bench.inbox.put(ONE, ManifestGone(id=observation_id(ONE, "gone"), at=NOON))
    bench.take()
    late = replace(cluster(), name=cluster_of())
    bench.inbox.put(ONE, late)
    bench.see(seen("one", 2))
    bench.take()
    assert len(bench.store.sent) == 1
    assert bench.slots.held(ONE) is None


def test_a_look_at_somebody_elses_job_leaves_no_trace(bench: TurnBench) -> None:
    foreign: ManifestSeen = seen("one", managed_by="kueue.x-k8s.io/multikueue")
    bench.see(foreign)
    bench.take()
    assert (bench.store.sent, len(bench.slots)) == ([], 0)
