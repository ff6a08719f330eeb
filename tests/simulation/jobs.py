"""The jobs of all kinds, and how one is put back as it was."""

from collections.abc import Iterator

from jobledger.core.ports.cluster import BATCH_JOBS, RAYJOBS, TRAINJOBS, Resource
from jobledger.core.values.documents import Manifest, child
from tests.simulation.batch_users import is_given, users_jobs
from tests.simulation.kubernetes import SimulatedApi

RESTORED = ("name", "namespace", "labels", "annotations", "finalizers")


def is_job(resource: Resource, item: Manifest) -> bool:
    """Return whether an object is a user's job, and not made for one."""
    return resource in (RAYJOBS, TRAINJOBS) or (resource is BATCH_JOBS and is_given(item))


def jobs_of(api: SimulatedApi) -> Iterator[tuple[Resource, Manifest]]:
    """Yield the jobs of all users, with their kinds."""
    for of in (RAYJOBS, TRAINJOBS):
        yield from ((of, job) for job in api.all(of))
    yield from ((BATCH_JOBS, job) for job in users_jobs(api))


def restore(api: SimulatedApi, resource: Resource, job: Manifest) -> Manifest:
    """Make a job anew as it was, its status included; what was made for it is not."""
    kept = {key: child(job, "metadata").get(key) for key in RESTORED}
    made = api.create(resource, {**job, "metadata": kept})
    if status := child(job, "status"):
        api.overwrite(resource, made, status)
    return made
