"""The lives of a RayJob that the demo shows, as a user brings them about.

A life is a manifest, and what the user does once something can be seen. Nothing is done at an
instant: whatever is killed meanwhile, the same happens in the same order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from tests.acceptance.jobs import IMAGE, Document, cluster_spec, rayjob

K8S, HTTP = "K8sJobMode", "HTTPMode"


class Act(StrEnum):
    """What somebody does to a running job."""

    SUSPEND = "suspend"
    RESUME = "resume"
    DELETE = "delete"
    MAKE_CLUSTER = "make a RayCluster"
    """Make the one that the job selects."""
    SUCCEED = "succeed"
    """Start another controller of the same name after the first was told to stop."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """An act, and when it is done."""

    phase: str
    runs: int
    """How many runs of the entrypoint have begun."""
    act: Act


@dataclass(frozen=True, kw_only=True)
class Life:
    """One life of a RayJob."""

    name: str
    mode: str
    spec: Mapping[str, Any] = field(default_factory=dict)
    fails: int = 0
    """How many runs of the entrypoint fail before one succeeds."""
    runs: int
    """How many there are in all, whatever happens."""
    holds: bool = False
    """Whether a run goes on until the user resumes the job, or for ever."""
    steps: tuple[Step, ...] = ()
    phase: str
    """In which it ends; empty: the object is gone."""
    keeps_cluster: bool = False
    """Whether a RayCluster is left when it has ended."""
    stays_open: bool = False
    """Whether something may still happen to it afterwards."""

    def manifest(self, name: str, directory: Path, patience: int = 1) -> Document:
        """Return the RayJob; its entrypoint leaves its marks in a directory.

        Its deadline, if it has one, is `patience` times as late.
        """
        runs, gate = directory / "runs", directory / "gate"
        wait = f"until [ -e {gate} ]; do sleep 0.2; done; " if self.holds else ""
        script = f"echo run >> {runs}; {wait}[ $(wc -l < {runs}) -gt {self.fails} ]"
        spec = {"shutdownAfterJobFinishes": not self.keeps_cluster, **self.spec}
        if "activeDeadlineSeconds" in spec:
            spec["activeDeadlineSeconds"] *= patience
        return rayjob(name, f"sh -c '{script}'", mode=self.mode, **spec)


def _running(runs: int, act: Act) -> Step:
    return Step(phase="Running", runs=runs, act=act)


_PAUSE = (
    _running(1, Act.SUSPEND),
    Step(phase="Suspended", runs=1, act=Act.RESUME),
)

SHARED = "shared"
"""Name of a RayCluster that is no job's."""


def shared_cluster() -> Document:
    """Return a RayCluster that a user makes."""
    kind = {"apiVersion": "ray.io/v1", "kind": "RayCluster"}
    return {**kind, "metadata": {"name": SHARED}, "spec": cluster_spec()}


def _with_worker() -> Document:
    worker = {"containers": [{"name": "ray-worker", "image": IMAGE}]}
    group = {"groupName": "workers", "replicas": 1, "minReplicas": 1, "maxReplicas": 1}
    group |= {"rayStartParams": {}, "template": {"spec": worker}}
    return {**cluster_spec(), "workerGroupSpecs": [group]}


def _after_success(policy: str) -> Document:
    return {"onSuccess": {"policy": policy}, "onFailure": {"policy": "DeleteNone"}}


DEADLINE_SECONDS = 8
"""Longer than it takes until the entrypoint runs, mostly; the end is the same if it is not."""

LIVES: tuple[Life, ...] = (
    *(
        Life(
            name=f"retried-{mode.lower()}",
            mode=mode,
            spec={"backoffLimit": 2, "ttlSecondsAfterFinished": 1},
            fails=2,
            runs=3,
            phase="Complete",
        )
        for mode in (K8S, HTTP)
    ),
    Life(name="exhausted", mode=K8S, spec={"backoffLimit": 1}, fails=9, runs=2, phase="Failed"),
    Life(
        name="deadline",
        mode=K8S,
        spec={"activeDeadlineSeconds": DEADLINE_SECONDS, "backoffLimit": 3},
        runs=1,
        holds=True,
        phase="Failed",
    ),
    *(
        Life(
            name=f"suspended-{mode.lower()}",
            mode=mode,
            runs=2,
            holds=True,
            steps=_PAUSE,
            phase="Complete",
        )
        for mode in (K8S, HTTP)
    ),
    Life(
        name="invalid",
        mode=K8S,
        spec={"backoffLimit": -1},
        runs=0,
        phase="ValidationFailed",
        stays_open=True,
    ),
    Life(name="deleted", mode=HTTP, runs=1, holds=True, steps=(_running(1, Act.DELETE),), phase=""),
    Life(
        name="succession",
        mode=HTTP,
        runs=1,
        holds=True,
        steps=(_running(1, Act.SUCCEED), _running(1, Act.RESUME)),
        phase="Complete",
    ),
    Life(
        name="selecting",
        mode=HTTP,
        spec={"clusterSelector": {"ray.io/cluster": SHARED}, "rayClusterSpec": None},
        runs=1,
        steps=(Step(phase="Initializing", runs=0, act=Act.MAKE_CLUSTER),),
        phase="Complete",
        keeps_cluster=True,
    ),
    Life(
        name="without-workers",
        mode=HTTP,
        spec={
            "deletionStrategy": _after_success("DeleteWorkers"),
            "rayClusterSpec": _with_worker(),
            "shutdownAfterJobFinishes": False,
        },
        runs=1,
        phase="Complete",
        keeps_cluster=True,
    ),
    Life(
        name="self-deleting",
        mode=HTTP,
        spec={
            "deletionStrategy": _after_success("DeleteSelf"),
            "shutdownAfterJobFinishes": False,
        },
        runs=1,
        phase="",
    ),
)
"""Those of the demo, in both modes where the modes differ, and some that bring their own steps."""
