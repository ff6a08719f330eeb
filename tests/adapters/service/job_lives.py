"""Lives of a batch Job that bring about every effect of its kind."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from jobledger.core.ports.cluster import BATCH_JOBS
from jobledger.core.values.documents import child
from tests.support.crash_points import Fuse
from tests.support.job_world import JobWorld, a_job

Life: TypeAlias = Callable[[Fuse | None], JobWorld]


def retried(fuse: Fuse | None = None) -> JobWorld:
    """Fail once, be retried on a new Job, and complete."""
    world = JobWorld(fuse=fuse or Fuse())
    world.ends = ["Failed"]
    world.give(a_job(retries=1))
    world.run(lambda: world.condition("Complete") != "", "the job is complete")
    return world


def suspended(fuse: Fuse | None = None) -> JobWorld:
    """Be suspended while it runs, be resumed, and complete."""
    world = JobWorld(fuse=fuse or Fuse())
    world.holds = True
    world.give(a_job())
    world.run(lambda: child(world.etl, "status").get("ready") == 1, "its Pod is ready")
    spec = dict(child(world.etl, "spec"))
    world.cluster.edit(BATCH_JOBS, "ml", "etl", spec={**spec, "suspend": True})
    world.run(lambda: world.condition("Suspended") != "", "it says that it is suspended")
    world.cluster.edit(BATCH_JOBS, "ml", "etl", spec={**spec, "suspend": False})
    world.holds = False
    world.run(lambda: world.condition("Complete") != "", "the job is complete")
    return world


JOB_LIVES: Mapping[str, Life] = {"retried": retried, "suspended": suspended}
"""Each with a fuse, or none."""
