"""Objects without number that name a slowed job as their controller: the looks that wait are few.

Whoever may create objects in a namespace may do so, and make and delete them without end.
"""

from collections.abc import Callable, Sequence

import pytest

from jobledger.adapters.service.loop.slowing import LOOKS_MAX, Slowing
from jobledger.core.batchjob.observations import AttemptJobSeen
from jobledger.core.kinds import JobObservation, marks_of
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, RAYCLUSTERS, Resource
from jobledger.core.rayjob.observations.observations import ClusterSeen
from jobledger.core.trainjob.observations import JobSetSeen
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.support.job_world import JobWorld, a_job
from tests.support.service_world import ServiceWorld
from tests.support.train_world import TrainWorld

pytestmark = pytest.mark.faults

PER_HOUR = 20_000
LITTLE = 30
"""So many events too many are made good in some ten seconds."""
FORGED = 2 * LOOKS_MAX
"""So many objects that are made, and deleted, beside those of the job."""
STAY = 20
"""So many of them are not deleted."""
OWNERS = ("metadata", "ownerReferences")
ELSE_MAX = 50
"""So many observations besides looks at objects wait of such a job."""


def a_rayjob_that_runs() -> tuple[ServiceWorld, StreamId, Resource]:
    world = ServiceWorld(job_events_per_hour=PER_HOUR)
    world.plane.holds = True
    stream = world.create(a_rayjob())
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    return world, stream, RAYCLUSTERS


def a_trainjob_that_runs() -> tuple[ServiceWorld, StreamId, Resource]:
    world = TrainWorld(job_events_per_hour=PER_HOUR)
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    return world, stream, JOBSETS


def a_job_that_runs() -> tuple[ServiceWorld, StreamId, Resource]:
    world = JobWorld(job_events_per_hour=PER_HOUR)
    world.holds = True
    stream = world.give(a_job())
    world.run(lambda: len(world.attempts()) == 1, "the Job of the attempt")
    return world, stream, BATCH_JOBS


def waiting(world: ServiceWorld, stream: StreamId) -> Sequence[JobObservation]:
    return world.service.turn.slowing._held.get(stream, ())  # noqa: SLF001 the leak


def use_up(slowing: Slowing, stream: StreamId) -> None:
    slowing.spent(stream, PER_HOUR // 2 + LITTLE)


@pytest.mark.parametrize(
    "running",
    [
        pytest.param(a_rayjob_that_runs, id="RayJob"),
        pytest.param(a_trainjob_that_runs, id="TrainJob"),
        pytest.param(a_job_that_runs, id="Job"),
    ],
)
def test_of_a_slowed_job_with_objects_without_number_few_looks_wait(
    running: Callable[[], tuple[ServiceWorld, StreamId, Resource]],
) -> None:
    world, stream, resource = running()
    (own,) = [one for one in world.cluster.peek(resource) if items(one, *OWNERS)]
    use_up(world.service.turn.slowing, stream)
    status = {**child(own, "status"), "note": "seen while the job was slowed"}
    world.cluster.edit(resource, "ml", text(own, "metadata", "name"), status=status)
    for count in range(FORGED):
        forge(world, resource, own, f"forged-{count}")
        world.step()
        if count >= STAY:
            world.cluster.delete(resource, "ml", f"forged-{count}")
            world.step()
    held = waiting(world, stream)
    assert sum(bool(marks_of(item)) for item in held) == LOOKS_MAX
    assert len(held) <= LOOKS_MAX + ELSE_MAX
    looks = [item for item in held if isinstance(item, ClusterSeen | JobSetSeen | AttemptJobSeen)]
    assert text(own, "metadata", "uid") in {look.uid for look in looks}, "at its own it still waits"


def forge(world: ServiceWorld, resource: Resource, own: Manifest, name: str) -> None:
    """Make an object like a job's own, with the same controller."""
    metadata = child(own, "metadata")
    kept: Manifest = {
        "namespace": "ml",
        "name": name,
        "labels": metadata.get("labels"),
        "ownerReferences": metadata.get("ownerReferences"),
    }
    made: Manifest = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": kept,
        "spec": child(own, "spec"),
    }
    world.cluster.create(resource, made)


def test_what_was_left_out_is_told_anew_once_the_job_has_its_turn() -> None:
    """RayClusters that name the job as their controller are orphans, and go."""
    world, stream, resource = a_rayjob_that_runs()
    (own,) = world.cluster.peek(resource)
    use_up(world.service.turn.slowing, stream)
    for count in range(LOOKS_MAX + STAY):
        forge(world, resource, own, f"forged-{count}")
        world.step()
    assert waiting(world, stream)
    name = text(own, "metadata", "name")
    world.run(lambda: names(world, resource) == {name}, "every orphan to be deleted")


def names(world: ServiceWorld, resource: Resource) -> set[str]:
    return {text(one, "metadata", "name") for one in world.cluster.peek(resource)}
