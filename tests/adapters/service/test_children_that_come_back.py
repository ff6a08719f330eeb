"""An etcd that is restored shows what runs jobs again, though the log knows that it has gone."""

from collections.abc import Callable
from functools import partial

import pytest

from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, RAYCLUSTERS
from jobledger.core.values.documents import text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import HTTP
from tests.adapters.service.test_generations_that_go_back import how, lose, replayed, settle, told
from tests.support.job_world import JobWorld, a_job
from tests.support.service_world import ServiceWorld
from tests.support.train_world import TrainWorld


def step_until(world: ServiceWorld, condition: Callable[[], bool]) -> None:
    """Take steps until the condition holds, and no more."""
    while not condition():
        if not world.step():
            world.clock.advance(0.5)


def fail_once(stream: StreamId, world: ServiceWorld) -> None:
    """Let the first attempt of a RayJob fail, and the second run."""
    world.exit_codes.append(1)
    world.plane.holds = False
    step_until(world, lambda: "RetryGranted" in told(world, stream))
    world.plane.holds = True
    world.run(lambda: _runs(world), "the second attempt to run")


def fail_job_once(stream: StreamId, world: JobWorld) -> None:
    """Let the first attempt of a Job fail, and the second begin."""
    world.ends.append("Failed")
    world.holds = False
    step_until(world, lambda: "BatchRetryGranted" in told(world, stream))
    world.holds = True
    world.run(lambda: told(world, stream).count("BatchAttemptStarted") == 2, "the second")
    settle(world)


@how
def test_a_raycluster_of_an_earlier_attempt_goes_again(*, anew: bool) -> None:
    world = ServiceWorld()
    world.plane.holds = True
    stream = world.create(a_rayjob(submissionMode=HTTP, backoffLimit=5))
    world.run(lambda: world.phase("train") == "Running", "the first attempt to run")
    (first,) = world.cluster.list(RAYCLUSTERS).items

    lose(world, partial(fail_once, stream), anew=anew)
    world.run(lambda: _runs(world) and len(world.cluster.list(RAYCLUSTERS).items) == 1, "one")
    (now,) = world.cluster.list(RAYCLUSTERS).items
    assert text(now, "metadata", "uid") != text(first, "metadata", "uid")
    world.plane.holds = False
    world.run(lambda: world.phase("train") == "Complete", "the end")
    assert replayed(world, stream) == ((), ())


@how
@pytest.mark.parametrize("shutdown", [False, True], ids=["", "shut down"])
def test_so_it_does_of_a_job_that_ends_by_the_restore(*, shutdown: bool, anew: bool) -> None:
    """Its last RayCluster is gone then; and nobody looks around for a job that has ended."""
    world = ServiceWorld()
    world.plane.holds = True
    spec = a_rayjob(submissionMode=HTTP, backoffLimit=1, shutdownAfterJobFinishes=shutdown)
    stream = world.create(spec)
    world.run(lambda: _runs(world), "the first attempt to run")

    lose(world, partial(fail_once, stream), anew=anew)
    world.run(lambda: world.phase("train") == "Failed", "the end")
    world.run(lambda: not world.cluster.list(RAYCLUSTERS).items, "all to be gone")
    assert replayed(world, stream) == ((), ())


def _runs(world: ServiceWorld) -> bool:
    return world.phase("train") == "Running"


@how
def test_the_job_of_an_earlier_attempt_goes_again(*, anew: bool) -> None:
    world = JobWorld()
    world.holds = True
    stream = world.give(a_job(retries=5))
    world.run(lambda: bool(world.attempts()), "the first attempt")
    (first,) = world.attempts()

    lose(world, partial(fail_job_once, stream), anew=anew)
    for _ in range(3):
        settle(world)
    names = [text(one, "metadata", "name") for one in world.attempts()]
    assert len(names) == 1
    assert text(first, "metadata", "name") not in names
    assert {text(one, "metadata", "name") for one in world.cluster.list(BATCH_JOBS).items} > {
        *names
    }
    world.holds = False
    world.run(lambda: "BatchJobCompleted" in told(world, stream), "the end")
    assert replayed(world, stream) == ((), ())


@how
def test_so_it_does_where_no_attempt_is_left(*, anew: bool) -> None:
    world = JobWorld()
    world.holds = True
    stream = world.give(a_job(retries=1))
    world.run(lambda: bool(world.attempts()), "the first attempt")

    lose(world, partial(fail_job_once, stream), anew=anew)
    world.run(lambda: "BatchJobFailed" in told(world, stream), "the end")
    world.run(lambda: not world.attempts(), "all to be gone")
    assert replayed(world, stream) == ((), ())


@how
def test_a_jobset_is_its_jobs_again(*, anew: bool) -> None:
    world = TrainWorld()
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train()
    world.run(lambda: "TrainAttemptStarted" in world.told(stream), "the job to run")
    before = text(world.jobset, "metadata", "uid")

    def made_again(world: TrainWorld) -> None:
        world.cluster.delete(JOBSETS, "ml", "train")
        world.run(
            lambda: text(world.jobset, "metadata", "uid") not in ("", before), "another JobSet"
        )

    lose(world, made_again, anew=anew)
    assert text(world.jobset, "metadata", "uid") == before
    settled = len(world.told(stream))
    settle(world)
    assert len(world.told(stream)) == settled
    world.jobsets.holds = False
    world.run(world.is_so("Complete"), "the end")
    assert replayed(world, stream) == ((), ())
