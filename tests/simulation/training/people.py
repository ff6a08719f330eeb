"""Users of TrainJobs in all shapes: created, edited rightly and wrongly, suspended, deleted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random

from jobledger.core.jobs.retries.job_deadline import JOB_DEADLINE_ANNOTATION
from jobledger.core.ports.cluster import JOBSETS, TRAINJOBS
from jobledger.core.trainjob.names import DATASET, NODE
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.instants import Instant, rfc3339
from tests.simulation.documents import Document
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import Move
from tests.simulation.oddities import ELSEWHERE
from tests.simulation.training.runtimes import (
    GANG,
    KINDS,
    MPI,
    NOWHERE,
    PIPELINE,
    TORCH,
    RuntimeKeepers,
)
from tests.simulation.users import NAMESPACE, SECRET

NAMES = ("fit", "distil", "rank")
RESERVED = [{"name": "PET_NNODES", "value": "9"}]
"""An environment that cannot be built from."""
RARE = 0.3
"""How often users think of what leaves a run with little to see."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
KUEUE, ACME = "kueue.x-k8s.io/manager", "acme.io/platform"
"""Who patches."""
OURS = "trainer.kubeflow.org/trainjob-controller"
RUNTIMES = ((TORCH, 30), (PIPELINE, 32), (MPI, 12), (GANG, 14), (NOWHERE, 4), ("", 3))
"""Name and weight; an empty name: a kind of runtime that nobody knows."""
Edit = Callable[[Document], object]
"""Changes a whole job."""


@dataclass
class TrainPeople:
    """Everybody who writes TrainJobs."""

    api: SimulatedApi
    dice: Random
    now: Callable[[], Instant]
    creations_left: int
    guarded: bool
    """Whether a webhook refuses edits that Trainer's does not take."""

    def __post_init__(self) -> None:
        self.keepers = RuntimeKeepers(self.api, self.dice)
        if self.creations_left:
            self.keepers.install_some()

    def possible(self) -> list[Move]:
        """Return what they may do next."""
        jobs = list(self.api.all(TRAINJOBS))
        if not jobs and not self.creations_left:
            return []
        moves = [*self.keepers.possible()]
        free = [name for name in NAMES if self.api.get(TRAINJOBS, NAMESPACE, name) is None]
        if free and self.creations_left:
            name = self.dice.choice(free)
            moves += [(f"create TrainJob {name}", partial(self._create, name))] * 4
        for job in jobs:
            moves += self._about(job)
        return moves

    def owed(self) -> list[Move]:
        """Return what somebody does in the end."""
        return self.keepers.owed()

    def _about(self, job: Manifest) -> Iterator[Move]:
        name = text(job, "metadata", "name")
        if self.dice.random() < RARE:
            yield f"delete TrainJob {name}", partial(self.api.delete, TRAINJOBS, NAMESPACE, name)
        edits = [*_edits(job, self.dice)]
        if not self.guarded or self._may_be_patched(job):
            edits += [*_patches(job, self.dice)]
        for what, edit in edits:
            yield f"{what} TrainJob {name}", partial(self._edit, name, edit)
        if text(job, "metadata", "labels", QUEUE_LABEL):
            yield from [*self._of_the_queue(job, name)] * 2
        elif self.dice.random() < RARE:
            yield f"flip TrainJob {name} three times", partial(self._flip, name)
        if any(number(one, "ready") for one in self._jobs_of(name)):
            percent = self.dice.choice((5, 50, 50, 99, 100))
            yield from [(f"{name} reports {percent} %", partial(self._report, name, percent))] * 12

    def _may_be_patched(self, job: Manifest) -> bool:
        """Return whether Trainer's webhook takes other patches of a job.

        Source: Trainer v2.3, jobset.go, checkRuntimePatchesImmutability.
        """
        active = self._jobs_of(text(job, "metadata", "name"))
        return _is_suspended(job) and not any(number(one, "active") for one in active)

    def _jobs_of(self, name: str) -> list[Json]:
        """Return what the JobSet of a TrainJob shows of its Jobs."""
        jobset = self.api.get(JOBSETS, NAMESPACE, name)
        return list(items(jobset or {}, "status", "replicatedJobsStatus"))

    def _of_the_queue(self, job: Manifest, name: str) -> Iterator[Move]:
        """Yield what Kueue does: it admits, evicts, and takes back what it has patched."""
        if not _is_suspended(job):
            yield f"the queue evicts {name}", partial(self._edit, name, _suspend)
            return
        flavor = self.dice.choice(("spot", "reserved"))
        if self.guarded and not self._may_be_patched(job):
            return
        yield f"the queue admits {name}", partial(self._edit, name, partial(_admit, flavor))
        if KUEUE in _managers(job):
            back = partial(_without_patch, KUEUE)
            yield f"the queue takes its patch from {name}", partial(self._edit, name, back)

    def _flip(self, name: str) -> None:
        for _ in range(3):
            self._edit(name, _toggle)

    def _edit(self, name: str, edit: Edit) -> None:
        found = self.api.get(TRAINJOBS, NAMESPACE, name)
        if found is None:
            return
        job: Document = {
            "metadata": {
                **child(found, "metadata"),
                "labels": {**child(found, "metadata", "labels")},
                "annotations": {**child(found, "metadata", "annotations")},
            },
            "spec": {**child(found, "spec")},
        }
        edit(job)
        self.api.replace(TRAINJOBS, job)

    def _report(self, name: str, percent: int) -> None:
        """Have the Pods' report shown, as the server of Trainer's that takes it does."""
        job = self.api.get(TRAINJOBS, NAMESPACE, name)
        if job is not None:
            told: Manifest = {"progressPercentage": percent, "lastUpdatedTime": rfc3339(self.now())}
            status = {**child(job, "status"), "trainerStatus": told}
            metadata = child(job, "metadata")
            self.api.replace(TRAINJOBS, {"metadata": metadata, "status": status}, "status")

    def _create(self, name: str) -> None:
        self.creations_left -= 1
        dice = self.dice
        runtime = dice.choices([one for one, _ in RUNTIMES], [weight for _, weight in RUNTIMES])[0]
        spec: Document = {"runtimeRef": _reference(runtime), "suspend": dice.random() < 0.35}
        if dice.random() < 0.85:
            spec["trainer"] = _trainer(dice)
        if dice.random() < (0.7 if runtime == PIPELINE else 0.06):
            spec["initializer"] = _initializer(dice)
        if dice.random() < 0.25:
            spec["activeDeadlineSeconds"] = dice.choice((15, 60, 300))
        if dice.random() < 0.25:
            spec["runtimePatches"] = [a_patch(ACME, dice)]
        if dice.random() < 0.1:
            spec["managedBy"] = dice.choice((OURS, ELSEWHERE))
        labels: Document = {QUEUE_LABEL: "team"} if dice.random() < 0.4 else {}
        annotations: Document = {}
        if dice.random() < 0.25:
            annotations[JOB_DEADLINE_ANNOTATION] = dice.choice(("40s", "90s", "soon"))
        head = {"apiVersion": TRAINJOBS.api_version, "kind": TRAINJOBS.kind}
        about: Document = {
            "name": name,
            "namespace": NAMESPACE,
            "labels": labels,
            "annotations": annotations,
        }
        self.api.create(TRAINJOBS, {**head, "metadata": about, "spec": spec})


def _reference(runtime: str) -> Document:
    if not runtime:
        return {"name": "flow", "kind": "TrainingWorkflow", "apiGroup": "acme.io"}
    kind = KINDS[runtime].kind
    return {"name": runtime, "kind": kind} if runtime != TORCH else {"name": runtime}


def _trainer(dice: Random) -> Document:
    trainer: Document = {"command": ["python", "train.py"]}
    trainer["env"] = [{"name": "WANDB_API_KEY", "value": SECRET}]
    if dice.random() < 0.7:
        trainer["numNodes"] = dice.choice((1, 2, 4))
    if dice.random() < 0.3:
        trainer["resourcesPerNode"] = {"limits": {"cpu": "1.50", "memory": "1Gi"}}
    if dice.random() < 0.08:
        trainer["env"] = RESERVED
    return trainer


def _initializer(dice: Random) -> Document:
    dataset = {"storageUri": "hf://data", "env": [{"name": "HF_TOKEN", "value": SECRET}]}
    given = {"dataset": dataset, "model": {"storageUri": "hf://model"}}
    return dice.choice((given, {"dataset": dataset}, {"model": given["model"]}))


PODS: tuple[Document, ...] = (
    {"nodeSelector": {"pool": "a100"}},
    {"nodeSelector": {"pool": "h100"}},
    {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
    {"schedulingGates": [{"name": "acme.io/quota"}]},
    {"affinity": {"nodeAffinity": {}}},
    {"containers": [{"name": "stranger"}]},
)
"""What is patched into Pods: the last but one a JobSet that is there never takes, the last none."""


def a_patch(manager: str, dice: Random, pod: Document | None = None) -> Document:
    """Return a patch of the Pods of a replicatedJob."""
    name = dice.choices((NODE, DATASET), (90, 10))[0] if pod is None else NODE
    changed = dice.choices(PODS, (30, 30, 20, 10, 5, 5))[0] if pod is None else pod
    template = {"spec": {"template": {"spec": changed}}}
    spec = {"replicatedJobs": [{"name": name, "template": template}]}
    return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": spec}}}


def _managers(job: Manifest) -> list[str]:
    return [text(one, "manager") for one in items(job, "spec", "runtimePatches")]


def _is_suspended(job: Manifest) -> bool:
    return child(job, "spec").get("suspend") is True


def _suspend(new: Document) -> None:
    new["spec"]["suspend"] = True


def _resume(new: Document) -> None:
    new["spec"]["suspend"] = False


def _toggle(new: Document) -> None:
    new["spec"]["suspend"] = not _is_suspended(new)


def _without_patch(manager: str, new: Document) -> None:
    found = items(new, "spec", "runtimePatches")
    left = [one for one in found if text(one, "manager") != manager]
    new["spec"]["runtimePatches"] = left
    if not left:
        del new["spec"]["runtimePatches"]


def _with_patch(patch: Document, new: Document) -> None:
    found = items(new, "spec", "runtimePatches")
    others = [one for one in found if text(one, "manager") != patch["manager"]]
    new["spec"]["runtimePatches"] = [*others, patch]


def _admit(flavor: str, new: Document) -> None:
    pod = {"nodeSelector": {"flavor": flavor}}
    template = {"spec": {"template": {"spec": pod}}}
    spec = {"replicatedJobs": [{"name": NODE, "template": template}]}
    patch = {"manager": KUEUE, "trainingRuntimeSpec": {"template": {"spec": spec}}}
    _with_patch(patch, new)
    _resume(new)


def _take(field: str, new: Document) -> None:
    new["spec"].pop(field, None)


def _give(field: str, value: object, new: Document) -> None:
    new["spec"][field] = value


def _annotate(value: str, new: Document) -> None:
    new["metadata"]["annotations"].pop(JOB_DEADLINE_ANNOTATION, None)
    if value:
        new["metadata"]["annotations"][JOB_DEADLINE_ANNOTATION] = value


def _edits(job: Manifest, dice: Random) -> Iterator[tuple[str, Edit]]:
    """Yield what the definition of a TrainJob lets be changed: words, and the change itself."""
    spec = child(job, "spec")
    if not text(job, "metadata", "labels", QUEUE_LABEL):
        what = "resume" if _is_suspended(job) else "suspend"
        yield from [(what, _toggle)] * 2
    for field, more in (
        ("activeDeadlineSeconds", dice.choice((5, 60, 300))),
        ("trainer", _trainer(dice)),
        ("initializer", _initializer(dice)),
    ):
        if field in spec:
            yield f"take {field} from", partial(_take, field)
        elif dice.random() < RARE:
            yield f"give {field} to", partial(_give, field, more)
    if dice.random() >= RARE:
        return
    deadline = dice.choice(("", "20s", "120s", "soon"))
    yield f"ask for the deadline {deadline or 'none'} of", partial(_annotate, deadline)
    round_of = str(dice.randrange(100))
    yield "label", lambda new: new["metadata"]["labels"].update(round=round_of)


def _patches(job: Manifest, dice: Random) -> Iterator[tuple[str, Edit]]:
    """Yield other patches: of a job that runs, they are what no webhook would take."""
    patch = a_patch(ACME, dice)
    when = "" if _is_suspended(job) else " and run"
    yield f"patch{when}", partial(_with_patch, patch)
    if ACME in _managers(job):
        yield f"unpatch{when}", partial(_without_patch, ACME)

    def both(new: Document) -> None:
        _with_patch(patch, new)
        _toggle(new)

    yield ("patch and resume" if _is_suspended(job) else "patch and suspend"), both
