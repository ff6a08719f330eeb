"""No batch Job gets at an object that is not its own, on a real API server, by the whole service.

All that is made for a Job is the Job of an attempt. Its name follows from the UID of the user's
Job, which whoever may see that Job knows.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jobledger.core.batchjob.names import MANAGED_BY, attempt_job_name
from jobledger.core.ports.cluster import BATCH_JOBS, Resource
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.ids import StreamId
from tests.adapters.real_api.strangers import SECRET, StrangersWorld, accepted, path_of
from tests.adapters.real_api.whose import WHOSE, owners_of
from tests.support.api import eventually, own_namespace
from tests.support.apiserver import ApiServer

pytestmark = pytest.mark.apiserver

Document = dict[str, Any]
JOBS = path_of(BATCH_JOBS)


@pytest.fixture
def world(api_server: ApiServer) -> Iterator[StrangersWorld]:
    """A namespace, and the service, which controls Jobs as well."""
    admin = api_server.api()
    with own_namespace(admin) as api:
        yield StrangersWorld(server=api_server, api=api, kinds=("RayJob", "Job"))
    admin.pool.clear()


def a_job(*, retries: int = 0, deadline: int = 30, **spec: object) -> Document:
    """Return a Job as the tenant writes it."""
    containers = [{"name": "main", "image": "etl:1"}]
    return {
        "apiVersion": BATCH_JOBS.api_version,
        "kind": BATCH_JOBS.kind,
        "metadata": {
            "name": "etl",
            "annotations": {
                "jobledger.dev/backoff-limit": str(retries),
                "jobledger.dev/job-deadline-seconds": str(deadline),
            },
        },
        "spec": {
            "managedBy": MANAGED_BY,
            "template": {"spec": {"restartPolicy": "Never", "containers": containers}},
            **spec,
        },
    }


def name_of(job: Manifest, attempt: int = 1) -> str:
    """Return what the Job of an attempt is called."""
    metadata = child(job, "metadata")
    return attempt_job_name(text(metadata, "name"), text(metadata, "uid"), attempt)


def foreign(world: StrangersWorld, job: Manifest, owners: list[Document] | None = None) -> Manifest:
    """Have the stranger create a Job of the name that the attempt needs."""
    env = [{"name": "PASSWORD", "value": SECRET}]
    containers = [{"name": "theirs", "image": "busybox", "env": env}]
    pod = {"spec": {"restartPolicy": "Never", "containers": containers}}
    spec = {"managedBy": "example.com/nobody", "template": pod}
    metadata = {"name": name_of(job), "ownerReferences": owners or []}
    return world.place(BATCH_JOBS, {"metadata": metadata, "spec": spec})


def refusal(world: StrangersWorld, job: Manifest, whose: str) -> str:
    """Return the sentence that says whose name is in the way."""
    return f"Job {world.api.namespace}/{name_of(job)} is in the way: {whose}"


def over(world: StrangersWorld, job: Manifest, stream: StreamId, reason: str) -> None:
    """Let time pass until the job has failed and nothing is left to do."""
    world.pass_time(60)
    world.run(lambda: bool(world.condition_of(job, "Failed")), "the end")
    assert world.condition_of(job, "Failed")["reason"] == reason
    world.run(lambda: world.is_over(stream), "everything to be done")


@pytest.mark.parametrize("case", WHOSE)
def test_what_is_not_its_own_is_left_alone_until_after_the_deadline(
    world: StrangersWorld, case: str
) -> None:
    job, stream = world.submit(BATCH_JOBS, a_job(retries=3))
    before = foreign(world, job, owners_of(case, world.api, job))
    world.run(lambda: refusal(world, job, WHOSE[case]) in world.explained(stream), "the refusal")
    over(world, job, stream, "DeadlineExceeded")
    assert world.now(BATCH_JOBS, name_of(job)) == before
    assert SECRET not in world.everything_told(job, stream)


def test_an_indexed_job_with_the_longest_name_is_run(world: StrangersWorld) -> None:
    indexed = a_job(completionMode="Indexed", completions=100_000, parallelism=10)
    indexed["metadata"]["name"] = "x" * 57  # with an index, as long as a host name may be
    job, stream = world.submit(BATCH_JOBS, indexed)
    world.run(lambda: bool(world.now(BATCH_JOBS, name_of(job))), "the Job of its first attempt")
    assert "refused" not in world.explained(stream)


def test_the_job_goes_on_by_itself_once_the_name_is_free(world: StrangersWorld) -> None:
    job, stream = world.submit(BATCH_JOBS, a_job(deadline=86_400))
    foreign(world, job)
    world.run(lambda: refusal(world, job, "nobody") in world.explained(stream), "the refusal")
    events = len(world.store.read_stream(stream))
    world.pass_time(3600)
    assert len(world.store.read_stream(stream)) - events < 60, "each try waits longer"
    assert SECRET not in world.everything_told(job, stream)
    world.remove(BATCH_JOBS, name_of(job))
    eventually(lambda: not world.now(BATCH_JOBS, name_of(job)), "the name is free")
    world.pass_time(400)
    world.run(lambda: bool(world.now(BATCH_JOBS, name_of(job))), "its own")
    (owner,) = items(world.now(BATCH_JOBS, name_of(job)), "metadata", "ownerReferences")
    assert text(owner, "uid") == text(job, "metadata", "uid")


def test_what_is_made_between_look_and_act_is_left_alone(world: StrangersWorld) -> None:
    job, stream = world.submit(BATCH_JOBS, a_job())
    made: list[Manifest] = []

    def before(verb: str, of: Resource, called: str) -> None:
        if (verb, of, called) == ("create", BATCH_JOBS, name_of(job)) and not made:
            made.append(foreign(world, job))

    world.polled.before = before
    world.run(lambda: refusal(world, job, "nobody") in world.explained(stream), "the refusal")
    over(world, job, stream, "DeadlineExceeded")
    assert world.now(BATCH_JOBS, name_of(job)) == made[0]
    assert SECRET not in world.everything_told(job, stream)


def replaced(world: StrangersWorld, job: Manifest, verb: str) -> Callable[[], Manifest]:
    """Have its Job deleted and made again by the stranger, right before the next such write."""
    made: list[Manifest] = []

    def before(sent: str, of: Resource, called: str) -> None:
        if (sent, of, called) == (verb, BATCH_JOBS, name_of(job)) and not made:
            world.api.delete(JOBS, called, propagationPolicy="Background")
            eventually(lambda: not world.now(BATCH_JOBS, called), "it is gone")
            made.append(foreign(world, job))

    world.polled.before = before
    return lambda: made[0]


def test_what_took_the_place_of_its_job_is_not_deleted(world: StrangersWorld) -> None:
    job, stream = world.submit(BATCH_JOBS, a_job())
    world.run(lambda: bool(world.now(BATCH_JOBS, name_of(job))), "the Job of the attempt")
    made = replaced(world, job, "delete")
    over(world, job, stream, "DeadlineExceeded")
    assert world.now(BATCH_JOBS, name_of(job)) == made()
    assert SECRET not in world.everything_told(job, stream)


def test_what_took_the_place_of_its_job_is_not_suspended(world: StrangersWorld) -> None:
    job, stream = world.submit(BATCH_JOBS, a_job())
    world.run(lambda: bool(world.now(BATCH_JOBS, name_of(job))), "the Job of the attempt")
    made = replaced(world, job, "patch")
    accepted(world.api.merge(JOBS, "etl", {"spec": {"suspend": True}}))
    world.polled.is_stale = True
    world.run(
        lambda: "went before" in world.explained(stream) or bool(world.condition_of(job, "Failed")),
        "that it went is told",
    )
    assert world.now(BATCH_JOBS, name_of(job)) == made()
    assert SECRET not in world.everything_told(job, stream)


def test_a_job_that_was_left_behind_is_nobodys_and_the_next_of_the_name_runs_beside_it(
    world: StrangersWorld,
) -> None:
    """Its name follows from the UID of a Job that is gone, so it is in nobody's way."""
    first, _ = world.submit(BATCH_JOBS, a_job())
    world.run(lambda: bool(world.now(BATCH_JOBS, name_of(first))), "the Job of the attempt")
    world.tenant.delete(JOBS, "etl", propagationPolicy="Orphan")
    eventually(lambda: not world.now(BATCH_JOBS, "etl"), "the user's Job is gone")
    left = world.now(BATCH_JOBS, name_of(first))
    assert not items(left, "metadata", "ownerReferences")
    world.polled.is_stale = True
    second, stream = world.submit(BATCH_JOBS, a_job())
    world.run(lambda: bool(world.now(BATCH_JOBS, name_of(second))), "the Job of its attempt")
    over(world, second, stream, "DeadlineExceeded")
    assert world.now(BATCH_JOBS, name_of(first)) == left


def test_a_job_that_is_a_users_and_has_the_name_of_an_attempt_is_in_the_way(
    world: StrangersWorld,
) -> None:
    """One that names the user's Job as its controller, and is given to this controller itself."""
    job, stream = world.submit(BATCH_JOBS, a_job(retries=3))
    reference = owners_of("its owner reference", world.api, job)[0] | {"controller": True}
    spec = a_job()["spec"]
    metadata = {"name": name_of(job), "ownerReferences": [reference]}
    world.place(BATCH_JOBS, {"metadata": metadata, "spec": spec})
    told = f"Job {world.api.namespace}/{name_of(job)} is in the way"
    world.run(lambda: told in world.explained(stream), "the refusal")
    world.pass_time(60)
    world.run(lambda: bool(world.condition_of(job, "Failed")), "the end")
    assert world.now(BATCH_JOBS, name_of(job)), "a job of ours, and no attempt"
