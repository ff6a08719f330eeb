"""RayJobs as KubeRay leaves them, one for every deployment state, and what becomes of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.acceptance.other_controllers import Document, KubeRay, ago
from tests.support.api import Api, rayjob

ATTEMPT_AGE_SECONDS = 600
LONG = 86_400
"""A day, in seconds: what is due then is still pending when a test ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A RayJob in some state at first sight."""

    name: str
    phase: str
    """What KubeRay showed; empty: New."""
    status: Mapping[str, object] = field(default_factory=dict)
    spec: Mapping[str, object] = field(default_factory=dict)
    has_names: bool = True
    """Whether the status names the attempt's RayCluster and submission."""
    cluster: str = "ready"
    """State of its RayCluster; empty: there is none."""
    is_submitted: bool = False
    """Whether the submitter is there."""
    head: str = ""
    """What its head says of the entrypoint; empty: nothing is to be had of it."""
    beside_head: Mapping[str, object] | None = None
    """State of the submitter's container beside the head (SidecarMode)."""
    fails: int = 0
    """How many attempts fail after it was found."""
    shows: str = ""
    """What is shown in the end; empty: as before."""
    attempt: int = 1
    """Number of the attempt that is known in the end."""
    keeps: bool = True
    """Whether the RayCluster (and the submitter) that were there stay."""
    makes: tuple[str, ...] = ()
    """Kinds of object that are made."""
    pending: tuple[str, ...] = ()
    """Decisions that are pending in the end; the heads of running ones answer nobody here."""

    @property
    def cluster_name(self) -> str:
        """Return the name that KubeRay gave the RayCluster."""
        return f"{self.name}-x7k2p"


RUNS: Mapping[str, object] = {"jobStatus": "RUNNING"}
SHUT = {"shutdownAfterJobFinishes": True, "ttlSecondsAfterFinished": LONG}
SOON = {"shutdownAfterJobFinishes": True}
ENDED = {"endTime": ago(60)}
SUCCEEDED = {"jobStatus": "SUCCEEDED", "succeeded": 1, **ENDED}
APP_FAILED = {"jobStatus": "FAILED", "reason": "AppFailed", "message": "exit 1", "failed": 1}

FOUND = (
    Found(
        name="new",
        phase="",
        has_names=False,
        cluster="",
        shows="Initializing",
        makes=("RayCluster",),
    ),
    Found(
        name="new-again",
        phase="",
        has_names=False,
        cluster="",
        status={"failed": 2},
        spec={"backoffLimit": 3},
        shows="Initializing",
        attempt=3,
        makes=("RayCluster",),
    ),
    Found(name="initializing", phase="Initializing", cluster="suspended"),
    Found(
        name="initializing-bare",
        phase="Initializing",
        cluster="",
        makes=("RayCluster",),
    ),
    Found(
        name="running", phase="Running", status=RUNS, is_submitted=True, pending=("status_check",)
    ),
    Found(
        name="running-deadline",
        phase="Running",
        status=RUNS,
        is_submitted=True,
        spec={"activeDeadlineSeconds": LONG},
        pending=("active_deadline", "status_check"),
    ),
    Found(
        name="running-third",
        phase="Running",
        status={**RUNS, "failed": 2},
        is_submitted=True,
        spec={"backoffLimit": 3},
        attempt=3,
        pending=("status_check",),
    ),
    Found(name="complete", phase="Complete", status=SUCCEEDED, is_submitted=True),
    Found(
        name="complete-shutdown",
        phase="Complete",
        status=SUCCEEDED,
        is_submitted=True,
        spec=SHUT,
        pending=("ttl_shutdown",),
    ),
    Found(
        name="complete-overdue",
        phase="Complete",
        status=SUCCEEDED,
        spec=SOON,
        keeps=False,
    ),
    Found(name="failed", phase="Failed", status={**APP_FAILED, **ENDED}, is_submitted=True),
    Found(
        name="failed-shutdown",
        phase="Failed",
        status={"jobStatus": "RUNNING", "reason": "DeadlineExceeded", "failed": 1, **ENDED},
        spec=SHUT,
        pending=("ttl_shutdown",),
    ),
    Found(
        name="validation-failed",
        phase="ValidationFailed",
        status={"reason": "ValidationFailed", "message": "backoffLimit must be positive"},
        spec={"backoffLimit": -1},
        has_names=False,
        cluster="",
        attempt=0,
    ),
    Found(
        name="suspending",
        phase="Suspending",
        status=RUNS,
        is_submitted=True,
        spec={"suspend": True, **SOON},
        shows="Suspended",
        keeps=False,
    ),
    Found(
        name="suspended",
        phase="Suspended",
        spec={"suspend": True, **SOON},
        has_names=False,
        cluster="",
        attempt=0,
    ),
    Found(
        name="retrying",
        phase="Retrying",
        status=APP_FAILED,
        is_submitted=True,
        spec={"backoffLimit": 2},
        shows="Initializing",
        attempt=2,
        keeps=False,
        makes=("RayCluster",),
    ),
    Found(
        name="waiting",
        phase="Waiting",
        spec={"submissionMode": "InteractiveMode"},
    ),
)
"""Every deployment state; ended with and without a shutdown, a deadline, counted attempts."""


def leave(kuberay: KubeRay, found: Found) -> Document:
    """Make a RayJob and what belongs to it, as KubeRay leaves it; return it."""
    job = submit(kuberay.api, found)
    if found.phase not in ("", "ValidationFailed") or found.status:
        kuberay.take(job)
    if found.cluster:
        kuberay.makes_cluster(job, found.cluster_name, found.cluster)
    if found.is_submitted:
        kuberay.makes_submitter(job)
    if found.beside_head is not None:
        kuberay.makes_head(found.cluster_name, found.beside_head)
    if found.phase in ("Running", "Complete", "Failed", "Retrying", "Suspending"):
        kuberay.makes_service(job, found.cluster_name)
    if found.phase or found.status:
        kuberay.shows(found.name, found.phase, **shown_by_kuberay(found, kuberay.api))
    return job


def submit(api: Api, found: Found) -> Document:
    """Create the RayJob."""
    reply = api.create("ray.io/v1/rayjobs", rayjob(found.name, **found.spec))
    assert reply.code == 201, reply
    return dict(reply.body)


def shown_by_kuberay(found: Found, api: Api) -> dict[str, Any]:
    """Return the status besides the phase."""
    if not found.has_names:
        began = {} if found.phase == "ValidationFailed" else {"startTime": ago(ATTEMPT_AGE_SECONDS)}
        return {**began, **found.status}
    ready = found.phase != "Initializing"
    address = f"{found.cluster_name}-head-svc.{api.namespace}.svc.cluster.local:8265"
    interactive = found.spec.get("submissionMode") == "InteractiveMode"
    names = {
        "rayClusterName": found.cluster_name,
        "startTime": ago(ATTEMPT_AGE_SECONDS),
        **({} if interactive else {"jobId": f"{found.name}-b4d9z"}),
        **({"dashboardURL": address} if ready else {}),
    }
    return {**names, **found.status}
