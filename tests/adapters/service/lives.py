"""The lives of a RayJob that the demo shows, and how each one ended, to be compared.

Every life is a story for the whole service in memory; the fuse of its world may let the process die
anywhere in it.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.job_deadline import JOB_DEADLINE_ANNOTATION
from jobledger.core.ports.cluster import KUBERNETES_EVENTS, RAYCLUSTERS
from jobledger.core.rayjob.manifests.gang_scheduling import VOLCANO
from jobledger.core.rayjob.spec.installation import Installation
from jobledger.core.values.documents import child, items, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.adapters.service.stories import (
    HTTP,
    K8S,
    assert_whole,
    created,
    deletion_story,
    is_let_go,
    is_over,
    retry_story,
    suspension_story,
)
from tests.rules.rayjob.jobs import CLUSTER_SPEC
from tests.support.crash_points import Fuse
from tests.support.life_ends import End, announced, end_in
from tests.support.service_world import DOOR, ServiceWorld

Story = Callable[[str, Fuse | None], tuple[ServiceWorld, StreamId]]


def exhausted_story(mode: str, fuse: Fuse | None = None) -> tuple[ServiceWorld, StreamId]:
    """Fail once more than `backoffLimit` allows."""
    world = ServiceWorld(fuse=fuse or Fuse(), exit_codes=[137, 137])
    stream = world.create(
        a_rayjob(submissionMode=mode, backoffLimit=1, shutdownAfterJobFinishes=True)
    )
    world.run(lambda: is_over(world, stream), "the job to have failed for good")
    return world, stream


def deadline_story(mode: str, fuse: Fuse | None = None) -> tuple[ServiceWorld, StreamId]:
    """Run past the active deadline, which is not retried."""
    world = ServiceWorld(fuse=fuse or Fuse())
    world.plane.holds = True
    manifest = a_rayjob(
        submissionMode=mode,
        backoffLimit=3,
        activeDeadlineSeconds=8,
        shutdownAfterJobFinishes=True,
    )
    stream = world.create(manifest)
    world.run(lambda: is_over(world, stream), "the deadline to have passed")
    return world, stream


def job_deadline_story(mode: str, fuse: Fuse | None = None) -> tuple[ServiceWorld, StreamId]:
    """Fail, and pass the deadline over all attempts in the pause before the next one."""
    world = ServiceWorld(fuse=fuse or Fuse(), exit_codes=[1])
    manifest = a_rayjob(submissionMode=mode, backoffLimit=3, shutdownAfterJobFinishes=True)
    manifest["metadata"]["annotations"] = {
        JOB_DEADLINE_ANNOTATION: "20s",
        "jobledger.dev/retry-delay-seconds": "1h",
    }
    stream = world.create(manifest)
    world.run(lambda: is_over(world, stream), "the deadline to have passed")
    return world, stream


def same_cluster_story(mode: str, fuse: Fuse | None = None) -> tuple[ServiceWorld, StreamId]:
    """Fail twice and succeed on the RayCluster of the first attempt."""
    world = ServiceWorld(fuse=fuse or Fuse(), exit_codes=[1, 1, 0])
    manifest = a_rayjob(submissionMode=mode, backoffLimit=2, shutdownAfterJobFinishes=True)
    manifest["metadata"]["annotations"] = {"jobledger.dev/retry-on": "same-cluster"}
    stream = world.create(manifest)
    world.run(lambda: is_over(world, stream), "the job to be over")
    return world, stream


def invalid_story(mode: str, fuse: Fuse | None = None) -> tuple[ServiceWorld, StreamId]:
    """Be refused, and be told so in the status."""
    world = ServiceWorld(fuse=fuse or Fuse())
    stream = world.create(a_rayjob(submissionMode=mode, backoffLimit=-1))
    world.run(lambda: world.phase("train") == "ValidationFailed", "the job to be refused")
    return world, stream


def succession_story(mode: str, fuse: Fuse | None = None) -> tuple[ServiceWorld, StreamId]:
    """Run, be taken over by another process of the same replica, and succeed."""
    world = ServiceWorld(fuse=fuse or Fuse())
    world.plane.holds = True
    stream = world.create(a_rayjob(submissionMode=mode, shutdownAfterJobFinishes=True))
    world.run(lambda: world.phase("train") == "Running", "the job to run")
    world.restart()
    world.plane.holds = False
    world.run(lambda: is_over(world, stream), "the job to be over and cleaned up")
    return world, stream


def selecting_story(mode: str, fuse: Fuse | None = None) -> tuple[ServiceWorld, StreamId]:
    """Wait for a RayCluster that somebody else makes, run on it, and leave it to them."""
    world = ServiceWorld(fuse=fuse or Fuse())
    shared = {"apiVersion": RAYCLUSTERS.api_version, "kind": RAYCLUSTERS.kind}
    place = {"name": "shared", "namespace": "ml"}
    manifest = a_rayjob(submissionMode=mode, clusterSelector={"ray.io/cluster": "shared"})
    del manifest["spec"]["rayClusterSpec"]
    stream = world.create(manifest)
    world.run(lambda: world.phase("train") == "Initializing", "the job to look for its RayCluster")
    world.cluster.create(RAYCLUSTERS, {**shared, "metadata": place, "spec": CLUSTER_SPEC})
    world.run(lambda: world.phase("train") == "Complete", "the job to succeed")
    assert world.cluster.get(RAYCLUSTERS, "ml", "shared"), "it is not the job's to delete"
    world.cluster.delete(RAYCLUSTERS, "ml", "shared")
    world.run(lambda: is_over(world, stream), "the job to be let go")
    return world, stream


def workers_story(mode: str, fuse: Fuse | None = None) -> tuple[ServiceWorld, StreamId]:
    """Succeed, and let the workers of the RayCluster go."""
    world = ServiceWorld(fuse=fuse or Fuse())
    stream = world.create(
        a_rayjob(submissionMode=mode, deletionStrategy=after_success("DeleteWorkers"))
    )

    def is_without_workers() -> bool:
        made = world.cluster.peek(RAYCLUSTERS)
        return (
            bool(made)
            and child(items(made[0], "spec", "workerGroupSpecs")[0]).get("suspend") is True
        )

    world.run(lambda: world.phase("train") == "Complete", "the job to succeed")
    world.run(is_without_workers, "the workers to go")
    assert len(world.cluster.list(RAYCLUSTERS).items) == 1
    (made,) = world.cluster.peek(RAYCLUSTERS)
    world.cluster.delete(RAYCLUSTERS, "ml", text(made, "metadata", "name"))
    world.run(lambda: is_over(world, stream), "the job to be let go")
    return world, stream


def self_story(mode: str, fuse: Fuse | None = None) -> tuple[ServiceWorld, StreamId]:
    """Succeed, and delete itself."""
    world = ServiceWorld(fuse=fuse or Fuse())
    manifest = a_rayjob(submissionMode=mode, deletionStrategy=after_success("DeleteSelf"))
    stream = world.create(manifest)
    world.run(lambda: not world.job("train") and is_let_go(world, stream), "the job to be gone")
    return world, stream


def gang_story(mode: str, fuse: Fuse | None = None) -> tuple[ServiceWorld, StreamId]:
    """Succeed where Volcano places the Pods."""
    mapper = replace(DOOR, policy=Policy(batch_scheduler=VOLCANO)).knowing(
        Installation(batch_scheduler=VOLCANO)
    )
    world = ServiceWorld(fuse=fuse or Fuse(), mapper=mapper)
    manifest = a_rayjob(submissionMode=mode, shutdownAfterJobFinishes=True)
    manifest["metadata"]["labels"] = {"ray.io/gang-scheduling-enabled": "true"}
    stream = world.create(manifest)
    world.run(lambda: is_over(world, stream), "the job to be over and cleaned up")
    return world, stream


def after_success(policy: str) -> dict[str, object]:
    """Return a deletionStrategy."""
    return {"onSuccess": {"policy": policy}, "onFailure": {"policy": "DeleteNone"}}


LIVES: Mapping[str, Story] = {
    "retried to success": retry_story,
    "exhausted": exhausted_story,
    "past its deadline": deadline_story,
    "past the deadline over all attempts": job_deadline_story,
    "retried on the same RayCluster": same_cluster_story,
    "suspended and resumed": suspension_story,
    "invalid": invalid_story,
    "deleted": deletion_story,
    "taken over": succession_story,
    "on a RayCluster of others": selecting_story,
    "with workers that go": workers_story,
    "that deletes itself": self_story,
    "placed by Volcano": gang_story,
}
"""Every life that the demo shows, and those that bring steps of their own."""

MODES_OF_SUBMISSION = (K8S, HTTP)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a life ended and what it took; the same whatever happened to the controller."""

    end: End
    clusters: int
    """How many were ever created."""
    submitters: int
    runs: int
    """How often the entrypoint was run."""


def outcome_of(world: ServiceWorld, stream: StreamId) -> Outcome:
    """Return how a life ended, after asserting that nothing is doubled, leaked or lost."""
    assert_whole(world, stream)
    assert_told_once(world, stream)
    return outcome_in(world, stream)


def outcome_in(world: ServiceWorld, stream: StreamId) -> Outcome:
    """Return how a life ended."""
    return Outcome(
        end=end_in(world, stream),
        clusters=created(world, "rayclusters"),
        submitters=created(world, "jobs"),
        runs=len(world.plane.runs),
    )


def assert_told_once(world: ServiceWorld, stream: StreamId) -> None:
    """Assert that users were told what follows from the log: all of it, or less after a death."""
    told = Counter(
        (text(item, "reason"), text(item, "note"))
        for item in world.cluster.list(KUBERNETES_EVENTS).items
    )
    expected = announced(world, stream)
    assert told <= expected, told - expected
    assert world.deaths or told == expected
