"""The runtimes that TrainJobs name, and whoever edits, breaks, deletes and makes them again."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from jobledger.core.ports.cluster import (
    CLUSTER_TRAINING_RUNTIMES,
    TRAINING_RUNTIMES,
    TRAINJOBS,
    Resource,
)
from jobledger.core.trainjob.building.runtime_validation import runtime_problems
from jobledger.core.trainjob.names import ANCESTOR_LABEL, DATASET, LAUNCHER, MODEL, NODE, TRAINER
from jobledger.core.values.documents import Manifest, child, text
from tests.simulation.documents import Document
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import Move
from tests.simulation.users import NAMESPACE, SECRET

TORCH, PIPELINE, MPI, GANG, NOWHERE = "torch", "pipeline", "mpi", "gang", "nowhere"
KINDS = {
    TORCH: CLUSTER_TRAINING_RUNTIMES,
    PIPELINE: TRAINING_RUNTIMES,
    MPI: CLUSTER_TRAINING_RUNTIMES,
    GANG: CLUSTER_TRAINING_RUNTIMES,
    NOWHERE: CLUSTER_TRAINING_RUNTIMES,
}
"""Name -> of which kind it is. Nobody makes the last, until jobs have waited for it to the end."""
INSTALLED, BROKEN = 0.9, 0.15
"""How often a runtime is there from the start, and how often one is wrong when it is made."""
RARE = 0.3
Edit = Callable[[Document], object]


@dataclass
class RuntimeKeepers:
    """Whoever looks after the runtimes, more or less well."""

    api: SimulatedApi
    dice: Random

    def install_some(self) -> None:
        """Have those that are there from the start."""
        for name in (TORCH, PIPELINE, MPI, GANG):
            if self.dice.random() < INSTALLED:
                self._install(name)

    def possible(self) -> Iterator[Move]:
        """Yield what they may do next to the runtimes that jobs name."""
        for name in self._named():
            runtime = self._found(name)
            if runtime is None:
                if name != NOWHERE:
                    yield f"the runtime {name} appears", partial(self._install, name)
                continue
            what, edit = self.dice.choice(EDITS)
            yield f"the runtime {name} {what}", partial(self._edit, runtime, edit)
            if runtime_problems(runtime):
                mend = partial(self._edit, runtime, _mend)
                yield from [(f"the runtime {name} is mended", mend)] * 3
            if self.dice.random() < RARE:
                yield f"the runtime {name} goes", partial(self._remove, name)
            if self.dice.random() < RARE:
                yield f"the runtime {name} is made anew", partial(self._make_anew, name)

    def owed(self) -> list[Move]:
        """Return what somebody does in the end: the runtimes that jobs wait for are made."""
        missing = [name for name in self._named() if self._found(name) is None]
        return [
            (f"the runtime {name} appears", partial(self._put, a_runtime(name))) for name in missing
        ]

    def _named(self) -> list[str]:
        jobs = self.api.all(TRAINJOBS)
        found = {text(job, "spec", "runtimeRef", "name") for job in jobs}
        return [name for name in KINDS if name in found]

    def _found(self, name: str) -> Manifest | None:
        return self.api.get(KINDS[name], _namespace(KINDS[name]), name)

    def _install(self, name: str) -> None:
        """Make a runtime, now and then one that nothing can be built from."""
        runtime = a_runtime(name)
        if self.dice.random() < BROKEN:
            self.dice.choice((_rename_containers, _multiply))(runtime)
        self._put(runtime)

    def _put(self, runtime: Document) -> None:
        resource = KINDS[text(runtime, "metadata", "name")]
        if resource is CLUSTER_TRAINING_RUNTIMES or self.api.takes(NAMESPACE):
            self.api.create(resource, runtime)

    def _remove(self, name: str) -> None:
        self.api.delete(KINDS[name], _namespace(KINDS[name]), name)

    def _make_anew(self, name: str) -> None:
        self._remove(name)
        self._install(name)

    def _edit(self, runtime: Manifest, edit: Edit) -> None:
        changed = copy.deepcopy({"metadata": runtime["metadata"], "spec": runtime["spec"]})
        edit(changed)
        self.api.replace(KINDS[text(runtime, "metadata", "name")], changed)


def _namespace(resource: Resource) -> str:
    return NAMESPACE if resource is TRAINING_RUNTIMES else ""


def a_runtime(name: str) -> Document:
    """Return a runtime as its makers publish it."""
    resource = KINDS[name]
    about = (
        {"name": name, "namespace": _namespace(resource)}
        if _namespace(resource)
        else {"name": name}
    )
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {**about, "labels": {}, "annotations": {}},
        "spec": _SPECS[name](),
    }


def _pod(container: str, *, mounts: bool = False) -> Document:
    made: Document = {"name": container, "image": "busybox", "env": []}
    made["env"] = [{"name": "TOKEN", "value": SECRET}]
    if mounts:
        made["volumeMounts"] = [{"name": "initializer", "mountPath": "/workspace"}]
    spec: Document = {"containers": [made]}
    if mounts:
        spec["volumes"] = [{"name": "initializer", "persistentVolumeClaim": {"claimName": "data"}}]
    return {"spec": spec}


def _job(name: str, ancestor: str, pod: Document, after: tuple[str, ...] = ()) -> Document:
    labels = {ANCESTOR_LABEL: ancestor} if ancestor else {}
    made: Document = {"name": name}
    if after:
        made["dependsOn"] = [{"name": one, "status": "Complete"} for one in after]
    return {**made, "template": {"metadata": {"labels": labels}, "spec": {"template": pod}}}


def _torch() -> Document:
    return {
        "mlPolicy": {"numNodes": 2, "torch": {}},
        "template": {"spec": {"replicatedJobs": [_job(NODE, TRAINER, _pod(NODE))]}},
    }


def _pipeline() -> Document:
    """Return a namespace's own runtime: data and model first, and three tries."""
    jobs = [
        _job(DATASET, DATASET, _pod(DATASET, mounts=True)),
        _job(MODEL, MODEL, _pod(MODEL, mounts=True)),
        _job(NODE, TRAINER, _pod(NODE, mounts=True), after=(DATASET, MODEL)),
    ]
    spec = {"replicatedJobs": jobs, "failurePolicy": {"maxRestarts": 2}}
    return {"mlPolicy": {"numNodes": 2, "torch": {}}, "template": {"spec": spec}}


def _mpi() -> Document:
    """Return a runtime with a launcher, by which the job ends, and its nodes."""
    jobs = [_job(LAUNCHER, TRAINER, _pod(NODE)), _job(NODE, "", _pod(NODE))]
    success = {"operator": "All", "targetReplicatedJobs": [LAUNCHER]}
    spec: Document = {"replicatedJobs": jobs, "successPolicy": success}
    spec["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    policy = {"numProcPerNode": 1, "mpiImplementation": "OpenMPI"}
    return {"mlPolicy": {"numNodes": 2, "mpi": policy}, "template": {"spec": spec}}


def _gang() -> Document:
    """Return a runtime whose Pods are scheduled together, and whose JobSets go after a while."""
    spec = _torch()
    spec["podGroupPolicy"] = {"coscheduling": {"scheduleTimeoutSeconds": 100}}
    spec["template"]["spec"] |= {"ttlSecondsAfterFinished": 20, "failurePolicy": {"maxRestarts": 1}}
    return spec


_SPECS: dict[str, Callable[[], Document]] = {
    TORCH: _torch,
    PIPELINE: _pipeline,
    MPI: _mpi,
    GANG: _gang,
    NOWHERE: _torch,
}


def _jobs(runtime: Document) -> list[Document]:
    found: list[Document] = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    return found


def _of_containers(runtime: Document, edit: Callable[[Document], object]) -> None:
    for job in _jobs(runtime):
        for container in job["template"]["spec"]["template"]["spec"]["containers"]:
            edit(container)


def _mend(runtime: Document) -> None:
    runtime["spec"] = _SPECS[text(runtime, "metadata", "name")]()


def _drop_initializers(runtime: Document) -> None:
    left = [job for job in _jobs(runtime) if job["name"] not in (DATASET, MODEL)]
    for job in left:
        job.pop("dependsOn", None)
    runtime["spec"]["template"]["spec"]["replicatedJobs"] = left


def _set_policy(runtime: Document, **policy: Any) -> None:  # noqa: ANN401 any JSON
    runtime["spec"]["mlPolicy"] = {**child(runtime, "spec", "mlPolicy"), **policy}


def _rename_containers(runtime: Document) -> None:
    _of_containers(runtime, lambda one: one.update(name="other"))


def _multiply(runtime: Document) -> None:
    for job in _jobs(runtime):
        job["replicas"] = 2


EDITS: tuple[tuple[str, Edit], ...] = (
    ("has a node", lambda new: _set_policy(new, numNodes=1)),
    ("has three nodes", lambda new: _set_policy(new, numNodes=3)),
    ("has another image", lambda new: _of_containers(new, lambda one: one.update(image="torch"))),
    ("is labelled", lambda new: new["metadata"]["labels"].update(team="vision")),
    ("is labelled no more", lambda new: new["metadata"]["labels"].pop("team", None)),
    ("takes no initializers", _drop_initializers),
    ("is broken: its containers", _rename_containers),
    ("is broken: its replicas", _multiply),
    ("is mended", _mend),
    (
        "has tries",
        lambda new: new["spec"]["template"]["spec"].update(failurePolicy={"maxRestarts": 1}),
    ),
)
"""What is done to a runtime: words, and the edit itself."""
