"""Users: RayJobs in all shapes, created, edited wrongly and rightly, suspended, deleted."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from jobledger.core.jobs.retries.job_deadline import JOB_DEADLINE_ANNOTATION
from jobledger.core.ports.cluster import RAYCLUSTERS, RAYJOBS
from jobledger.core.values.documents import Manifest, child, text
from tests.rules.rayjob.jobs import CLUSTER_SPEC
from tests.simulation.heads import SimulatedHeads
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import Move
from tests.simulation.retry_options import drawn

NAMESPACE = "ml"
SHARED = "shared"
"""A RayCluster of the users', which some jobs select."""
SECRET = "sw0rdfish-hunter2-Zx9"
NAMES = ("train", "tune", "score")
WAYS = ("K8sJobMode", "HTTPMode")
SIDECAR = "SidecarMode"
STEPS = ("DeleteWorkers", "DeleteCluster", "DeleteSelf")
ENDS = (
    ("jobStatus", "SUCCEEDED"),
    ("jobStatus", "FAILED"),
    ("jobDeploymentStatus", "Failed"),
)
Edit = Callable[[dict[str, Any]], None]


@dataclass
class Users:
    """Everybody who writes RayJobs."""

    api: SimulatedApi
    heads: SimulatedHeads
    dice: Random
    creations_left: int
    wide: bool = False
    """Whether jobs may be of SidecarMode, and name their submission."""
    options: bool = False
    """Whether they ask for more about their retries."""
    shares: bool = True
    """Whether they have a RayCluster in common."""

    def __post_init__(self) -> None:
        self.share()

    def share(self) -> None:
        """Make the RayCluster that jobs select."""
        if not self.shares:
            return
        metadata = {"name": SHARED, "namespace": NAMESPACE}
        self.api.create(RAYCLUSTERS, {"metadata": metadata, "spec": _cluster_spec()})

    def possible(self) -> list[Move]:
        """Return what users may do next."""
        moves: list[Move] = []
        free = [name for name in NAMES if self.api.get(RAYJOBS, NAMESPACE, name) is None]
        if free and self.creations_left:
            name = self.dice.choice(free)
            moves.append((f"create {name}", partial(self._create, name)))
        for job in self.api.all(RAYJOBS):
            name = text(job, "metadata", "name")
            moves.append((f"delete {name}", partial(self.api.delete, RAYJOBS, NAMESPACE, name)))
            for what, edit in _edits(child(job, "spec")):
                moves.append((f"{what} {name}", partial(self._edit, job, edit)))
            moves.append((f"label {name}", partial(self._label, job)))
        return moves

    def owed(self) -> list[Move]:
        """Return what somebody who uses a job interactively does: submit what the job names."""
        return list(self._of_interactive())

    def _of_interactive(self) -> Iterator[Move]:
        for job in self.api.all(RAYJOBS):
            status, job_id = child(job, "status"), text(job, "spec", "jobId")
            address = text(status, "dashboardURL")
            if text(job, "spec", "submissionMode") != "InteractiveMode" or not job_id:
                continue
            running = text(status, "jobDeploymentStatus") == "Running"
            if running and address in self.heads.up and not self.heads.status(address, job_id):
                yield f"submit {job_id}", partial(self.heads.take, address, job_id)

    def _create(self, name: str) -> None:
        self.creations_left -= 1
        spec = self._spec()
        annotations = {"team": "vision"}
        if self.creations_left % 3 == 1:  # no dice: those of older seeds fall as they did
            annotations[JOB_DEADLINE_ANNOTATION] = "40s"
        if self.creations_left % 3 == 2:
            annotations["jobledger.dev/retry-on"] = "same-cluster"
        if self.options:
            annotations |= drawn(self.dice)
        metadata = {"name": name, "namespace": NAMESPACE, "annotations": annotations}
        api_version = RAYJOBS.api_version
        job: dict[str, Any] = {"metadata": metadata, "spec": spec}
        self.api.create(RAYJOBS, {"apiVersion": api_version, "kind": "RayJob", **job})

    def _spec(self) -> dict[str, Any]:
        dice = self.dice
        modes = ("K8sJobMode", "HTTPMode", "InteractiveMode", "selector")
        mode = dice.choices(modes, (45, 35, 10, 10))[0]
        mode = SIDECAR if self.wide and dice.random() < 0.4 else mode
        spec: dict[str, Any] = {
            "entrypoint": "python train.py",
            "submissionMode": dice.choice(modes[:2]) if mode == "selector" else mode,
            "shutdownAfterJobFinishes": dice.random() < 0.6,
        }
        if mode == "selector":
            spec["clusterSelector"] = {"ray.io/cluster": SHARED}
        else:
            spec["rayClusterSpec"] = _cluster_spec()
        if mode in (*WAYS, SIDECAR):
            spec["backoffLimit"] = dice.choice((0, 1, 1, 2, 2, 3, 4))
        if dice.random() < 0.25:
            spec["activeDeadlineSeconds"] = dice.choice((15, 60, 300))
        if dice.random() < 0.2:
            spec["preRunningDeadlineSeconds"] = dice.choice((5, 20, 90))
        if spec["shutdownAfterJobFinishes"]:
            spec["ttlSecondsAfterFinished"] = dice.choice((0, 0, 10, 60))
            if mode != "selector" and dice.random() < 0.15:
                spec["suspend"] = True
        elif mode != "selector" and dice.random() < 0.6:
            spec["deletionStrategy"] = strategy(dice)
        if self.wide and mode != "InteractiveMode" and dice.random() < 0.2:
            spec["jobId"] = "by-hand"
        return spec

    def _edit(self, job: Manifest, edit: Edit) -> None:
        spec: dict[str, Any] = dict(child(job, "spec"))
        edit(spec)
        self.api.replace(RAYJOBS, {"metadata": child(job, "metadata"), "spec": spec})

    def _label(self, job: Manifest) -> None:
        metadata = child(job, "metadata")
        labels = {"round": str(self.dice.randrange(1000))}
        changed = {**metadata, "labels": labels}
        self.api.replace(RAYJOBS, {"metadata": changed, "spec": job["spec"]})


def strategy(dice: Random) -> dict[str, Any]:
    """Return what is to be deleted after the end: rules, overlapping or with gaps, or old policies.

    Upstream's rules: the delays must not shrink from the workers to the RayJob itself.
    """
    if dice.random() < 0.3:
        policies = (*STEPS, "DeleteNone")
        return {when: {"policy": dice.choice(policies)} for when in ("onSuccess", "onFailure")}
    rules = []
    for field, value in dice.sample(ENDS, dice.choice((1, 2, 3))):
        ttl = 0
        for policy in (step for step in STEPS if dice.random() < 0.6):
            ttl += dice.choice((0, 0, 5, 30))
            rules.append({"policy": policy, "condition": {field: value, "ttlSeconds": ttl}})
    condition = {"jobDeploymentStatus": "Failed"}
    return {"deletionRules": rules or [{"policy": "DeleteNone", "condition": condition}]}


def _cluster_spec() -> dict[str, Any]:
    spec = copy.deepcopy(CLUSTER_SPEC)
    container = spec["headGroupSpec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "WANDB_API_KEY", "value": SECRET}]
    return spec


def _edits(spec: Manifest) -> Iterator[tuple[str, Edit]]:
    """Yield what may be changed about a job: words, and the change itself."""
    limit = spec.get("backoffLimit")
    if isinstance(limit, int) and limit < 0:
        yield "repair", lambda new: new.update(backoffLimit=1)
        return
    yield "spoil", lambda new: new.update(backoffLimit=-1)
    if spec.get("shutdownAfterJobFinishes") is True and "rayClusterSpec" in spec:
        suspended = spec.get("suspend") is True
        what = "resume" if suspended else "suspend"
        yield what, lambda new: new.update(suspend=not suspended)
        yield "change the TTL of", lambda new: new.update(ttlSecondsAfterFinished=5)
    if isinstance(limit, int):
        yield "give more tries to", lambda new: new.update(backoffLimit=limit + 1)
        yield "give no more tries to", lambda new: new.update(backoffLimit=0)
    yield "bound", lambda new: new.update(activeDeadlineSeconds=30)
    mode = spec.get("submissionMode")
    if mode in WAYS:
        other = WAYS[1 - WAYS.index(mode)]
        yield "send another way", lambda new: new.update(submissionMode=other)
    if "clusterSelector" in spec:
        own = {"clusterSelector": None, "rayClusterSpec": _cluster_spec()}
        yield "give a RayCluster of its own to", lambda new: new.update(own)
    if spec.get("submissionMode") == "InteractiveMode" and not spec.get("jobId"):
        yield "name the submission of", lambda new: new.update(jobId="by-hand")
