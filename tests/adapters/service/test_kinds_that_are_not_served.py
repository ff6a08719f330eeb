"""A kind that is not served in its version for a while: its objects stay there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from jobledger.adapters.kinds.rayjob.acting.effects import act
from jobledger.core.errors import KindNotServed
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.ports.cluster import JOBSETS, RAYCLUSTERS, RAYJOBS, Resource
from jobledger.core.values.documents import Manifest
from tests.adapters.service.parts import NAMES, Bench, a_rayjob
from tests.support.service_world import ServiceWorld
from tests.support.stepped_cluster import SteppedCluster
from tests.support.train_world import TrainWorld

LOOKS = 120


@contextmanager
def unserved(cluster: SteppedCluster, kind: Resource) -> Iterator[None]:
    """Let nobody get at the objects of a kind but the watches."""
    delete, get, patch = cluster.delete, cluster.get, cluster.merge_patch

    def refuse(resource: Resource, *named: Any, **more: Any) -> None:  # noqa: ANN401 as the port
        if resource == kind:
            raise KindNotServed(f"{kind.plural}: 404: not served")
        delete(resource, *named, **more)

    def refuse_get(resource: Resource, *named: Any) -> Manifest | None:  # noqa: ANN401 as the port
        if resource == kind:
            raise KindNotServed(f"{kind.plural}: 404: not served")
        return get(resource, *named)

    def refuse_patch(resource: Resource, *named: Any, **more: Any) -> Manifest:  # noqa: ANN401 as the port
        if resource == kind:
            raise KindNotServed(f"{kind.plural}: 404: not served")
        return patch(resource, *named, **more)

    for name, other in (("delete", refuse), ("get", refuse_get), ("merge_patch", refuse_patch)):
        setattr(cluster, name, other)
    yield
    for name, own in (("delete", delete), ("get", get), ("merge_patch", patch)):
        setattr(cluster, name, own)


def go_on(world: ServiceWorld) -> None:
    """Let everybody do what they do for a minute."""
    for _ in range(LOOKS):
        world.step()
        world.clock.advance(0.5)


def a_running_rayjob() -> ServiceWorld:
    world = ServiceWorld()
    world.plane.holds = True
    world.create(a_rayjob(shutdownAfterJobFinishes=True))
    world.run(lambda: world.phase("train") == "Running", "it runs")
    return world


def test_a_raycluster_is_deleted_once_its_kind_is_served_again() -> None:
    """The job stayed Suspending for ever, and its RayCluster ran on."""
    world = a_running_rayjob()
    with unserved(world.cluster, RAYCLUSTERS):
        world.cluster.merge_patch(RAYJOBS, "ml", "train", {"spec": {"suspend": True}})
        go_on(world)
        assert world.phase("train") == "Suspending"
    world.run(lambda: world.phase("train") == "Suspended", "it is suspended")
    assert world.cluster.peek(RAYCLUSTERS) == []


def test_one_whose_job_is_over_is_shut_down_then() -> None:
    world = a_running_rayjob()
    with unserved(world.cluster, RAYCLUSTERS):
        world.plane.holds = False
        go_on(world)
        assert world.phase("train") == "Complete"
    world.run(lambda: world.cluster.peek(RAYCLUSTERS) == [], "it is shut down")


def test_one_that_no_watch_knows_is_looked_for_and_does_not_count_as_gone() -> None:
    bench = Bench()
    job = bench.job()
    effect = bench.effect(job, EffectKind.DELETE_CLUSTER, uid="u")
    world = bench.context().world
    with unserved(bench.cluster, RAYCLUSTERS), pytest.raises(KindNotServed):
        act(world, job, effect, NAMES)
    assert act(world, job, effect, NAMES).gone, "there is none"


def test_so_is_the_jobset_of_a_trainjob() -> None:
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    world.train(activeDeadlineSeconds=120)
    go_on(world)
    with unserved(world.cluster, JOBSETS):
        world.clock.advance(120)
        go_on(world)
        assert world.cluster.peek(JOBSETS) != []
    world.run(lambda: world.cluster.peek(JOBSETS) == [], "it is deleted")


def test_the_finalizer_of_a_rayjob_is_taken_away_once_it_is_served_again() -> None:
    world = a_running_rayjob()
    world.cluster.delete(RAYJOBS, "ml", "train")
    with unserved(world.cluster, RAYJOBS):
        go_on(world)
    world.run(lambda: world.job("train") == {}, "it is gone")
