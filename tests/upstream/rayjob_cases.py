"""RayJobs to ask KubeRay about: its samples, every field of the specification, and the edges.

A case changes a copy of a sample or of a small RayJob, and names the batch scheduler and the
operator's environment. Objects are as an API server would serve them: defaults are filled in.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.upstream.changing import Change, Document
from tests.upstream.programs import manifests
from tests.upstream.rayjob_changes import CHANGES, ENVIRONMENTS, SCHEDULERS

SAMPLES = Path(__file__).with_name("data") / "samples" / "rayjob"
NAMESPACE = "default"
CLUSTER, JOB_ID = "job-abcde", "job-fghij"
ADDRESS = "job-abcde-head-svc.default.svc.cluster.local:8265"
STARTED = "2200-01-01T00:00:00Z"
"""No deadline passes while a case is asked."""

MODES = ("K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question to KubeRay."""

    id: str
    job: Document
    objects: Sequence[Document] = ()
    """RayClusters that are there before."""
    scheduler: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


SMALL: Document = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "metadata": {"name": "job"},
    "spec": {
        "entrypoint": "python run.py",
        "rayClusterSpec": {
            "rayVersion": "2.55.0",
            "headGroupSpec": {
                "rayStartParams": {},
                "template": {"spec": {"containers": [{"name": "head", "image": "ray:1"}]}},
            },
            "workerGroupSpecs": [
                {
                    "groupName": "workers",
                    "replicas": 2,
                    "minReplicas": 1,
                    "maxReplicas": 3,
                    "rayStartParams": {},
                    "template": {"spec": {"containers": [{"name": "worker", "image": "ray:1"}]}},
                }
            ],
        },
    },
}
"""A RayJob with what every one has."""


def bases() -> dict[str, Document]:
    """Return the samples by name, and the small RayJob."""
    found = {"small": copy.deepcopy(SMALL)}
    for path in sorted(SAMPLES.glob("*.yaml")):
        (job,) = manifests(path, ("RayJob",))
        found[path.stem.removeprefix("ray-job.")] = job
    return found


def cases() -> Iterator[Case]:
    """Yield every case, in an order that stays."""
    for name, base in bases().items():
        for mode in MODES:
            yield case_of(name, base, [mode], "")
        for scheduler in SCHEDULERS:
            for mode in MODES:
                yield case_of(name, base, [mode, "labelled"], scheduler)
    small = SMALL
    for change in CHANGES:
        yield case_of("small", small, [change], "")
        yield case_of("small", small, ["SidecarMode", change], "")
        yield case_of("small", small, ["HTTPMode", change], "")
        for scheduler in SCHEDULERS:
            if not change.startswith(("env-", "head-service-")):
                yield case_of("small", small, ["labelled", change], scheduler)
                yield case_of("small", small, ["SidecarMode", "labelled", change], scheduler)
    for environment in ENVIRONMENTS:
        for mode in MODES:
            yield case_of("small", small, [mode], "", environment)


def case_of(
    name: str, base: Document, changes: Sequence[str], scheduler: str, environment: str = ""
) -> Case:
    """Return one case, by the names of its changes."""
    job = copy.deepcopy(base)
    for change in changes:
        for apply in change_named(change):
            apply(job)
    identity = "/".join(part for part in (name, *changes, scheduler, environment) if part)
    return asked(identity, job, scheduler, ENVIRONMENTS.get(environment, {}))


def change_named(name: str) -> tuple[Change, ...]:
    """Return the change of a name: a submission mode, or one of the lists."""
    if name in MODES:
        return (lambda job: job["spec"].update(submissionMode=name),)
    return CHANGES[name]


def asked(name: str, job: Document, scheduler: str, environment: Mapping[str, str]) -> Case:
    """Return the case of a RayJob, with defaults and in Initializing."""
    job["metadata"].pop("generateName", None)
    job["metadata"].setdefault("name", "job")
    job["metadata"].setdefault("namespace", NAMESPACE)
    job["metadata"]["uid"] = "uid-of-job"
    spec = job["spec"]
    with_defaults(spec)
    selector = spec.get("clusterSelector")
    selected = selector.get("ray.io/cluster", "") if isinstance(selector, dict) else ""
    job["status"] = {
        **job.get("status", {}),
        "jobDeploymentStatus": "Initializing",
        "jobId": spec.get("jobId") or JOB_ID,
        "rayClusterName": selected or CLUSTER,
        "startTime": STARTED,
    }
    there = (shared_cluster(job, selected),) if selected else ()
    return Case(id=name, job=job, objects=there, scheduler=scheduler, environment=environment)


def shared_cluster(job: Document, name: str) -> Document:
    """Return the RayCluster that a job selects."""
    spec = copy.deepcopy(SMALL["spec"]["rayClusterSpec"])
    with_cluster_defaults(spec)
    metadata = {"name": name, "namespace": job["metadata"]["namespace"], "uid": "uid-of-shared"}
    return {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": metadata, "spec": spec}


def with_defaults(spec: Document) -> None:
    """Fill in the defaults of KubeRay's definition of RayJobs."""
    spec.setdefault("submissionMode", "K8sJobMode")
    spec.setdefault("backoffLimit", 0)
    spec.setdefault("ttlSecondsAfterFinished", 0)
    if isinstance(spec.get("rayClusterSpec"), dict):
        with_cluster_defaults(spec["rayClusterSpec"])


def with_cluster_defaults(cluster: Document) -> None:
    """Fill in the defaults of a RayCluster."""
    for group in cluster.get("workerGroupSpecs") or ():
        group.setdefault("replicas", 0)
        group.setdefault("minReplicas", 0)
        group.setdefault("maxReplicas", 2**31 - 1)
        group.setdefault("numOfHosts", 1)
    service = (cluster.get("headGroupSpec") or {}).get("headService") or {}
    for port in (service.get("spec") or {}).get("ports") or ():
        port.setdefault("protocol", "TCP")
