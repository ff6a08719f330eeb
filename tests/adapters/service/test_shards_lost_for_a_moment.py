"""A shard that is not held for a moment, and is again under the same epoch before anybody looks.

So it is while a short outage of the ledger lets the claim on the cluster's jobs lapse, and when the
ledger gives a lease back to the writer that it has just fenced.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from jobledger.core.ports.cluster import RAYCLUSTERS
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.ids import StreamId, shard_of
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP, assert_whole, is_over
from tests.support.service_world import ServiceWorld


@contextmanager
def lapsed(world: ServiceWorld) -> Iterator[None]:
    """Another ledger may act meanwhile, as far as this run knows."""
    leases = world.service.leases
    usual, leases.allows = leases.allows, lambda: False
    yield
    leases.allows = usual


def named(name: str) -> Manifest:
    made = a_rayjob(submissionMode=HTTP)
    return {**made, "metadata": {**child(made, "metadata"), "name": name}}


def settle(world: ServiceWorld) -> None:
    """Let the service and the cluster do what there is to do."""
    for _ in range(400):
        world.clock.advance(0.001)
        told = world.cluster.deliver()
        if not (world.service.step() or world.plane.step() or told):
            return
    raise AssertionError("after 400 steps they still find something to do")


def test_what_its_watches_told_meanwhile_is_told_again() -> None:
    """Here: that the RayCluster is ready, which no watch tells a second time."""
    world = ServiceWorld()
    settle(world)
    stream = world.create(a_rayjob(submissionMode=HTTP, shutdownAfterJobFinishes=True))
    epochs = world.service.leases.held()
    while not world.cluster.peek(RAYCLUSTERS):
        world.cluster.deliver()
        world.service.step()
    with lapsed(world):
        assert world.plane.step(), "the RayCluster is ready"
        world.cluster.deliver()
    assert world.service.leases.held() == epochs
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert world.phase("train") == "Complete"
    assert_whole(world, stream)


def test_what_had_come_in_before_is_told_again_too() -> None:
    """It was taken from the inbox while the shard was not held."""
    world = ServiceWorld()
    settle(world)
    stream = world.create(a_rayjob(submissionMode=HTTP, shutdownAfterJobFinishes=True))
    world.cluster.deliver()
    with lapsed(world):
        assert world.service.turn.run_once(0) == 1
    assert world.service.turn.unheard == {shard_of(stream)}
    world.run(lambda: is_over(world, stream), "the job to be over")
    assert_whole(world, stream)


def test_its_jobs_are_read_anew_once_and_those_of_no_other_shard() -> None:
    world = ServiceWorld()
    world.plane.holds = True
    settle(world)
    jobs = [world.create(named(name)) for name in ("one", "two", "three")]
    settle(world)
    lost = shard_of(jobs[0])
    read: list[StreamId] = []
    world.service.slots.on_read = lambda stream, *_: read.append(stream)
    settle(world)
    assert read == []
    world.service.turn.unheard.add(lost)
    settle(world)
    assert sorted(read) == sorted(job for job in jobs if shard_of(job) == lost)
