"""Where lives are listed, and what most of them begin with."""

import copy
from collections.abc import Callable
from typing import Any

import yaml

from tests.acceptance.trainjobs import torch_runtime, trainjob
from tests.operators.build import TRAINER
from tests.operators.train_lives.world import World

Document = dict[str, Any]
Life = Callable[[World], None]

LIVES: dict[str, Life] = {}
"""Every life by its name."""

UNHOOKED: set[str] = set()
"""Those where no admission webhook of TrainJobs is asked."""


def life(function: Life) -> Life:
    """List a life."""
    LIVES[function.__name__.replace("_", "-")] = function
    return function


def unhooked(function: Life) -> Life:
    """List a life that no webhook of TrainJobs cuts short."""
    UNHOOKED.add(function.__name__.replace("_", "-"))
    return life(function)


def job(**spec: object) -> Document:
    """Return a TrainJob of the runtime `torch`."""
    document = trainjob("fit", "python", "train.py", runtime="torch")
    document["spec"] |= spec
    return document


def patch(manager: str = "acme.io/tests", **pod_spec: object) -> Document:
    """Return a runtimePatch of the Pods of `node`."""
    group = {"name": "node", "template": {"spec": {"template": {"spec": pod_spec}}}}
    spec = {"template": {"spec": {"replicatedJobs": [group]}}}
    return {"manager": manager, "trainingRuntimeSpec": spec}


def groups_of(runtime: Document) -> list[Document]:
    """Return the replicatedJobs of a runtime."""
    found: list[Document] = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    return found


def container_of(group: Document) -> Document:
    """Return the only container of a replicatedJob."""
    found: Document = group["template"]["spec"]["template"]["spec"]["containers"][0]
    return found


def two_groups(**jobset: object) -> Document:
    """Return a runtime with two groups: the second begins when the first has succeeded."""
    runtime = torch_runtime("torch", **jobset)
    groups = groups_of(runtime)
    first = copy.deepcopy(groups[0])
    first["name"] = "prepare"
    first["template"]["metadata"]["labels"] = {"step": "one"}
    groups.insert(0, first)
    groups[1]["dependsOn"] = [{"name": "prepare", "status": "Complete"}]
    return runtime


def two_groups_at_once(**jobset: object) -> Document:
    """Return the same, of which neither waits for the other."""
    runtime = two_groups(**jobset)
    del groups_of(runtime)[1]["dependsOn"]
    return runtime


def upstreams(name: str) -> Document:
    """Return the first of Trainer's own runtimes whose file or folder begins so."""
    folder = TRAINER.files() / "manifests" / "base" / "runtimes"
    places = (f"{name}*.yaml", f"{name}/torch*.yaml", f"{name}/*/*.yaml")
    (file, *_) = sorted(found for place in places for found in folder.glob(place))
    found: Document = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def begin(w: World, runtime: Document | None = None, **spec: object) -> None:
    """Make the runtime and the job."""
    w.runtime(runtime or torch_runtime("torch"))
    w.submit(job(**spec))
    w.settle("made")


def running(w: World, runtime: Document | None = None, **spec: object) -> None:
    """Have a job that runs."""
    begin(w, runtime, **spec)
    w.run()
    w.settle("runs")
