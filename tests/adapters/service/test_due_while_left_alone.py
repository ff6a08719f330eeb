"""A job whose objects may not be listed is ended by no deadline: nobody would know its end."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jobledger.core.catalogue import read_event
from jobledger.core.errors import RequestForbidden
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    JOBSETS,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINJOBS,
    Resource,
)
from jobledger.core.values.ids import StreamId
from tests.rules.rayjob.jobs import rayjob
from tests.support.train_world import TrainWorld

AWAY_SECONDS = 3 * 3600.0
ENDS = {"JobCompleted", "JobFailed", "TrainJobCompleted", "TrainJobFailed"}


@contextmanager
def forbidden(world: TrainWorld, resource: Resource) -> Iterator[None]:
    """Let a kind not be listed while the body runs."""
    listed, got = world.cluster.list, world.cluster.get

    def refuse(asked: Resource, *_: object, **__: object) -> None:
        if asked == resource:
            raise RequestForbidden(f"cannot list {resource.plural}")

    def list_(asked: Resource, *words: object, **more: object) -> object:
        refuse(asked)
        return listed(asked, *words, **more)  # type: ignore[arg-type]  # as they came

    def get(asked: Resource, *words: object, **more: object) -> object:
        refuse(asked)
        return got(asked, *words, **more)  # type: ignore[arg-type]  # as they came

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.cluster, "list", list_)
        patch.setattr(world.cluster, "get", get)
        yield


def steps(world: TrainWorld, count: int = 400) -> None:
    for _ in range(count):
        if not world.step():
            world.clock.advance(1)


def ends(world: TrainWorld, stream: StreamId) -> list[str]:
    told = [type(read_event(one.record)).__name__ for one in world.store.read_stream(stream)]
    return [name for name in told if name in ENDS]


def started_anew_without(world: TrainWorld, resource: Resource, stream: StreamId) -> list[str]:
    """Let a service begin hours later without a right, and have it back; return ends after each."""
    world.clock.advance(AWAY_SECONDS)
    with forbidden(world, resource):
        world.restart()
        steps(world)
        meanwhile = ends(world, stream)
    world.service.controller.kinds.ask_for_unwatched()
    steps(world)
    return meanwhile + ends(world, stream)


@pytest.mark.parametrize("resource", [RAYJOBS, RAYCLUSTERS, BATCH_JOBS], ids=lambda one: one.kind)
def test_a_rayjob_that_ended_well_while_nobody_looked_is_complete(resource: Resource) -> None:
    world = TrainWorld()
    job = rayjob({"metadata.uid": None, "metadata.generation": None}, activeDeadlineSeconds=600)
    stream = world.create(job)
    for _ in range(3000):
        if world.phase("train") == "Running":
            break
        if not world.step():
            world.clock.advance(1)
    while world.plane.step():
        world.clock.advance(1)
    assert started_anew_without(world, resource, stream) == ["JobCompleted"]
    assert world.phase("train") == "Complete"


@pytest.mark.parametrize("resource", [TRAINJOBS, JOBSETS], ids=lambda one: one.kind)
def test_a_trainjob_that_ended_well_while_nobody_looked_is_complete(resource: Resource) -> None:
    world = TrainWorld()
    world.install_runtime()
    world.jobsets.holds = True
    stream = world.train(activeDeadlineSeconds=7200)
    world.run(lambda: world.condition("Created")[0] == "True", "a JobSet")
    world.jobsets.holds = False
    while world.jobsets.step():
        world.clock.advance(1)
    assert started_anew_without(world, resource, stream) == ["TrainJobCompleted"]
    assert world.condition("Complete")[0] == "True"
