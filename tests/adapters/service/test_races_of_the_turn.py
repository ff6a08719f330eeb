"""What the turn's thread goes through while other threads change it."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from prometheus_client import CollectorRegistry

from jobledger.adapters.service.loop.slowing import Slowing
from jobledger.adapters.service.resync.first_looks import FirstLooks
from jobledger.adapters.service.watches.kind_watches import SyncedKinds
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.values.ids import SHARDS, StreamId
from tests.adapters.service.parts import Bench, a_rayjob
from tests.support.memory.clock import SimulatedClock
from tests.support.plugged import watchings
from tests.support.records import NOON, a_stream
from tests.support.waiting import wait_until

BLOCKED_SECONDS = 0.1
"""How long another thread is given; one that waits for a lock gets no further in that time."""


def elsewhere(call: Callable[[], object]) -> None:
    """Do something in another thread, as far as it gets."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(BLOCKED_SECONDS)


class Slow(UUID):
    """The name of a job; others have their turn while it is hashed, as those of any may."""

    meanwhile: Callable[[], None] = staticmethod(lambda: None)

    def __hash__(self) -> int:
        type(self).meanwhile()
        return super().__hash__()


def test_an_edit_may_be_put_off_while_those_that_wait_are_counted() -> None:
    """It ended the turn's thread: the dictionary changed while it was gone through."""
    slowing = Slowing(SimulatedClock(NOON), Metrics(CollectorRegistry()), 10)
    edited, put_off = a_stream("edited"), list[bool]()
    for stream in (edited, *(StreamId(Slow(str(a_stream(name)))) for name in "abc")):
        slowing.spent(stream, 100)
        if stream != edited:
            assert slowing.has_to_wait(stream, lambda: None, is_edit=True)

    def edit() -> None:
        put_off.append(slowing.has_to_wait(edited, lambda: None, is_edit=True))

    Slow.meanwhile = staticmethod(lambda: elsewhere(edit))
    try:
        assert slowing.admit([]) == []
    finally:
        Slow.meanwhile = staticmethod(lambda: None)
    wait_until(lambda: bool(put_off), "the edit to be put off")
    assert all(put_off)


def test_a_job_may_be_looked_at_first_while_a_shard_is_gained() -> None:
    """It ended the turn's thread likewise."""
    bench, asked = Bench(), list[Callable[[], bool]]()

    def ask(_stream: StreamId, _about: str, look: Callable[[], bool], _wanted: object) -> None:
        asked.append(look)

    questions: Any = SimpleNamespace(epoch=lambda _: 1, ask=ask)
    synced, told = SyncedKinds(1, list(watchings().values())), SimpleNamespace()
    looks = FirstLooks(bench.cluster, bench.around, bench.clock, questions, synced, told)  # type: ignore[arg-type] # nobody is told
    for name in ("one", "two", "three"):
        created = bench.cluster.create(RAYJOBS, a_rayjob({"metadata.name": name}))
        bench.jobs.seen(created, bench.clock.now())
    for stream, seen in bench.inbox.take(100, 0):
        looks.is_premature(stream, seen)
    first, second, third = asked
    assert first()
    assert second()

    def epoch(_: int) -> int:
        questions.epoch = lambda _: 1
        elsewhere(third)
        return 1

    questions.epoch = epoch
    looks.begin(dict.fromkeys(range(SHARDS), 2))
