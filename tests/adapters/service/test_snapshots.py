"""A start that goes on from snapshots is one that folds the log, whatever becomes of them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from importlib.resources import files

import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from jobledger.adapters.service.loop.slowing import Slowing
from jobledger.adapters.service.work import folding_code as folding_code_module
from jobledger.adapters.service.work import snapshots as keeping
from jobledger.adapters.service.work.folding_code import folding_code
from jobledger.adapters.service.work.slots import fold_slot
from jobledger.adapters.service.work.snapshots import (
    BUSY_EVENTS,
    CALM,
    QUIET_EVENTS,
    SnapshotKeeper,
)
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.errors import LedgerUnavailable
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.ports.projections import Snapshot
from jobledger.core.projections.snapshot import Folded, snapshot_of
from jobledger.core.projections.view import View
from jobledger.core.values.ids import StreamId
from tests.adapters.service.lives import outcome_in
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP, K8S, assert_whole, is_over, retry_story
from tests.support.crash_points import MODES, Fuse, Mode
from tests.support.lives import LIVES
from tests.support.memory.clock import SimulatedClock
from tests.support.memory.event_store import MemoryEventStore
from tests.support.memory.leases import MemoryLeases
from tests.support.memory.snapshots import MemorySnapshots
from tests.support.recorded import recorded, stored
from tests.support.records import NOON, a_stream
from tests.support.service_world import DOOR, ServiceWorld

STREAM = a_stream()
CALLS = ("Snapshots.write", "Snapshots.read")


class Running:
    """A job that runs, and a snapshot of it."""

    def __init__(self) -> None:
        self.world = ServiceWorld()
        self.world.plane.holds = True
        self.stream = self.world.create(a_rayjob(shutdownAfterJobFinishes=True))
        self.world.run(lambda: self.world.phase("train") == "Running", "the job to run")
        self.world.run(lambda: self.put.version == self.version, "all of it is in the snapshot")

    @property
    def put(self) -> Snapshot:
        return self.world.snapshots.kept[self.stream]

    @property
    def version(self) -> int:
        return len(self.world.store.read_stream(self.stream))

    def put_back(self, one: Snapshot) -> None:
        self.world.snapshots.kept[one.stream_id] = one

    def read_whole_at_a_start(self) -> list[StreamId]:
        """Start anew; return whose streams were read from their first event."""
        whole: list[StreamId] = []
        read = self.world.store.read_streams

        def noting(streams: Sequence[StreamId]) -> Mapping[StreamId, Sequence[StoredEvent]]:
            whole.extend(streams)
            return read(streams)

        self.world.store.read_streams = noting  # type: ignore[method-assign]  # watched
        self.world.restart()
        self.world.run(lambda: self.world.service.slots.held(self.stream) is not None, "a start")
        self.assert_held_as_logged()
        return whole

    def assert_held_as_logged(self) -> None:
        slot = self.world.service.slots.held(self.stream)
        assert slot == fold_slot(self.stream, self.world.store.read_stream(self.stream))

    def ends_well(self) -> None:
        self.world.plane.holds = False
        self.world.run(lambda: is_over(self.world, self.stream), "the job to end")
        assert_whole(self.world, self.stream)


def test_a_start_reads_what_follows_on_the_snapshot_only() -> None:
    running = Running()
    assert running.read_whole_at_a_start() == []
    first = running.world.store.read_stream(running.stream)[2].record
    view = fold_slot(running.stream, running.world.store.read_stream(running.stream)[:3]).view
    folded = Folded(view=view, at=running.world.clock.now())
    tail = replace(running.put.tail, version=3, chain=first.chain)
    running.put_back(snapshot_of(tail, folded, folding_code(), DOOR.redaction_key))
    assert running.read_whole_at_a_start() == [], "the rest is folded on top of it"
    running.ends_well()


def _of_another_state(put: Snapshot) -> Snapshot:
    """Return one that says that nothing was done yet, made by somebody without the key."""
    folded = Folded(view=View(version=put.version), at=NOON)
    return snapshot_of(put.tail, folded, put.folded_by, b"the key of somebody else")


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda put: replace(put, content=put.content[:-1]), id="cut off"),
        pytest.param(lambda put: replace(put, content=b"\x00" + put.content), id="damaged"),
        pytest.param(lambda put: replace(put, content=b""), id="empty"),
        pytest.param(lambda put: replace(put, seal=b""), id="without a seal"),
        pytest.param(lambda put: replace(put, folded_by=b"other code"), id="of other code"),
        pytest.param(lambda put: replace(put, version=put.version - 1), id="of another end"),
        pytest.param(lambda put: replace(put, version=put.version + 1), id="ahead of the log"),
        pytest.param(lambda put: replace(put, chain=b"?" * 32), id="of another history"),
        pytest.param(_of_another_state, id="forged"),
    ],
)
def test_one_that_is_not_what_was_written_here_is_not_gone_on_from(
    changed: Callable[[Snapshot], Snapshot],
) -> None:
    running = Running()
    running.put_back(changed(running.put))
    assert running.read_whole_at_a_start() == [running.stream]
    running.ends_well()


def test_one_of_another_job_is_not_gone_on_from() -> None:
    running = Running()
    another = a_rayjob()
    other = running.world.create({**another, "metadata": {**another["metadata"], "name": "other"}})
    running.world.run(lambda: other in running.world.snapshots.kept, "one of the other too")
    theirs = running.world.snapshots.kept[other]
    running.put_back(replace(running.put, content=theirs.content, seal=theirs.seal))
    assert running.read_whole_at_a_start() == [running.stream]


def test_with_all_of_them_nothing_is_lost() -> None:
    running = Running()
    running.world.snapshots.kept.clear()
    assert running.read_whole_at_a_start() == [running.stream]
    running.ends_well()


def test_one_that_is_no_fold_at_all_is_not_gone_on_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has the key has made it: a bug, and nobody is kept from working by it."""
    running = Running()
    monkeypatch.setattr(keeping, "is_genuine", lambda *_: True)
    running.put_back(replace(running.put, content=b"\xc1"))
    assert running.read_whole_at_a_start() == [running.stream]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("submission", [K8S, HTTP])
def test_a_job_comes_to_its_end_whatever_becomes_of_a_snapshot(submission: str, mode: Mode) -> None:
    undisturbed = retry_story(submission)
    outcome = outcome_in(*undisturbed)
    calls = undisturbed[0].fuse.calls
    numbers = [number for number, name in enumerate(calls, start=1) if name in CALLS]
    assert {calls[number - 1] for number in numbers} >= {"Snapshots.write"}
    for number in numbers:
        world, stream = retry_story(submission, Fuse(number, mode))
        assert world.fuse.blown in CALLS
        assert_whole(world, stream)
        assert outcome_in(world, stream) == outcome, f"call {number}, {mode}"


def _none(stream: StreamId) -> None:
    """Return that no job is held."""
    del stream


class Writing:
    """A keeper, and a job of which ever more events are in the log."""

    def __init__(self) -> None:
        self.clock = SimulatedClock(NOON)
        self.snapshots = MemorySnapshots(MemoryEventStore(MemoryLeases(self.clock.now)))
        self.keeper = SnapshotKeeper(self.snapshots, DOOR.redaction_key, self.clock)
        self.events = stored(recorded(LIVES["succeeded-after-two-failures"]()))
        self.stream = self.events[0].record.stream_id

    def kept_after(self, events: int) -> int:
        """Write what is due after so many events; return which version the snapshot is of."""
        slot = fold_slot(self.stream, self.events[:events])
        self.keeper.keep([(slot.tail, slot.view)])
        kept = self.snapshots.kept.get(self.stream)
        return 0 if kept is None else kept.version


def test_a_job_is_written_once_it_is_quiet_or_has_had_many_events() -> None:
    writing = Writing()
    assert len(writing.events) > BUSY_EVENTS + QUIET_EVENTS
    assert [writing.kept_after(QUIET_EVENTS) for _ in range(2)] == [0, QUIET_EVENTS]
    more = QUIET_EVENTS + QUIET_EVENTS - 1
    assert [writing.kept_after(more) for _ in range(2)] == [QUIET_EVENTS] * 2, "too few are new"
    assert writing.kept_after(QUIET_EVENTS + BUSY_EVENTS) == QUIET_EVENTS + BUSY_EVENTS


def test_a_job_of_which_nothing_is_told_for_long_is_written_after_a_single_event() -> None:
    """A start reads no event of it."""
    writing = Writing()
    assert [writing.kept_after(QUIET_EVENTS) for _ in range(2)] == [0, QUIET_EVENTS]
    last = fold_slot(writing.stream, writing.events[: QUIET_EVENTS + 1]).view.job
    assert last is not None
    writing.clock.advance((last.last_event_at - NOON + CALM).total_seconds())
    assert writing.kept_after(QUIET_EVENTS + 1) == QUIET_EVENTS, "not for long yet"
    writing.clock.advance(1)
    assert writing.kept_after(QUIET_EVENTS + 1) == QUIET_EVENTS + 1


def test_what_could_not_be_written_is_written_later() -> None:
    writing = Writing()
    write, failing = writing.snapshots.write, [True]

    def refuse(snapshots: Sequence[Snapshot]) -> None:
        if failing.pop():
            raise LedgerUnavailable("it is away")
        write(snapshots)

    writing.snapshots.write = refuse  # type: ignore[method-assign]
    assert writing.kept_after(BUSY_EVENTS) == 0
    failing.append(False)
    assert writing.kept_after(BUSY_EVENTS) == BUSY_EVENTS


def test_a_view_and_an_end_that_are_of_two_moments_are_not_written() -> None:
    """The turn sets one after the other, and another thread may look in between."""
    writing = Writing()
    older, newer = (fold_slot(writing.stream, writing.events[:n]) for n in (33, 34))
    for tail, view in ((older.tail, newer.view), (newer.tail, older.view)):
        for _ in range(2):
            writing.keeper.keep([(tail, view)])
    assert writing.snapshots.kept == {}


def test_a_number_that_no_snapshot_can_hold_keeps_no_other_job_from_being_written() -> None:
    """As a RayCluster might show one, made by a newer KubeRay."""
    writing, odd = Writing(), a_stream("odd")
    slot = fold_slot(writing.stream, writing.events[:BUSY_EVENTS])
    state = replace(slot.view.state, shown_cluster={"newer": 10**300})
    held = [
        (replace(slot.tail, stream_id=odd), replace(slot.view, state=state)),
        (slot.tail, slot.view),
    ]
    writing.keeper.keep(held)
    assert [*writing.snapshots.kept] == [writing.stream]


def test_a_stream_that_ends_earlier_than_its_snapshot_is_written_again() -> None:
    writing = Writing()
    assert writing.kept_after(BUSY_EVENTS) == BUSY_EVENTS
    assert writing.kept_after(BUSY_EVENTS - 2) == BUSY_EVENTS - 2


def test_what_a_job_has_used_of_its_budget_is_known_after_a_start() -> None:
    for spent, minutes, left in ((0.0, 0, 300), (250.0, 0, 50), (250.0, 30, 200), (400.0, 0, -100)):
        slowing = Slowing(clock := SimulatedClock(NOON), Metrics(CollectorRegistry()), 600, _none)
        at = clock.now() - timedelta(minutes=minutes)
        slowing.read(STREAM, [], Folded(view=View(), spent=spent, at=at))
        assert 300 - slowing.used_up(STREAM) == pytest.approx(left)


def test_the_code_that_folds_is_all_of_the_core() -> None:
    folding_code.cache_clear()
    before = folding_code()
    sources = dict(folding_code_module._sources(files("jobledger.core"), ""))  # noqa: SLF001
    assert {"projections/view.py", "rayjob/evolve/facts.py", "kinds.py"} <= sources.keys()
    folding_code.cache_clear()
    assert folding_code() == before
