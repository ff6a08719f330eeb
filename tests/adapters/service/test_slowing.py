"""A job that changes all the time is slowed to its budget of events, and ends as it was left."""

import pytest
from structlog.testing import capture_logs

from jobledger.core.jobs.budget import whole_budget
from jobledger.core.ports.cluster import RAYCLUSTERS, RAYJOBS
from jobledger.core.rayjob.observations.observations import ClusterSeen
from jobledger.core.rayjob.spec.spec import RayJobSpec
from jobledger.core.values.documents import child, text
from tests.adapters.service.parts import a_rayjob
from tests.support.service_world import ServiceWorld
from tests.support.train_world import TrainWorld

PER_HOUR = 600
ONE_TURN = 40
"""More events than a single turn of these jobs brings."""
EDITS, EVERY = 1200, 0.1
"""So many edits, so many seconds apart: two minutes."""
EDITS_PER_RUN = 40
"""So many edits until the service dies once more."""


def slowed_jobs(world: ServiceWorld) -> float | None:
    return world.service.metrics.registry.get_sample_value("jobledger_jobs_slowed")


def test_a_rayjob_that_is_edited_all_the_time_stays_within_its_budget() -> None:
    world = ServiceWorld(job_events_per_hour=PER_HOUR)
    world.plane.holds = True
    stream = world.create(a_rayjob())
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    spec = a_rayjob(shutdownAfterJobFinishes=True)["spec"]
    for number in range(EDITS):
        edited = {**spec, "ttlSecondsAfterFinished": number}
        world.cluster.edit(RAYJOBS, "ml", "train", spec=edited)
        world.clock.advance(EVERY)
        world.step()
    assert len(world.store.read_stream(stream)) <= PER_HOUR / 2 + ONE_TURN
    assert slowed_jobs(world) == 1

    world.run(lambda: slowed_jobs(world) == 0, "what has waited to be taken in")
    slot = world.service.slots.held(stream)
    manifest = slot.view.state.manifest if slot is not None else None
    assert manifest is not None
    assert isinstance(manifest.spec, RayJobSpec)
    assert manifest.spec.ttl_seconds_after_finished == EDITS - 1, "the last edit is in force"


def test_a_slowed_job_still_ends() -> None:
    world = TrainWorld(job_events_per_hour=PER_HOUR)
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    for number in range(EDITS // 2):
        world.change(labels={"n": str(number)})
        world.clock.advance(EVERY)
        world.step()
    assert len(world.store.read_stream(stream)) <= PER_HOUR / 2 + ONE_TURN
    world.jobsets.holds = False
    world.run(world.is_so("Complete"), "the job to be over")


def test_a_service_that_dies_again_and_again_gives_a_rayjob_no_more() -> None:
    world = ServiceWorld(job_events_per_hour=PER_HOUR)
    world.plane.holds = True
    stream = world.create(a_rayjob())
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    spec = a_rayjob(shutdownAfterJobFinishes=True)["spec"]
    for number in range(EDITS // 2):
        edited = {**spec, "ttlSecondsAfterFinished": number}
        world.cluster.edit(RAYJOBS, "ml", "train", spec=edited)
        world.clock.advance(EVERY)
        world.step()
        if number % EDITS_PER_RUN == 0:
            world.restart()
    assert len(world.store.read_stream(stream)) <= PER_HOUR / 2 + ONE_TURN
    assert slowed_jobs(world) == 1


def test_nor_a_trainjob() -> None:
    world = TrainWorld(job_events_per_hour=PER_HOUR)
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train()
    world.run(world.is_so("Created"), "the objects")
    for number in range(EDITS // 2):
        world.change(labels={"n": str(number)})
        world.clock.advance(EVERY)
        world.step()
        if number % EDITS_PER_RUN == 0:
            world.restart()
    assert len(world.store.read_stream(stream)) <= PER_HOUR / 2 + ONE_TURN
    assert slowed_jobs(world) == 1


def test_of_looks_at_one_thing_the_latest_waits_and_the_log_says_once_that_they_do() -> None:
    world = ServiceWorld(job_events_per_hour=PER_HOUR)
    world.plane.holds = True
    stream = world.create(a_rayjob())
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    (cluster,) = world.cluster.peek(RAYCLUSTERS)
    slowing = world.service.turn.slowing
    slowing.spent(stream, PER_HOUR)
    with capture_logs() as lines:
        for workers in range(1, 6):
            status = {**child(cluster, "status"), "desiredWorkerReplicas": workers}
            world.cluster.edit(RAYCLUSTERS, "ml", text(cluster, "metadata", "name"), status=status)
            world.run(lambda: True, "what can be done")
    looks = [one for one in slowing._held[stream] if isinstance(one, ClusterSeen)]  # noqa: SLF001 what waits
    assert [child(one.status).get("desiredWorkerReplicas") for one in looks] == [5]
    assert [line["event"] for line in lines].count("job_slowed") == 1


def test_a_budget_is_used_at_once_by_half_and_comes_back_over_the_hour() -> None:
    budget = whole_budget(PER_HOUR, 0).without(300)
    assert budget.is_used_up
    assert not budget.now(13).is_used_up
    assert budget.now(3600).left == pytest.approx(300)
    assert budget.now(7200).is_whole
