"""Each effect of each kind of job beside each answer of the API server: what is told, and the end.

Given a job whose effect is answered so for five minutes, when the API server is well again, then
the job comes to where it would have; meanwhile the log has the outcome, and whoever describes the
job a Kubernetes Event. What is refused waits, what may pass is tried again: alike for every kind.
Only of a TrainJob's objects it is told after a few tries, since its condition Created says so then.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, cast

import pytest

from jobledger.adapters.service.effects.carrying_out import QUICK_TRIES_MAX
from jobledger.core.catalogue import read_event
from jobledger.core.errors import (
    ClusterUnreachable,
    ObjectChanged,
    ObjectExists,
    RequestForbidden,
    RequestInvalid,
    RequestThrottled,
)
from jobledger.core.jobs.events import EffectFailed, EffectFaltered
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.ports.cluster import BATCH_JOBS, CORE_EVENTS, RAYJOBS, Cluster, Resource
from jobledger.core.values.documents import child, items, text
from jobledger.core.values.ids import StreamId
from tests.adapters.service.parts import a_rayjob
from tests.support.job_world import JobWorld, a_job
from tests.support.service_world import Ports, ServiceWorld
from tests.support.train_world import TrainWorld

ILL_FROM, ILL_UNTIL, END = 20.0, 320.0, 800.0
"""Seconds in which the answers come, and until when the job must have ended."""
EDIT_AT = 30.0
IDLE_SECONDS = 2.0
LATER_SECONDS = 45.0

Judged: TypeAlias = Literal["refused", "tried again"]
pytestmark = pytest.mark.faults

ANSWERS: dict[str, tuple[Exception, Judged]] = {
    "403": (RequestForbidden("403 Forbidden"), "refused"),
    "422 or 413": (RequestInvalid("422 Invalid"), "refused"),
    "409, changed": (ObjectChanged("409 Conflict"), "tried again"),
    "409, exists": (ObjectExists("409 AlreadyExists"), "tried again"),
    "429": (RequestThrottled("429 TooManyRequests", LATER_SECONDS), "tried again"),
    "500, 503 or no answer": (ClusterUnreachable("500 InternalError"), "tried again"),
}
LOST = "the answer is lost"
"""Of what the API server has done: the next try finds it done."""


class Ill(ServiceWorld):
    """A world in which one sort of call is answered so for a while."""

    concerns: Callable[[str, str, str], bool]
    answer: Exception | None
    """None: it is done, and its answer is lost."""
    hits: list[float]

    def __post_init__(self) -> None:
        self.hits, self.concerns, self.answer = [], lambda *_: False, None
        super().__post_init__()

    def _ports(self) -> Ports:
        ports = super()._ports()
        return replace(ports, cluster=cast(Cluster, _Door(ports.cluster, self)))


class _Door:
    def __init__(self, cluster: Cluster, world: Ill) -> None:
        self._cluster, self._world = cluster, world

    def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 whatever the port has
        method, world = getattr(self._cluster, verb), self._world

        def call(*args: Any, **more: Any) -> Any:  # noqa: ANN401
            now = world.clock.monotonic()
            resource = args[0] if args and isinstance(args[0], Resource) else None
            called = verb, resource.kind if resource else "", str(more.get("subresource", ""))
            if not (ILL_FROM <= now < ILL_UNTIL and world.concerns(*called)):
                return method(*args, **more)
            world.hits.append(now)
            if world.answer is not None:
                raise world.answer
            method(*args, **more)
            raise ClusterUnreachable("no answer in time")

        return call


class IllTrains(Ill, TrainWorld):
    """RayJobs and TrainJobs."""


class IllJobs(Ill, JobWorld):
    """Jobs."""


Edit: TypeAlias = Callable[[ServiceWorld], None]


def edited(resource: Resource, name: str, **change: Any) -> Edit:  # noqa: ANN401 any JSON
    def edit(world: ServiceWorld) -> None:
        spec = child(world.cluster.get(resource, "ml", name), "spec")
        world.cluster.edit(resource, "ml", name, spec={**spec, **change})

    return edit


def deleted(resource: Resource, name: str) -> Edit:
    return lambda world: world.cluster.delete(resource, "ml", name)


def nothing(world: ServiceWorld) -> None:
    del world


@dataclass(frozen=True, kw_only=True)
class Row:
    """Given such a job and an edit after half a minute, when this effect is answered so."""

    what: str
    kind: Literal["RayJob", "TrainJob", "Job"]
    effect: EffectKind
    concerns: tuple[str, str]
    """Verb and kind of the request."""
    spec: dict[str, Any] = field(default_factory=dict)
    holds: bool = True
    """Whether what is made runs until somebody ends it; else it succeeds at once."""
    edit: Edit = nothing
    told: str
    """Reason of the Kubernetes Event."""
    ends: Callable[[ServiceWorld], bool]
    """Whether the job has come to where it would have without the illness."""


def _ray(world: ServiceWorld) -> str:
    return text(world.cluster.get(RAYJOBS, "ml", "train"), "status", "jobDeploymentStatus")


def _is(resource: Resource, name: str, kind: str) -> Callable[[ServiceWorld], bool]:
    return lambda world: any(
        (text(one, "type"), text(one, "status")) == (kind, "True")
        for one in items(world.cluster.get(resource, "ml", name), "status", "conditions")
    )


def _jobset_suspended(world: ServiceWorld) -> bool:
    assert isinstance(world, TrainWorld)
    return child(world.jobset, "spec").get("suspend") is True


def _jobset_gone(world: ServiceWorld) -> bool:
    assert isinstance(world, TrainWorld)
    return not world.jobset


def _attempt_suspended(world: ServiceWorld) -> bool:
    assert isinstance(world, JobWorld)
    return [child(one, "spec").get("suspend") for one in world.attempts()] == [True]


def _attempt_runs(world: ServiceWorld) -> bool:
    assert isinstance(world, JobWorld)
    return [child(one, "spec").get("suspend", False) for one in world.attempts()] == [False]


def _rayjob_gone(world: ServiceWorld) -> bool:
    return world.cluster.get(RAYJOBS, "ml", "train") is None


SHUTS_DOWN = {"shutdownAfterJobFinishes": True}
SELF = {"policy": "DeleteSelf", "condition": {"jobStatus": "SUCCEEDED", "ttlSeconds": 30}}
SUSPENDED = {"suspend": True}
RESUMED = {"suspend": False}
RAY_SUSPENDED, JOB_SUSPENDED = SHUTS_DOWN | SUSPENDED, SUSPENDED
RESUMES_RAY = edited(RAYJOBS, "train", **RESUMED)
ROWS = [
    Row(
        what="a RayCluster is made",
        kind="RayJob",
        effect=EffectKind.CREATE_CLUSTER,
        concerns=("create", "RayCluster"),
        spec=RAY_SUSPENDED,
        edit=RESUMES_RAY,
        told="FailedToCreateRayCluster",
        ends=lambda world: _ray(world) == "Running",
    ),
    Row(
        what="a submitter is made",
        kind="RayJob",
        effect=EffectKind.CREATE_SUBMITTER,
        concerns=("create", "Job"),
        spec=RAY_SUSPENDED,
        edit=RESUMES_RAY,
        told="FailedToCreateRayJobSubmitter",
        ends=lambda world: _ray(world) == "Running",
    ),
    Row(
        what="the RayCluster of a job that is suspended is deleted",
        kind="RayJob",
        effect=EffectKind.DELETE_CLUSTER,
        concerns=("delete", "RayCluster"),
        spec=SHUTS_DOWN,
        edit=edited(RAYJOBS, "train", suspend=True),
        told="FailedToDeleteRayCluster",
        ends=lambda world: _ray(world) == "Suspended",
    ),
    Row(
        what="its submitter is deleted",
        kind="RayJob",
        effect=EffectKind.DELETE_SUBMITTER,
        concerns=("delete", "Job"),
        spec=SHUTS_DOWN,
        edit=edited(RAYJOBS, "train", suspend=True),
        told="FailedToDeleteRayJobSubmitter",
        ends=lambda world: _ray(world) == "Suspended",
    ),
    Row(
        what="a RayJob deletes itself",
        kind="RayJob",
        effect=EffectKind.DELETE_JOB,
        concerns=("delete", "RayJob"),
        spec={"deletionStrategy": {"deletionRules": [SELF]}},
        holds=False,
        told="FailedToDeleteRayJob",
        ends=_rayjob_gone,
    ),
    Row(
        what="the finalizer of a RayJob is removed",
        kind="RayJob",
        effect=EffectKind.REMOVE_FINALIZER,
        concerns=("merge_patch", "RayJob"),
        edit=deleted(RAYJOBS, "train"),
        told="FailedToUpdateRayJob",
        ends=_rayjob_gone,
    ),
    Row(
        what="the objects of a TrainJob are made",
        kind="TrainJob",
        effect=EffectKind.APPLY_OBJECTS,
        concerns=("apply", "JobSet"),
        spec=SUSPENDED,
        edit=lambda world: cast(TrainWorld, world).change(suspend=False),
        told="TrainJobResourcesCreationFailed",
        ends=lambda world: not _jobset_suspended(world) and not _jobset_gone(world),
    ),
    Row(
        what="a TrainJob is suspended",
        kind="TrainJob",
        effect=EffectKind.APPLY_OBJECTS,
        concerns=("apply", "JobSet"),
        edit=lambda world: cast(TrainWorld, world).change(suspend=True),
        told="TrainJobResourcesCreationFailed",
        ends=_jobset_suspended,
    ),
    Row(
        what="the JobSet goes after the deadline",
        kind="TrainJob",
        effect=EffectKind.DELETE_JOBSET,
        concerns=("delete", "JobSet"),
        spec={"activeDeadlineSeconds": 25},
        told="JobSetDeletionFailed",
        ends=_jobset_gone,
    ),
    Row(
        what="the Job of an attempt is made",
        kind="Job",
        effect=EffectKind.CREATE_ATTEMPT_JOB,
        concerns=("create", "Job"),
        spec=JOB_SUSPENDED,
        edit=edited(BATCH_JOBS, "etl", suspend=False),
        told="FailedCreate",
        ends=_attempt_runs,
    ),
    Row(
        what="it is suspended",
        kind="Job",
        effect=EffectKind.SUSPEND_ATTEMPT_JOB,
        concerns=("merge_patch", "Job"),
        edit=edited(BATCH_JOBS, "etl", suspend=True),
        told="FailedSuspend",
        ends=_attempt_suspended,
    ),
    Row(
        what="it goes after the deadline over all attempts",
        kind="Job",
        effect=EffectKind.DELETE_ATTEMPT_JOB,
        concerns=("delete", "Job"),
        told="FailedDelete",
        ends=_is(BATCH_JOBS, "etl", "Failed"),
    ),
]
CASES = [
    pytest.param(row, answer, id=f"{row.what}: {answer}")
    for row in ROWS
    for answer in (*ANSWERS, LOST)
]


def a_world(row: Row) -> tuple[Ill, StreamId]:
    """Return a world with the job of a row."""
    if row.kind == "Job":
        jobs = IllJobs()
        jobs.holds = True
        job = a_job(**row.spec)
        if row.effect is EffectKind.DELETE_ATTEMPT_JOB:
            job["metadata"]["annotations"]["jobledger.dev/job-deadline-seconds"] = "25"
        return jobs, jobs.give(job)
    world = IllTrains()
    world.plane.holds = world.jobsets.holds = row.holds
    if row.kind == "RayJob":
        return world, world.create(a_rayjob(**row.spec))
    world.install_runtime()
    return world, world.train(**row.spec)


def live(world: Ill, row: Row) -> None:
    """Let time pass until the end, with the edit of a row on its way."""
    is_edited = False
    while world.clock.monotonic() < END:
        if not is_edited and world.clock.monotonic() >= EDIT_AT:
            is_edited = True
            row.edit(world)
        if not world.step():
            world.clock.advance(IDLE_SECONDS)


@pytest.mark.parametrize(("row", "answer"), CASES)
def test_what_an_effect_meets_is_told_and_the_job_ends_all_the_same(row: Row, answer: str) -> None:
    world, stream = a_world(row)
    error, judged = ANSWERS.get(answer, (None, "tried again"))
    world.answer, world.concerns = error, lambda *called: called == (*row.concerns, "")
    live(world, row)
    assert row.ends(world), "it has come to where it was going"
    assert world.hits, "it was tried while the API server was ill"
    events = [read_event(item.record) for item in world.store.read_stream(stream)]
    failed = [one for one in events if isinstance(one, EffectFailed) and one.kind is row.effect]
    wavered = [one for one in events if isinstance(one, EffectFaltered) and one.kind is row.effect]
    assert bool(wavered) is (judged == "tried again")
    is_quick = row.effect is EffectKind.APPLY_OBJECTS and judged == "tried again"
    assert bool(failed) is (
        judged == "refused" or (is_quick and len(world.hits) >= QUICK_TRIES_MAX)
    )
    if failed or not is_quick:
        assert row.told in {text(one, "reason") for one in world.cluster.peek(CORE_EVENTS)}
    if isinstance(error, RequestThrottled) and not failed:
        pauses = [later - before for before, later in itertools.pairwise(world.hits)]
        assert min(pauses) >= LATER_SECONDS
