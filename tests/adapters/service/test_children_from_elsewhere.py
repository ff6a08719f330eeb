"""An object in another namespace, or owned as by a job of another kind, is no job's.

An API server takes any owner reference: also one with the UID of a job elsewhere, under its kind or
another, until the garbage collector sees it. Whoever may create objects in one namespace must not
speak by them to the jobs of another, nor poison what a job of another kind is told.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from jobledger.adapters.service.observing.mapper import identify
from jobledger.core.batchjob.names import attempt_job_name
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    JOBSETS,
    PODS,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINJOBS,
    Resource,
)
from jobledger.core.rayjob.names import cluster_name, submitter_name
from jobledger.core.values.documents import Json, Manifest, child, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.support.job_world import a_job
from tests.support.service_world import DOOR, ServiceWorld
from tests.support.train_world import TrainWorld, a_trainjob

PLANTED = "xK9-planted-by-a-stranger"
ENDED_AT = "2026-11-21T12:30:00Z"
LOOKS = 60
"""So many steps everybody has after something was forged."""
LABELS: Manifest = {"app.kubernetes.io/created-by": "kuberay-operator", "ray.io/node-type": "head"}
"""By which submitters and heads are watched."""
KINDS = ("RayJob", "TrainJob", "Job")


class AllKinds(TrainWorld):
    """A service that controls every kind of job; nothing that it makes goes on by itself."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.cluster.disconnect()
        self.job_kinds, self.jobsets.holds, self.plane.holds = KINDS, True, True
        self.install_runtime()
        self.service = self.start_service()

    @property
    def poisoned(self) -> float:
        """How many observations could not be taken in."""
        metrics = self.service.metrics.registry
        return metrics.get_sample_value("jobledger_poisoned_observations_total") or 0


@dataclass(frozen=True)
class Child:
    """What is made for a job, as somebody else could make it."""

    owner: Resource
    job: Callable[[], Manifest]
    resource: Resource
    name: Callable[[str, str], str]
    """Returns what the job's own is called, of the job's name and UID."""
    status: Manifest

    def forged(self, job: Manifest, namespace: str, kind: Resource) -> Manifest:
        """Return one of the job's own name, which is owned by it as by a job of some kind."""
        name, uid = (text(job, "metadata", key) for key in ("name", "uid"))
        owner: Json = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "name": name,
            "uid": uid,
            "controller": True,
        }
        container: Json = {"name": "c", "image": "i", "env": [{"name": "TOKEN", "value": PLANTED}]}
        pod: Json = {"spec": {"containers": [container], "restartPolicy": "Never"}}
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {
                "name": self.name(name, uid),
                "namespace": namespace,
                "generation": 1,
                "ownerReferences": [owner],
                "labels": LABELS,
            },
            "spec": {"template": pod, "headGroupSpec": {"template": pod}},
            "status": self.status,
        }


def _ended(kind: str) -> Json:
    return [{"type": kind, "status": "True", "reason": "As", "lastTransitionTime": ENDED_AT}]


CHILDREN = {
    "RayCluster": Child(
        RAYJOBS,
        a_rayjob,
        RAYCLUSTERS,
        lambda name, uid: cluster_name(name, uid, 1),
        {"state": "ready", "head": {"serviceName": "theirs", "podIP": "10.0.0.1"}},
    ),
    "submitter": Child(
        RAYJOBS,
        lambda: a_rayjob(submissionMode="K8sJobMode"),
        BATCH_JOBS,
        lambda name, _: submitter_name(name),
        {"failed": 1, "conditions": _ended("Failed")},
    ),
    "JobSet": Child(
        TRAINJOBS, a_trainjob, JOBSETS, lambda name, _: name, {"conditions": _ended("Completed")}
    ),
    "attempt's Job": Child(
        BATCH_JOBS,
        a_job,
        BATCH_JOBS,
        lambda name, uid: attempt_job_name(name, uid, 1),
        {"succeeded": 1, "conditions": _ended("Complete")},
    ),
}


def events(world: ServiceWorld, stream: StreamId) -> list[str]:
    return [item.record.type for item in world.store.read_stream(stream)]


def given(world: AllKinds, made: Manifest) -> StreamId:
    """Let a job run as far as it goes by itself; return its stream."""
    stream = identify(DOOR.cluster, made).stream_id
    step(world)
    return stream


def step(world: AllKinds) -> None:
    for _ in range(LOOKS):
        world.step()


@pytest.mark.parametrize("part", CHILDREN.values(), ids=list(CHILDREN))
@pytest.mark.parametrize("is_first", [False, True], ids=["after its own", "before its own"])
def test_what_is_in_another_namespace_tells_a_job_nothing(part: Child, is_first: bool) -> None:
    world, untouched = AllKinds(), AllKinds()
    expected = events(untouched, given(untouched, untouched.cluster.create(part.owner, part.job())))
    job = world.cluster.create(part.owner, part.job())
    if not is_first:
        given(world, job)
    world.cluster.plant(part.resource, part.forged(job, "strangers", part.owner))
    stream = given(world, job)
    assert events(world, stream) == expected
    assert world.poisoned == 0
    known = world.service.live.job(text(job, "metadata", "uid"))
    assert known is not None
    assert PLANTED not in known.secrets, "strangers could hide all that the job says"
    assert known.redactor.text(f"it said {PLANTED}", 100) == f"it said {PLANTED}"


OF_KIND: Mapping[Resource, Callable[[], Manifest]] = {
    RAYJOBS: a_rayjob,
    TRAINJOBS: a_trainjob,
    BATCH_JOBS: a_job,
}
ELSE = [(part, other) for part in CHILDREN for other in OF_KIND if CHILDREN[part].owner != other]


@pytest.mark.parametrize(("part", "other"), ELSE, ids=lambda one: getattr(one, "kind", one))
def test_what_is_owned_as_by_a_job_of_another_kind_tells_a_job_nothing(
    part: str, other: Resource
) -> None:
    """The UID is the job's, the kind of the owner reference is that of another kind of job."""
    world, what = AllKinds(), CHILDREN[part]
    job = world.cluster.create(other, OF_KIND[other]())
    stream = given(world, job)
    before = events(world, stream)
    forged = what.forged(job, "ml", what.owner)
    name = text(forged, "metadata", "name") + "-2"
    metadata = {**child(forged, "metadata"), "name": name}
    world.cluster.plant(what.resource, {**forged, "metadata": metadata})
    step(world)
    if world.cluster.get(what.resource, "ml", name) is not None:
        world.cluster.delete(what.resource, "ml", name)
    step(world)
    assert events(world, stream) == before
    assert world.poisoned == 0


def test_a_pod_of_another_namespace_is_no_head_of_a_raycluster() -> None:
    world, part = AllKinds(), CHILDREN["RayCluster"]
    job = world.cluster.create(RAYJOBS, a_rayjob())
    stream = given(world, job)
    (cluster,) = world.cluster.peek(RAYCLUSTERS)
    before = events(world, stream)
    pod = part.forged(cluster, "strangers", RAYCLUSTERS)
    status: Manifest = {"phase": "Failed", "reason": "Evicted", "message": PLANTED}
    metadata = {**child(pod, "metadata"), "name": "head"}
    whole = {**pod, "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status}
    world.cluster.plant(PODS, whole)
    step(world)
    assert events(world, stream) == before


def test_a_submitter_that_somebody_deletes_is_missed_though_jobs_are_watched_twice() -> None:
    """Jobs of attempts are watched too: what one watch hears first the other hears as well."""
    world = AllKinds()
    world.cluster.disconnect()
    world.job_kinds = ("Job", "RayJob")  # so the watch of Jobs is told first
    world.service = world.start_service()
    job = world.cluster.create(RAYJOBS, a_rayjob(submissionMode="K8sJobMode"))
    stream = given(world, job)
    name = submitter_name(text(job, "metadata", "name"))
    before = world.clock.monotonic()
    world.cluster.delete(BATCH_JOBS, "ml", name)
    step(world)
    assert "SubmitterVanished" in events(world, stream)
    assert world.clock.monotonic() - before < 1, "nobody had to look around for it"
