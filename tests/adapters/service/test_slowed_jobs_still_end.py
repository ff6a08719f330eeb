"""What a slowed job has to come to still comes, for both kinds: suspension, deadline, deletion."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from jobledger.core.ports.cluster import JOBSETS, RAYCLUSTERS, RAYJOBS, TRAINJOBS, Resource
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.support.service_world import ServiceWorld
from tests.support.train_world import TrainWorld

pytestmark = pytest.mark.faults

PER_HOUR = 600
ONE_TURN = 40
"""More events than a single turn of these jobs brings."""
EDITS, EVERY = 600, 0.1
"""So many edits, so many seconds apart: a minute."""
DEADLINE_SECONDS = 90
"""It falls due while the job is slowed and edited on."""
EDITS_MORE_MAX = 3000


@dataclass(frozen=True)
class Slowed:
    """A job that runs and was edited until it was slowed."""

    world: ServiceWorld
    stream: StreamId
    resource: Resource
    children: Resource
    edited: Callable[[int], Mapping[str, object]]
    """Returns what another edit changes in its specification."""

    @property
    def is_slowed(self) -> bool:
        return self.world.service.metrics.registry.get_sample_value("jobledger_jobs_slowed") == 1

    @property
    def job(self) -> Manifest:
        return self.world.cluster.get(self.resource, "ml", "train") or {}

    def edit(self, **spec: object) -> None:
        changed = {**child(self.job, "spec"), **spec}
        self.world.cluster.edit(self.resource, "ml", "train", spec=changed)

    def keep_busy(self, number: int) -> None:
        """Edit it once more."""
        self.edit(**self.edited(number))
        self.world.clock.advance(EVERY)
        self.world.step()

    def within_budget(self, hours: float = 0) -> bool:
        events = len(self.world.store.read_stream(self.stream))
        return events <= PER_HOUR / 2 * (1 + hours) + ONE_TURN


def slowed_rayjob(**spec: Any) -> Slowed:  # noqa: ANN401 as users write it
    world = ServiceWorld(job_events_per_hour=PER_HOUR)
    world.plane.holds = True
    stream = world.create(a_rayjob(shutdownAfterJobFinishes=True, **spec))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    ttl = "ttlSecondsAfterFinished"
    return edited(Slowed(world, stream, RAYJOBS, RAYCLUSTERS, lambda number: {ttl: number}))


def slowed_trainjob(**spec: Any) -> Slowed:  # noqa: ANN401 as users write it
    world = TrainWorld(job_events_per_hour=PER_HOUR)
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train(**spec)
    world.run(world.is_so("Created"), "the objects")
    labels = "labels"
    return edited(Slowed(world, stream, TRAINJOBS, JOBSETS, lambda n: {labels: {"n": str(n)}}))


def edited(slowed: Slowed) -> Slowed:
    for number in range(EDITS):
        slowed.keep_busy(number)
    assert slowed.is_slowed
    assert slowed.within_budget()
    return slowed


KINDS = pytest.mark.parametrize(
    "slowed",
    [pytest.param(slowed_rayjob, id="RayJob"), pytest.param(slowed_trainjob, id="TrainJob")],
)


@KINDS
def test_a_slowed_job_is_suspended(slowed: Callable[..., Slowed]) -> None:
    at = slowed()
    assert not is_stopped(at)
    at.edit(suspend=True)
    at.world.run(lambda: is_stopped(at), "what runs for the job to be stopped")
    assert at.within_budget(hours=1)


@KINDS
def test_a_slowed_job_meets_its_deadline(slowed: Callable[..., Slowed]) -> None:
    at = slowed(activeDeadlineSeconds=DEADLINE_SECONDS)
    assert not has_failed(at.job), "it is not due yet"
    for number in range(EDITS_MORE_MAX):
        at.keep_busy(EDITS + number)
        if has_failed(at.job):
            break
    assert has_failed(at.job), "however often it is edited meanwhile"
    assert at.within_budget(hours=1)


@KINDS
def test_a_slowed_job_that_is_deleted_goes(slowed: Callable[..., Slowed]) -> None:
    at = slowed()
    at.world.cluster.delete(at.resource, "ml", "train")
    at.world.run(lambda: not at.job, "the job to go")
    at.world.run(lambda: at.world.service.slots.held(at.stream) is None, "it to be let go of")
    assert at.within_budget(hours=1)


def is_stopped(at: Slowed) -> bool:
    children = at.world.cluster.list(at.children).items
    return all(child(item, "spec").get("suspend") is True for item in children)


def has_failed(job: Manifest) -> bool:
    status = child(job, "status")
    if status.get("jobDeploymentStatus") == "Failed":
        return True
    conditions = status.get("conditions")
    return isinstance(conditions, list) and any(
        isinstance(item, dict) and item.get("type") == "Failed" and item.get("status") == "True"
        for item in conditions
    )
