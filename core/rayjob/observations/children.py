"""Reads observations from a RayCluster or a submitter Job.

What is absent or of a wrong type counts as not said.
"""

from dataclasses import dataclass

from jobledger.core.jobs.control.ownership import controller_uid
from jobledger.core.ports.cluster import RAYCLUSTERS, RAYJOBS
from jobledger.core.rayjob.names import (
    ATTEMPT_ANNOTATION,
    DASHBOARD_PORT,
    DASHBOARD_PORT_NAME,
    SUBMITTER_CONTAINER,
    head_service_name,
)
from jobledger.core.rayjob.observations.pods import pod_fact
from jobledger.core.rayjob.spec.go_values import ray_container
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.instants import Instant, parse_rfc3339

NOT_MIRRORED = frozenset({"lastUpdateTime"})
"""Changes with every pass of KubeRay and says nothing: it would be news each time."""


_ATTEMPT_DIGITS_MAX = 9

FT_ANNOTATION = "ray.io/ft-enabled"
SIDECAR_RESTARTS_MAX = 2
"""How often the submitter beside the head is started again, where it is (a feature gate)."""
SIDECAR_USED_UP = (
    f"Ray head pod submitter container {SUBMITTER_CONTAINER} terminated after exceeding the "
    "maximum restart count"
)


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
    return controller_uid(manifest, RAYJOBS.group, RAYJOBS.kind)


def attempt_of(manifest: Manifest) -> int:
    """Return the attempt that an object was made for; 0 if it does not say, or nonsense."""
    said = text(manifest, "metadata", "annotations", ATTEMPT_ANNOTATION)
    plain = said.isascii() and said.isdigit() and len(said) <= _ATTEMPT_DIGITS_MAX
    return int(said) if plain else 0


def submission_of(job: Manifest) -> str:
    """Return which submission a batch Job hands in; empty if it does not say.

    Source: KubeRay puts RAY_JOB_SUBMISSION_ID (status.jobId) at the end of its first container's
    env; all submitters of a RayJob have one name, and say nothing else of their attempt.
    """
    for container in items(job, "spec", "template", "spec", "containers")[:1]:
        for variable in reversed(items(container, "env")):
            if text(variable, "name") == "RAY_JOB_SUBMISSION_ID":
                return text(variable, "value")
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


def address_within(namespace: str, address: str) -> str:
    """Return an address that a RayJob's status shows, as it is in the namespace of the RayJob.

    A status that came from elsewhere with its RayJob, as out of a backup, names the head of the job
    that it is a copy of, which may still run there: nothing of it is to be asked for or stopped.
    One that names no Service stays as it is.
    """
    scheme, slashes, place = address.rpartition("://")
    host, colon, port = place.partition(":")
    service, *where = host.split(".")
    if where[1:2] != ["svc"]:
        return address
    return scheme + slashes + ".".join((service, namespace, *where[1:])) + colon + port


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


def cluster_owner_uid(pod: Manifest) -> str:
    """Return the UID of the RayCluster that controls a Pod; empty if none does."""
    return controller_uid(pod, RAYCLUSTERS.group, RAYCLUSTERS.kind)


def head_pod_summary(pod: Manifest) -> Manifest:
    """Return the part of a head's Pod that is looked at."""
    metadata = child(pod, "metadata")
    kept = ("name", "namespace", "uid", "labels", "ownerReferences", "deletionTimestamp")
    tolerant = text(pod, "metadata", "annotations", FT_ANNOTATION)
    ray = text(_ray_container(pod), "name")
    return {
        "metadata": {
            **{key: metadata[key] for key in kept if key in metadata},
            **({"annotations": {FT_ANNOTATION: tolerant}} if tolerant else {}),
        },
        "spec": {
            "containers": [
                {"name": text(one, "name"), "restartPolicy": text(one, "restartPolicy")}
                for one in items(pod, "spec", "containers")
                if text(one, "name") in (SUBMITTER_CONTAINER, ray)
            ]
        },
        "status": {
            **_plight(child(pod, "status")),
            "containerStatuses": [
                one if text(one, "name") == SUBMITTER_CONTAINER else _restarts(one)
                for one in items(pod, "status", "containerStatuses")
                if text(one, "name") in (SUBMITTER_CONTAINER, ray)
            ],
        },
    }


def _ray_container(pod: Manifest) -> Json:
    """Return the container that runs Ray: the first one."""
    return next(iter(items(pod, "spec", "containers")), None)


def _restarts(status: Json) -> Manifest:
    """Return the part of a container's status that tells how often it was started again."""
    ended = child(status, "lastState", "terminated")
    told = {key: ended[key] for key in ("exitCode", "reason") if key in ended}
    kept: dict[str, Json] = {"name": text(status, "name")}
    if count := number(status, "restartCount"):
        kept["restartCount"] = count
        kept["lastState"] = {"terminated": told}
    return kept


def head_restarts(pod: Manifest) -> tuple[int, str]:
    """Return how often the Ray container was started again, and how it ended before, in words."""
    name = text(_ray_container(pod), "name")
    for status in items(pod, "status", "containerStatuses"):
        count = number(status, "restartCount") or 0
        if text(status, "name") == name and count:
            ended = child(status, "lastState", "terminated")
            code = number(ended, "exitCode")
            words = [text(ended, "reason"), "" if code is None else f"exit code {code}"]
            return count, ", ".join(word for word in words if word)
    return 0, ""


def keeps_jobs(pod: Manifest) -> bool:
    """Return whether a head that is started again still knows its jobs.

    Source: KubeRay marks the Pods of RayClusters with fault tolerance of the GCS.
    """
    return text(pod, "metadata", "annotations", FT_ANNOTATION) == "true"


def _plight(status: Manifest) -> Manifest:
    """Return the part of a Pod's status that tells whether and why it goes."""
    conditions: Json = [
        one for one in items(status, "conditions") if text(one, "type") == "DisruptionTarget"
    ]
    told = {key: status[key] for key in ("phase", "reason", "message") if key in status}
    return {**told, **({"conditions": conditions} if conditions else {})}


def head_taken(pod: Manifest) -> str:
    """Return why Kubernetes or the node takes a head's Pod away, in words; empty if it does not."""
    fact = pod_fact(pod)
    if not fact.disrupted:
        return ""
    return f"{fact.reason}: {fact.message}" if fact.message else fact.reason


def is_over(pod: Manifest) -> bool:
    """Return whether no container of a Pod will run again."""
    return text(pod, "status", "phase") in ("Failed", "Succeeded")


def sidecar_end(pod: Manifest) -> SubmitterEnd:
    """Return how the submitter beside the head ended (SidecarMode).

    One that may be started again, and has not used that up, has not ended. Source: KubeRay's
    checkSidecarContainerStatus.
    """
    for status in items(pod, "status", "containerStatuses"):
        ended = child(status, "state", "terminated")
        if text(status, "name") != SUBMITTER_CONTAINER:
            continue
        restarts = number(status, "restartCount") or 0
        before = child(status, "lastState", "terminated")
        if ended and (number(ended, "exitCode") or 0) == 0:
            return SubmitterEnd(outcome="Complete", finished_at=_finished_at(ended))
        if before and restarts >= SIDECAR_RESTARTS_MAX:
            return SubmitterEnd(
                outcome="Failed", finished_at=_finished_at(before), message=SIDECAR_USED_UP
            )
        if ended and not _is_restarted(pod):
            message = (
                f"Ray head pod container {SUBMITTER_CONTAINER} terminated with exit code "
                f"{number(ended, 'exitCode')}: {text(ended, 'reason')}"
            )
            return SubmitterEnd(outcome="Failed", finished_at=_finished_at(ended), message=message)
    return SubmitterEnd()


def _finished_at(ended: Manifest) -> Instant | None:
    return parse_rfc3339(text(ended, "finishedAt"))


def _is_restarted(pod: Manifest) -> bool:
    """Return whether the submitter's container is started again when it fails."""
    return any(
        text(one, "name") == SUBMITTER_CONTAINER and text(one, "restartPolicy") == "OnFailure"
        for one in items(pod, "spec", "containers")
    )


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
