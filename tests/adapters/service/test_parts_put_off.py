"""What belongs to jobs is looked through for secrets within a budget of bytes, as jobs are.

Whoever may edit a RayCluster, JobSet, runtime or ConfigMap may do so without end, and each look at
a large one takes half a second of the thread that hears of jobs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

import pytest
import yaml

from jobledger.adapters.kinds.batchjob.watched import BatchJobListener
from jobledger.adapters.kinds.rayjob.watching.listeners import ChildListener
from jobledger.adapters.kinds.trainjob.watching import listeners
from jobledger.adapters.kinds.trainjob.watching.listeners import DependentListener, RuntimeListener
from jobledger.adapters.service.loop.slowing import Slowing
from jobledger.adapters.service.objects import declared_secrets, kept_children
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.job_listener import JobListener
from jobledger.core.batchjob.names import MANAGED_BY, attempt_job_name
from jobledger.core.jobs.budget import EDITS_AT_ONCE
from jobledger.core.log.redaction.redact import secrets_in
from jobledger.core.ports.cluster import ObjectListener
from jobledger.core.trainjob.names import SNAPSHOT_KEY, snapshot_name
from jobledger.core.values.documents import Json, Manifest, child
from tests.adapters.service.owned import controller
from tests.adapters.service.parts import Bench
from tests.rules.rayjob.jobs import rayjob, selecting
from tests.support.records import NOON
from tests.support.train_world import a_trainjob

PADDING = "x" * 200_000
EDITS = 30
LOOKS_MAX = EDITS_AT_ONCE // len(PADDING) + 2
LAST = "xK9-planted-in-the-last-of-all"
MINUTE = 60.0

Made = Callable[[int, Json], Manifest]
"""Returns the part in its n-th form, with this environment."""


def pod(env: Json) -> Manifest:
    return {"spec": {"containers": [{"name": "main", "image": "x", "env": env}]}}


def metadata(name: str, number: int, owner: Manifest | None = None) -> Manifest:
    made: Manifest = {
        "name": name,
        "namespace": "ml",
        "uid": f"uid-of-{name}",
        "resourceVersion": str(100 + number),
        "generation": number,
        "annotations": {"padding": PADDING},
    }
    return {**made, "ownerReferences": [controller(owner)]} if owner is not None else made


def a_job(manifest: Manifest, name: str) -> Manifest:
    shown = {**metadata(name, 1), "uid": "job-uid", "resourceVersion": "3", "annotations": {}}
    return {**manifest, "metadata": shown}


RAY = a_job(
    {**selecting({"spec.clusterSelector": {"ray.io/cluster": "shared"}}), "kind": "RayJob"}, "ray"
)
OWNING = a_job({**rayjob(), "apiVersion": "ray.io/v1", "kind": "RayJob"}, "ray")
TRAIN = a_job(a_trainjob(), "train")
BATCH = a_job(
    {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "spec": {"managedBy": MANAGED_BY, "template": pod([])},
    },
    "etl",
)


def raycluster(number: int, env: Json) -> Manifest:
    return {"metadata": metadata("shared", number), "spec": {"headGroupSpec": pod(env)}}


def submitter(number: int, env: Json) -> Manifest:
    return {"metadata": metadata("sub", number, OWNING), "spec": {"template": pod(env)}}


def attempt(number: int, env: Json) -> Manifest:
    name = attempt_job_name("etl", "job-uid", 1)
    return {"metadata": metadata(name, number, BATCH), "spec": {"template": pod(env)}}


def jobset(number: int, env: Json) -> Manifest:
    return {"metadata": metadata("train", number, TRAIN), "spec": {"jobs": [pod(env)]}}


def runtime(number: int, env: Json) -> Manifest:
    about = {**metadata("torch", number), "namespace": ""}
    replicated: Json = [{"name": "node", "template": {"spec": {"template": pod(env)}}}]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": about,
        "spec": {"template": {"spec": {"replicatedJobs": replicated}}},
    }


def snapshot(number: int, env: Json) -> Manifest:
    about = metadata(snapshot_name("train"), number, TRAIN)
    counted = {key: value for key, value in about.items() if key != "generation"}
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the pure one takes 0.1 s for each
    held = yaml.dump(runtime(1, env), Dumper=dumper)
    return {"kind": "ConfigMap", "metadata": counted, "data": {SNAPSHOT_KEY: held}}


@dataclass(frozen=True)
class Case:
    """A part of a job, who takes it in, and the job."""

    made: Made
    listener: Callable[[EventHandlers], ObjectListener]
    job: Manifest


CASES = {
    "RayCluster": Case(raycluster, lambda around: ChildListener(around, "RayCluster"), RAY),
    "submitter": Case(submitter, lambda around: ChildListener(around, "Job"), OWNING),
    "Job of an attempt": Case(attempt, BatchJobListener, BATCH),
    "JobSet": Case(jobset, lambda around: DependentListener(around, "JobSet"), TRAIN),
    "snapshot": Case(snapshot, lambda around: DependentListener(around, "ConfigMap"), TRAIN),
    "runtime": Case(
        runtime, lambda around: RuntimeListener(around, "ClusterTrainingRuntime"), TRAIN
    ),
}


@dataclass
class Scene:
    """A part that is edited, and every look through it for secrets."""

    case: Case
    bench: Bench = field(default_factory=Bench)
    looks: int = 0
    """Of the part; the job itself has none of its padding."""

    def __post_init__(self) -> None:
        slowing = Slowing(self.bench.clock, self.bench.metrics, 200)
        self.slowing = slowing
        self.around = replace(
            self.bench.around,
            has_to_wait=lambda stream, later, is_edit, part: slowing.has_to_wait(
                stream, later, is_edit=is_edit, part=part
            ),
            looked_through=slowing.looked_through,
        )
        self.listener = self.case.listener(self.around)

    def see_job(self) -> None:
        kind = str(self.case.job["kind"])
        JobListener(self.around, kind).seen(self.case.job, NOON)

    def edit(self, number: int, secret: str = "") -> None:
        env: Json = [{"name": "STORE_PASSWORD", "value": secret or f"xK9-planted-{number:03}"}]
        self.listener.seen(self.case.made(number, env), NOON)

    def hides(self, secret: str) -> bool:
        job = self.bench.live.job("job-uid")
        assert job is not None
        return secret not in job.redactor.text(f"cannot log in with {secret}!", 1000)


@pytest.fixture(params=list(CASES.values()), ids=list(CASES))
def scene(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Scene:
    made = Scene(cast("Case", request.param))

    def counted(manifest: Manifest, runtime_env: Json) -> frozenset[str]:
        found = secrets_in(manifest, runtime_env)
        if found and child(manifest, "metadata").get("uid") != "job-uid":
            made.looks += 1
        return found

    for module in (declared_secrets, kept_children, listeners):
        monkeypatch.setattr(module, "secrets_in", counted)
    return made


def test_of_the_edits_of_a_large_part_few_are_looked_through(scene: Scene) -> None:
    scene.see_job()
    for number in range(1, EDITS):
        scene.edit(number)
    assert scene.looks <= LOOKS_MAX
    scene.edit(EDITS, LAST)
    assert scene.around.waiting
    scene.bench.clock.advance(MINUTE)
    scene.slowing.admit([])
    assert scene.looks <= LOOKS_MAX + 1
    assert scene.hides(LAST), "the last edit is the one that is taken in"
    assert scene.around.waiting == {}


def test_what_no_job_needs_is_not_looked_through(scene: Scene) -> None:
    for number in range(1, EDITS):
        scene.edit(number)
    scene.edit(EDITS, LAST)
    assert scene.looks == 0
    scene.see_job()
    assert scene.looks == 0, "nobody has said anything of the job"
    assert scene.hides(LAST)
    assert scene.looks == 1


def test_a_part_that_goes_while_an_edit_of_it_is_put_off_stays_gone(scene: Scene) -> None:
    scene.see_job()
    for number in range(1, EDITS):
        scene.edit(number)
    scene.listener.gone(scene.case.made(EDITS, []), NOON)
    assert scene.around.waiting == {}
    before = scene.looks
    scene.bench.clock.advance(MINUTE)
    scene.slowing.admit([])
    assert scene.looks == before


COUNTED = {name: case for name, case in CASES.items() if name not in ("snapshot", "runtime")}
"""Parts whose generation tells the order of their forms."""


@pytest.mark.parametrize("scene", COUNTED.values(), ids=COUNTED.keys(), indirect=True)
def test_a_late_look_at_it_takes_nothing_from_an_edit_that_was_put_off(scene: Scene) -> None:
    """As an answer that was on its way: it tells of the form that is known."""
    scene.see_job()
    for number in range(1, EDITS):
        scene.edit(number)
    scene.edit(EDITS, LAST)
    known = scene.looks
    scene.edit(known)
    scene.bench.clock.advance(MINUTE)
    scene.slowing.admit([])
    assert scene.hides(LAST)
