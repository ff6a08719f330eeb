"""The lives of a TrainJob that bring steps of their own, told for the whole service in memory."""

from collections.abc import Callable, Mapping

from jobledger.core.jobs.retries.job_deadline import JOB_DEADLINE_ANNOTATION
from jobledger.core.values.documents import child, items
from jobledger.core.values.ids import StreamId
from tests.adapters.service.stories import is_let_go
from tests.support.crash_points import Fuse
from tests.support.train_world import TrainWorld

Story = Callable[..., tuple[TrainWorld, StreamId]]


def suspension_story(fuse: Fuse | None = None) -> tuple[TrainWorld, StreamId]:
    """Be born suspended, be resumed, be suspended while it runs, be resumed, and complete."""
    world = TrainWorld(fuse=fuse or Fuse())
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train(suspend=True)
    world.run(lambda: _has(world, "suspended"), "the suspension")
    world.change(suspend=False)
    world.run(lambda: _has(world, "ready"), "the job to run")
    world.change(suspend=True)
    world.run(lambda: _has(world, "suspended"), "the second suspension")
    world.jobsets.holds = False
    world.change(suspend=False)
    world.run(lambda: is_let_go(world, stream), "the job to be over")
    return world, stream


def _has(world: TrainWorld, count: str) -> bool:
    """Return whether users see a Job that is so."""
    found = items(world.trainjob, "status", "jobsStatus")
    return bool(found) and child(found[0]).get(count) == 1


def deadline_story(fuse: Fuse | None = None) -> tuple[TrainWorld, StreamId]:
    """Run into the deadline."""
    world = TrainWorld(fuse=fuse or Fuse())
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train(activeDeadlineSeconds=8)
    world.run(lambda: world.is_so("Failed")() and is_let_go(world, stream), "the end")
    return world, stream


def job_deadline_story(fuse: Fuse | None = None) -> tuple[TrainWorld, StreamId]:
    """Run into the deadline over all attempts."""
    world = TrainWorld(fuse=fuse or Fuse())
    world.jobsets.holds = True
    world.install_runtime()
    stream = world.train(annotations={JOB_DEADLINE_ANNOTATION: "8s"})
    world.run(lambda: world.is_so("Failed")() and is_let_go(world, stream), "the end")
    return world, stream


TRAIN_LIVES: Mapping[str, Story] = {
    "suspension": suspension_story,
    "deadline": deadline_story,
    "deadline over all attempts": job_deadline_story,
}
"""Each with a fuse, or none; together they bring about every effect of a TrainJob."""
