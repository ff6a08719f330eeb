"""Lives whose steps are drawn by a seed, and what their runtimes and jobs ask for."""

import copy
import random
from collections.abc import Callable, Mapping, Sequence

from tests.acceptance.trainjobs import CLUSTER_RUNTIMES, RUNTIMES, torch_runtime
from tests.acceptance.witness import JOBSETS, TRAINJOBS
from tests.operators.train_lives import nodes
from tests.operators.train_lives.cases.table import (
    Document,
    Life,
    container_of,
    groups_of,
    job,
    patch,
    two_groups,
    upstreams,
)
from tests.operators.train_lives.world import World
from tests.support.api import CONFIGMAPS, JOBS, PODS
from tests.upstream.changing import Change
from tests.upstream.runtime_changes import RUNTIME_CHANGES
from tests.upstream.trainjob_changes import JOB_CHANGES

LENGTH = 7


def _place(w: World) -> str:
    """Return the path of the runtime of a life's job."""
    reference = w.api.get(TRAINJOBS, "fit").body["spec"]["runtimeRef"]
    if reference["kind"] == "TrainingRuntime":
        return w.api.path(RUNTIMES, reference["name"])
    return f"{CLUSTER_RUNTIMES}/{reference['name']}"


def _change_runtime(w: World) -> None:
    """Give the runtime another image, which a job with a snapshot never has."""
    found = w.api.request("GET", _place(w))
    if found.code == 200:  # OK
        container_of(groups_of(found.body)[0])["image"] = "changed:1"
        w.keep(w.api.request("PUT", _place(w), found.body))


def _delete_a_pod(w: World) -> None:
    for name in sorted(pod["metadata"]["name"] for pod in nodes.pods(w.api))[:1]:
        w.delete(PODS, name)


def _delete_a_job(w: World) -> None:
    """Delete the first of the JobSet's Jobs, unless all is over."""
    jobset = w.api.get(JOBSETS, "fit")
    names = sorted(one["metadata"]["name"] for one in w.api.list(JOBS).body["items"])
    if jobset.code == 200 and "terminalState" not in (jobset.body.get("status") or {}):  # OK
        for name in names[:1]:
            w.delete(JOBS, name)


def _anew(w: World) -> None:
    """Delete the TrainJob, and make the same once nothing is left of it."""
    document = w.api.get(TRAINJOBS, "fit").body
    w.delete(TRAINJOBS, "fit")
    w.settle("gone")
    w.submit({**document, "metadata": {"name": "fit"}, "status": None})


def _metadata(**metadata: Document) -> Document:
    """Return a runtimePatch of the labels and annotations of the JobSet."""
    spec = {"template": {"metadata": metadata}}
    return {"manager": "acme.io/labels", "trainingRuntimeSpec": spec}


TOLERATIONS = [{"key": "x", "operator": "Exists"}]

STEPS: dict[str, Callable[[World], object]] = {
    "run": lambda w: nodes.run(w.api),
    "end": lambda w: w.end(),
    "fail": lambda w: w.end(fails=True),
    "suspend": lambda w: w.change(suspend=True),
    "resume": lambda w: w.change(suspend=False),
    "delete-jobset": lambda w: w.delete(JOBSETS, "fit"),
    "delete-snapshot": lambda w: w.delete(CONFIGMAPS, "fit-runtime-snapshot"),
    "delete-runtime": lambda w: w.keep(w.api.request("DELETE", _place(w))),
    "change-runtime": _change_runtime,
    "delete-a-pod": _delete_a_pod,
    "delete-a-job": _delete_a_job,
    "anew": _anew,
    "patch": lambda w: w.change(runtimePatches=[patch(nodeSelector={"a": "b"})]),
    "patch-twice": lambda w: w.change(
        runtimePatches=[
            patch(tolerations=TOLERATIONS),
            patch("acme.io/more", nodeSelector={"g": "h"}),
        ]
    ),
    "patch-labels": lambda w: w.change(
        runtimePatches=[_metadata(labels={"i": "j"}, annotations={"k": "l"})]
    ),
    "no-patch": lambda w: w.change(runtimePatches=None),
    "suspend-and-patch": lambda w: w.change(
        suspend=True, runtimePatches=[patch(nodeSelector={"c": "d"})]
    ),
    "resume-and-patch": lambda w: w.change(
        suspend=False, runtimePatches=[patch(nodeSelector={"e": "f"})]
    ),
    "relabel": lambda w: w.label(TRAINJOBS, "fit", {"a": "b"}),
    "annotate": lambda w: w.merge(TRAINJOBS, "fit", {"metadata": {"annotations": {"a": "b"}}}),
}
OFTEN = ("run", "run", "suspend", "resume")

OF_UPSTREAM = ("data-cache", "deepspeed", "jax", "mlx", "torch_", "torchtune", "xgboost")
"""Runtimes of Trainer's own."""
UNCLAIMED = ("suspend", "suspend-and-patch", "anew")
"""Steps of jobs without volume claims, which nobody here lets go."""
INITIALIZER = {
    "dataset": {"storageUri": "hf://some/data", "secretRef": {"name": "token"}},
    "model": {"storageUri": "hf://some/model", "env": [{"name": "A", "value": "b"}]},
}
CLUSTER = "ClusterTrainingRuntime"
MANAGERS = ("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue")

NOT_IN_RUNTIMES = ("ttl", "ports-without-name", "suspended-template", "replicas-", "no-policy")
NOT_IN_JOBS = (
    *("trainer-empty", "nodes-0", "nodes-below", "processes-0", "less-than", "memory-beyond"),
    *("gpus-be", "cpus-be", "suspend", "deadline", "name-", "requests-only"),
)
"""Beginnings of changes that are steps here, that no life comes of, or that have a line of the page
of differences."""


def is_hooked(seed: int) -> bool:
    """Return whether webhooks are asked in the life of a seed: in every other one."""
    return seed % 2 == 0


def drawn(seed: int) -> Life:
    """Return the life of a seed.

    Where webhooks are asked the runtime stays, as Trainer's refuse all changes without it; where it
    may go the snapshot stays, as nothing can be built without both. A life ends once its job has
    failed, which Trainer 2.3 takes back; a job whose JobSet has volume claims is not suspended,
    which Trainer cannot: all four stand in docs/differences.md.
    """
    steps = [*STEPS, *OFTEN]
    for one in ("delete-runtime", "change-runtime") if is_hooked(seed) else ("delete-snapshot",):
        steps.remove(one)

    def lived(w: World) -> None:
        dice = random.Random(seed)
        runtime = _runtime(dice)
        if runtime["metadata"]["name"] == "torch" and dice.random() < 0.25:
            runtime["kind"], runtime["metadata"]["name"] = CLUSTER, w.api.namespace
        w.runtime(runtime)
        possible = [one for one in steps if not (_has_claims(runtime) and one in UNCLAIMED)]
        document = _job(dice, runtime, may_be_refused=is_hooked(seed))
        w.submit(document)
        w.settle("made")
        if w.api.get(TRAINJOBS, "fit").code != 200:  # it was refused
            return
        for number in range(LENGTH):
            name = dice.choice(possible)
            STEPS[name](w)
            w.settle(f"{number} {name}")
            if w.has_failed():
                return
        w.change(suspend=False)
        w.settle("resumed at last")

    return lived


def _has_claims(runtime: Document) -> bool:
    return "volumeClaimPolicies" in runtime["spec"]["template"]["spec"]


def _job(dice: random.Random, runtime: Document, *, may_be_refused: bool) -> Document:
    """Return a job of a runtime; without webhooks what would be refused is built as it is."""
    document = job(suspend=dice.random() < 0.3 and not _has_claims(runtime))
    name = runtime["metadata"]["name"]
    document["spec"]["runtimeRef"] = {"kind": runtime["kind"], "name": name}
    if name.startswith("torchtune") and dice.random() < 0.5:
        document["spec"]["initializer"] = copy.deepcopy(INITIALIZER)
    if dice.random() < 0.15:
        document["spec"]["managedBy"] = dice.choice(MANAGERS)
    if may_be_refused:
        _change(dice, document, JOB_CHANGES, NOT_IN_JOBS)
    if "xgboost" in (runtime["spec"].get("mlPolicy") or {}):  # its order is fixed here
        (document["spec"].get("trainer") or {}).pop("env", None)
    return document


def _runtime(dice: random.Random) -> Document:
    """Return a runtime: a small one, or one of Trainer's own with some changes."""
    restarts = dice.choice([0, 0, 1, 5])
    policy = {"failurePolicy": {"maxRestarts": restarts}} if restarts else {}
    if dice.random() < 0.4:
        runtime = two_groups(**policy) if dice.random() < 0.3 else torch_runtime("torch", **policy)
        if dice.random() < 0.3:
            kind = dice.choice(["jax", "xgboost"])
            runtime["spec"]["mlPolicy"] = {"numNodes": 2, kind: {}}
        return runtime
    runtime = upstreams(dice.choice(OF_UPSTREAM))
    runtime["kind"] = "TrainingRuntime"
    spec = runtime["spec"]["template"]["spec"]
    if "volumeClaimPolicies" not in spec:
        runtime["metadata"]["name"] = "torch"  # torchtune's say which model is trained
    elif dice.random() < 0.3:
        del spec["volumeClaimPolicies"]
    for group in groups_of(runtime):
        group["template"]["spec"]["backoffLimit"] = 0
        group["template"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
        if "volumeClaimPolicies" not in spec:
            volumes = [{"name": "initializer", "emptyDir": {}}]
            group["template"]["spec"]["template"]["spec"]["volumes"] = volumes
    spec |= policy
    _change(dice, runtime, RUNTIME_CHANGES, NOT_IN_RUNTIMES)
    return runtime


def _change(
    dice: random.Random,
    document: Document,
    changes: Mapping[str, Sequence[Change]],
    but: tuple[str, ...],
) -> None:
    """Make some changes of a document."""
    names = [name for name in changes if not name.startswith(but)]
    for name in dice.sample(names, dice.choice((0, 1, 1, 2))):
        for change in changes[name]:
            change(document)
