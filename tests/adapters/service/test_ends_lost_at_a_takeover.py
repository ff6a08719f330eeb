"""The ledger loses the end of a stream, and a replica takes the shard over whose watch lags.

Its log and its watch agree on what was before the end, so nothing tells it of the loss until the
watch does: what it is told then is no drift to be mended, and nothing is written over it.
"""

from typing import Any

import pytest

from jobledger.core.jobs.control.status_writers import OUR_MANAGER
from jobledger.core.jobs.observations import LedgerSetBack
from jobledger.core.ports.cluster import JOBSETS, RAYCLUSTERS, RAYJOBS, TRAINJOBS, Resource
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.ids import SHARDS, StreamId, observation_id
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP
from tests.support.service_world import LEASE_SECONDS, Service, ServiceWorld
from tests.support.set_back import kept
from tests.support.train_world import TrainWorld

KINDS = pytest.mark.parametrize("kind", ["RayJob", "TrainJob"])


def told(world: ServiceWorld, stream: StreamId) -> list[str]:
    return [item.record.type for item in world.store.read_stream(stream)]


def resource_of(world: ServiceWorld) -> Resource:
    return TRAINJOBS if isinstance(world, TrainWorld) else RAYJOBS


def status_of(world: ServiceWorld) -> Manifest:
    return child(world.cluster.get(resource_of(world), "ml", "train") or {}, "status")


def end_of(world: ServiceWorld) -> Manifest:
    """Return what users see of the end; what it mirrors of Ray and the RayCluster is not its."""
    mirrored = ("rayJobInfo", "rayClusterStatus")
    return {name: value for name, value in status_of(world).items() if name not in mirrored}


def settle(world: ServiceWorld, *alive: Service) -> None:
    """Let these replicas, and the cluster, do what there is to do."""
    for _ in range(600):
        world.clock.advance(0.001)
        heard = world.cluster.deliver()
        moved = [service.step() for service in alive]
        plane = world.jobsets.step() if isinstance(world, TrainWorld) else False
        if not (world.plane.step() or plane or heard or any(moved)):
            return
    raise AssertionError("after 600 steps they still find something to do")


def pass_by(world: ServiceWorld, seconds: float, *alive: Service) -> None:
    for _ in range(int(seconds / 2) + 1):
        world.clock.advance(2)
        alive[0].controller.renew_leases()
        settle(world, *alive)


def under_way(kind: str) -> tuple[ServiceWorld, StreamId, Service]:
    """Return a job that `a` has running, and a replica that stands by."""
    world = TrainWorld() if kind == "TrainJob" else ServiceWorld()
    world.clock.advance(3600)
    world.plane.holds = True
    if isinstance(world, TrainWorld):
        world.install_runtime()
        world.jobsets.holds = True
        stream = world.train()
    else:
        spec = {"submissionMode": HTTP, "shutdownAfterJobFinishes": True, "backoffLimit": 1}
        stream = world.create(a_rayjob(**spec))
    settle(world, world.service)
    b = world.start_service("b")
    settle(world, world.service, b)
    return world, stream, b


def take_over(world: ServiceWorld, b: Service) -> None:
    """Let `a` be gone, and `b` hold every shard."""
    world.clock.advance(LEASE_SECONDS + 1)
    b.controller.renew_leases()
    assert len(b.leases.held()) == SHARDS
    world.service = b


def made(world: ServiceWorld) -> list[str]:
    """Return what ran of the job, in order."""
    kinds = ("rayclusters", "jobsets")
    return [
        name for verb, plural, name in world.cluster.writes if plural in kinds and verb != "delete"
    ]


@KINDS
def test_an_end_that_a_lagging_watch_has_not_told_yet_stays_what_it_was(kind: str) -> None:
    """What ran is gone, so without its status the job would count as lost and run again."""
    world, stream, b = under_way(kind)
    a, set_back = world.service, kept(world.store, world.lease_table)
    watch_goes_on = world.cluster.hold_back(resource_of(world))
    world.plane.holds = False
    if isinstance(world, TrainWorld):
        world.jobsets.holds = False
    pass_by(world, 20, a, b)
    ended = end_of(world)
    if isinstance(world, TrainWorld):
        world.cluster.delete(JOBSETS, "ml", "train")
    before = made(world)
    set_back()
    take_over(world, b)
    pass_by(world, 20, b)
    assert "RecoveredFromCluster" in told(world, stream)
    watch_goes_on()
    pass_by(world, 20, b)
    assert end_of(world) == ended
    assert made(world) == before


@KINDS
def test_a_job_that_is_held_at_the_takeover_is_asked_for_as_well(kind: str) -> None:
    """The one before has found the loss and died; what the watch shows is from before the end."""
    world, stream, b = under_way(kind)
    a, mark = world.service, observation_id(stream, "set back")
    found = LedgerSetBack(id=mark, at=world.clock.now(), known_version=9, found_version=4)
    a.inbox.put(stream, found)
    a.turn.run_once(wait_seconds=0)
    assert told(world, stream)[-1] != "RecoveredFromCluster", "it is held"
    set_back = kept(world.store, world.lease_table)
    pass_by(world, 4, a, b)
    assert "RecoveredFromCluster" in told(world, stream)
    watch_goes_on = world.cluster.hold_back(resource_of(world))
    world.plane.holds = False
    if isinstance(world, TrainWorld):
        world.jobsets.holds = False
    pass_by(world, 20, a, b)
    ended = end_of(world)
    if isinstance(world, TrainWorld):
        world.cluster.delete(JOBSETS, "ml", "train")
    before = made(world)
    set_back()
    assert "RecoveredFromCluster" not in told(world, stream)
    take_over(world, b)
    pass_by(world, 20, b)
    assert "RecoveredFromCluster" in told(world, stream)
    watch_goes_on()
    pass_by(world, 20, b)
    assert (end_of(world), made(world)) == (ended, before)


@KINDS
def test_an_end_that_was_on_its_way_at_the_takeover_is_no_drift(kind: str) -> None:
    """It took longer than the lease: no look at the takeover could have shown it."""
    world, stream, b = under_way(kind)
    take_over(world, b)
    pass_by(world, 4, b)
    assert "RecoveredFromCluster" not in told(world, stream)
    ended = let_end_arrive(world)
    pass_by(world, 20, b)
    assert "RecoveredFromCluster" in told(world, stream)
    assert end_of(world) == ended
    overwritten = b.metrics.status_writes.labels("overwritten")
    assert overwritten._value.get() == 0  # noqa: SLF001 it is no drift


@KINDS
def test_nor_is_anything_written_over_it_while_news_of_the_job_wait(kind: str) -> None:
    """Their first write is refused by its resourceVersion; the next one knows the new version."""
    world, stream, b = under_way(kind)
    take_over(world, b)
    pass_by(world, 4, b)
    watch_goes_on = world.cluster.hold_back(resource_of(world))
    ended = let_end_arrive(world)
    bring_news(world)
    pass_by(world, 4, b)
    assert world.service.handover.publisher.outboxes[stream].failures > 0
    watch_goes_on()
    world.clock.advance(60)
    b.controller.renew_leases()
    world.cluster.deliver()
    while b.workers.run_once():  # before any turn is taken
        pass
    assert end_of(world) == ended
    pass_by(world, 20, b)
    assert "RecoveredFromCluster" in told(world, stream)
    assert end_of(world) == ended


def bring_news(world: ServiceWorld) -> None:
    """Let what runs of the job change, so that its status is to be written."""
    if isinstance(world, TrainWorld):
        counters = dict.fromkeys(("ready", "succeeded", "failed", "active", "suspended"), 0)
        counts = [{"name": "node", **counters, "active": 1}]
        world.cluster.edit(JOBSETS, "ml", "train", status={"replicatedJobsStatus": counts})
    else:
        cluster = world.cluster.list(RAYCLUSTERS, "ml").items[0]
        status = {**child(cluster, "status"), "maxWorkerReplicas": 3}
        world.cluster.edit(RAYCLUSTERS, "ml", text(cluster, "metadata", "name"), status=status)


def let_end_arrive(world: ServiceWorld) -> Manifest:
    """Let a write of `a` arrive that says that the job is complete; return what it says."""
    at, shown = "2026-11-21T13:00:01Z", status_of(world)
    if isinstance(world, TrainWorld):
        complete = {
            "type": "Complete",
            "status": "True",
            "reason": "AllJobsCompleted",
            "message": "jobset completed successfully",
            "lastTransitionTime": at,
        }
        status: dict[str, Any] = {"conditions": [*items(shown, "conditions"), complete]}
    else:
        status = {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "endTime": at}
        status["succeeded"] = 1
    world.cluster.patch_as(
        OUR_MANAGER, resource_of(world), "ml", "train", {"status": status}, subresource="status"
    )
    return end_of(world)
