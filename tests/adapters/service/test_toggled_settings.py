"""A setting that goes there and back, however often, is in force as it was set last.

The object does not change meanwhile, so every look at it after a start is of the same version.
"""

from dataclasses import replace
from itertools import product

import pytest

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.service.control.control_policy import ControlPolicy
from jobledger.core.jobs.control.control_policy import Control, ControlScope
from jobledger.core.jobs.policy import Policy
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.support.job_world import JobWorld, a_job
from tests.support.service_world import DOOR, ServiceWorld
from tests.support.train_world import TrainWorld

pytestmark = pytest.mark.faults

TOGGLES = list(product([1, 300], repeat=4))


def started_anew(world: ServiceWorld) -> None:
    """Start the service with the settings of the world, and let everything be heard."""
    world.clock.advance(60)
    world.restart()
    steps = 0
    while world.step() or steps < 5:
        steps += 1
        assert steps < 500, "it does not come to rest"


def policy_in_force(world: ServiceWorld, stream: StreamId) -> Policy | TrainPolicy | None:
    slot = world.service.slots.held(stream)
    manifest = slot.view.state.manifest if slot is not None else None
    return manifest.policy if manifest is not None else None


@pytest.mark.parametrize("seconds", TOGGLES, ids=str)
def test_a_time_out_of_rayjobs(seconds: tuple[int, ...]) -> None:
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(a_rayjob())
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    for now in seconds:
        policy = Policy(submitter_finished_timeout_seconds=now)
        world.mapper = replace(DOOR, policy=policy)
        started_anew(world)
        assert policy_in_force(world, stream) == policy


@pytest.mark.parametrize("seconds", TOGGLES, ids=str)
def test_a_pause_of_trainjobs(seconds: tuple[int, ...]) -> None:
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    for now in seconds:
        world.mapper = DOOR.knowing(TrainInstallation(policy=TrainPolicy(retry_seconds=now)))
        started_anew(world)
        assert policy_in_force(world, stream) == TrainPolicy(retry_seconds=now)


@pytest.mark.parametrize("seconds", TOGGLES, ids=str)
def test_a_pause_of_jobs(seconds: tuple[int, ...]) -> None:
    world = JobWorld()
    world.holds = True
    stream = world.give(a_job())
    world.run(lambda: len(world.attempts()) == 1, "the Job of the attempt")
    for now in seconds:
        world.mapper = replace(DOOR, policy=Policy(retry_delay_seconds=now))
        started_anew(world)
        assert policy_in_force(world, stream) == Policy(retry_delay_seconds=now)


@pytest.mark.parametrize("controlled", list(product([True, False], repeat=4)), ids=str)
def test_whether_a_job_is_controlled(controlled: tuple[bool, ...]) -> None:
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(a_rayjob())
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    for now in controlled:
        control = Control.ALL if now else Control.NOTHING
        world.mapper = replace(DOOR, control_policy=ControlPolicy(ControlScope(control=control)))
        started_anew(world)
        slot = world.service.slots.held(stream)
        assert slot is not None
        assert (slot.view.state.recorded is None) is now


def test_the_same_version_told_again_is_no_news() -> None:
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(a_rayjob())
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    before = len(world.store.read_stream(stream))
    for _ in range(3):
        started_anew(world)
    told = {item.record.type for item in world.store.read_stream(stream)[before:]}
    assert told <= {"ObservationsConfirmed", "ObservationGapFound"}
