"""TrainJobs to ask Trainer about: each shipped runtime with every field, and the edges.

A case names a runtime, changes a copy of it, and changes a plain TrainJob on it. Objects are as an
API server would serve them: defaults of Trainer's definitions are filled in.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobledger.core.trainjob.plugins.coscheduling import SCHEDULE_TIMEOUT_SECONDS
from jobledger.core.trainjob.plugins.mpi import SSH_DIR
from tests.upstream.changing import Document
from tests.upstream.runtime_changes import RUNTIME_CHANGES
from tests.upstream.trainjob_changes import JOB_CHANGES

NAMESPACE = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question to Trainer."""

    id: str
    job: Document
    runtime: Document
    old: Document | None = None
    status_server: bool = False
    """Whether Pods are told where to report their progress."""


def job_on(runtime: Document) -> Document:
    """Return a plain TrainJob on a runtime."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "train", "namespace": NAMESPACE, "uid": "uid-of-train"},
        "spec": {
            "runtimeRef": {
                "apiGroup": "trainer.kubeflow.org",
                "kind": runtime["kind"],
                "name": runtime["metadata"]["name"],
            },
            "suspend": False,
            "managedBy": "trainer.kubeflow.org/trainjob-controller",
        },
    }


FLUX_RUNTIMES = ("deepspeed-distributed", "torch-distributed")
"""Runtimes on which Flux is asked about more: trained by a launcher, and by the nodes.

It builds nothing for a TrainJob that does not say how many nodes it has.
"""

ON_CHANGED_RUNTIMES = ("plain", "nodes-3", "processes-2", "gpus", "env", "patch-pod")


def cases(runtimes: Mapping[str, Document]) -> Iterator[Case]:
    """Yield every case on the shipped runtimes, in an order that stays."""
    for name, runtime in sorted(runtimes.items()):
        for change in JOB_CHANGES:
            yield case_of(name, runtime, "", change)
        for runtime_change in RUNTIME_CHANGES:
            for change in ON_CHANGED_RUNTIMES:
                yield case_of(name, runtime, runtime_change, change)
        if name in FLUX_RUNTIMES:
            for change in JOB_CHANGES:
                yield case_of_changes(name, runtime, ["flux"], ["nodes-3", change])
            for runtime_change in RUNTIME_CHANGES:
                of_job = ["nodes-1", "processes-2"]
                yield case_of_changes(name, runtime, [runtime_change, "flux-added"], of_job)


def case_of(name: str, runtime: Document, runtime_change: str, change: str) -> Case:
    """Return one case, by the names of its changes."""
    return case_of_changes(name, runtime, [runtime_change] if runtime_change else [], [change])


def case_of_changes(
    name: str, runtime: Document, of_runtime: Sequence[str], of_job: Sequence[str]
) -> Case:
    """Return a case of several changes, one after the other."""
    runtime = copy.deepcopy(runtime)
    for change in of_runtime:
        for apply in RUNTIME_CHANGES[change]:
            apply(runtime)
    with_defaults(runtime)
    job = job_on(runtime)
    for change in of_job:
        for apply in JOB_CHANGES[change]:
            apply(job)
    return Case(id="/".join([name, *of_runtime, *of_job]), job=job, runtime=runtime)


MPI_DEFAULTS: Mapping[str, object] = {
    "numProcPerNode": 1,
    "mpiImplementation": "OpenMPI",
    "sshAuthMountPath": SSH_DIR,
    "runLauncherAsNode": False,
}


def with_defaults(runtime: Document) -> Document:
    """Return a runtime with the defaults that its definition fills in, in place."""
    policy = runtime["spec"].get("mlPolicy") or {}
    if isinstance(policy.get("mpi"), dict):
        for field, value in MPI_DEFAULTS.items():
            policy["mpi"].setdefault(field, value)
    if isinstance(policy.get("flux"), dict):
        policy["flux"].setdefault("numProcPerNode", 1)
    gang = runtime["spec"].get("podGroupPolicy") or {}
    if isinstance(gang.get("coscheduling"), dict):
        gang["coscheduling"].setdefault("scheduleTimeoutSeconds", SCHEDULE_TIMEOUT_SECONDS)
    topology = (gang.get("volcano") or {}).get("networkTopology")
    if isinstance(topology, dict):
        topology.setdefault("mode", "hard")
        topology.setdefault("highestTierAllowed", 1)
    for item in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        item.setdefault("replicas", 1)
        item.setdefault("groupName", "default")
    return runtime
