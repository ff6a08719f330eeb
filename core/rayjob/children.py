"""What a RayCluster or a submitter, read from the API server, says about the job.

What is absent or of a wrong type counts as not said.
"""

from dataclasses import dataclass

from core.rayjob.names import DASHBOARD_PORT, DASHBOARD_PORT_NAME, head_service_name
from core.rayjob.validation_reading import ray_container
from core.values.documents import Json, Manifest, child, items, number, text
from core.values.instants import Instant, parse_rfc3339

NOT_MIRRORED = frozenset({"lastUpdateTime"})
"""Changes with every pass of KubeRay and says nothing: it would be news each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitterEnd:
    """How a submitter ended."""

    outcome: str = ""
    """Complete or Failed; empty while it goes on."""
    finished_at: Instant | None = None
    """By the cluster's clock."""
    reason: str = ""
    message: str = ""


def owner_uid(manifest: Manifest) -> str:
    """Return the UID of the RayJob that controls an object; empty if none does."""
    for owner in items(manifest, "metadata", "ownerReferences"):
        is_rayjob = text(owner, "kind") == "RayJob"
        is_rays = text(owner, "apiVersion").startswith("ray.io/")
        if is_rayjob and is_rays and child(owner).get("controller") is True:
            return text(owner, "uid")
    return ""


def dashboard_address(cluster: Manifest, domain: str = "cluster.local") -> str:
    """Return `host:port` of a RayCluster's dashboard; empty if it shows none to others.

    It follows from the specification alone, as the head's Service does. `domain` is the DNS domain
    of the Kubernetes cluster.

    Source: KubeRay's FetchHeadServiceURL, GenerateHeadServiceName and BuildServiceForHeadPod.
    """
    name = text(cluster, "metadata", "name")
    head = child(cluster, "spec", "headGroupSpec")
    service = text(head, "headService", "metadata", "name") or head_service_name(name)
    port = _dashboard_port(head)
    if not name or port is None:
        return ""
    return f"{service}.{text(cluster, 'metadata', 'namespace')}.svc.{domain}:{port}"


def _dashboard_port(head: Manifest) -> int | None:
    by_service = _named_port(items(head, "headService", "spec", "ports"), "port")
    if by_service is not None:
        return by_service
    ports = items(ray_container(head), "ports")
    return _named_port(ports, "containerPort") if ports else DASHBOARD_PORT


def _named_port(ports: Json, field: str) -> int | None:
    for port in items(ports):
        if text(port, "name") == DASHBOARD_PORT_NAME:
            return number(port, field)
    return None


def mirrored_status(cluster: Manifest) -> Manifest:
    """Return what a RayJob's `.status.rayClusterStatus` shows of a RayCluster's status."""
    status = child(cluster, "status")
    return {key: value for key, value in status.items() if key not in NOT_MIRRORED}


def submitter_end(job: Manifest) -> SubmitterEnd:
    """Return how a batch Job ended.

    FailureTarget and SuccessCriteriaMet only announce an end: Pods may still be at work.
    """
    for condition in items(job, "status", "conditions"):
        outcome = text(condition, "type")
        if outcome in ("Complete", "Failed") and text(condition, "status") == "True":
            return SubmitterEnd(
                outcome=outcome,
                finished_at=parse_rfc3339(text(condition, "lastTransitionTime")),
                reason=text(condition, "reason"),
                message=text(condition, "message"),
            )
    return SubmitterEnd()
