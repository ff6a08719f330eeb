"""The status of a RayCluster, from its Pods and its head Service.

Source: KubeRay, raycluster_controller.go (calculateStatus); `state` is sticky: once ready it stays
so until the cluster is suspended.
"""

from collections.abc import Sequence

from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.instants import Instant, rfc3339
from jobledger.sandbox.controllers.conditions import condition, condition_is_true
from jobledger.sandbox.controllers.raycluster.groups import worker_groups

PROVISIONING = "RayCluster Pods are being provisioned for first time"
PROVISIONED = "All Ray Pods are ready for the first time"


def is_running_and_ready(pod: Manifest) -> bool:
    """Tell whether the Pod runs and no Ready condition of it says otherwise."""
    return text(pod, "status", "phase") == "Running" and all(
        text(entry, "status") == "True"
        for entry in items(pod, "status", "conditions")
        if text(entry, "type") == "Ready"
    )


def raycluster_status(
    cluster: Manifest, pods: Sequence[Manifest], service: Manifest | None, at: Instant
) -> dict[str, Json]:
    """Return the whole status; `lastUpdateTime` is left for the writer."""
    groups = worker_groups(cluster)
    active = [group for group in groups if not group.is_suspended]
    desired = sum(group.wanted for group in groups)
    workers = [pod for pod in pods if _node_type(pod) == "worker"]
    head = next((pod for pod in pods if _node_type(pod) == "head"), None)
    is_whole = len(pods) == desired + 1 and all(is_running_and_ready(pod) for pod in pods)
    state = _state(cluster, pods, is_whole=is_whole)
    times: dict[str, Json] = {**child(cluster, "status", "stateTransitionTimes")}
    if state and state != text(cluster, "status", "state"):
        times[state] = rfc3339(at)
    return {
        "state": state,
        "reason": "",
        "desiredWorkerReplicas": desired,
        "minWorkerReplicas": sum(group.smallest * group.hosts for group in active),
        "maxWorkerReplicas": sum(group.largest * group.hosts for group in active),
        "readyWorkerReplicas": sum(1 for pod in workers if is_running_and_ready(pod)),
        "availableWorkerReplicas": sum(
            1 for pod in workers if text(pod, "status", "phase") == "Running"
        ),
        "head": _head(head, service),
        "endpoints": _endpoints(service),
        "conditions": _conditions(cluster, pods, head, at, is_whole=is_whole),
        "stateTransitionTimes": times,
        "observedGeneration": number(cluster, "metadata", "generation") or 0,
    }


def _node_type(pod: Manifest) -> str:
    return text(pod, "metadata", "labels", "ray.io/node-type")


def _state(cluster: Manifest, pods: Sequence[Manifest], *, is_whole: bool) -> str:
    before = text(cluster, "status", "state")
    if child(cluster, "spec").get("suspend") is True:
        return before if pods else "suspended"
    if is_whole:
        return "ready"
    return before if before == "ready" else ""


def _head(head: Manifest | None, service: Manifest | None) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if head is not None:
        found["podName"] = text(head, "metadata", "name")
        found["podIP"] = text(head, "status", "podIP")
    if service is not None:
        found["serviceName"] = text(service, "metadata", "name")
        address = text(service, "spec", "clusterIP")
        found["serviceIP"] = found.get("podIP", "") if address in ("", "None") else address
    return {name: value for name, value in found.items() if value}


def _endpoints(service: Manifest | None) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for port in items(service, "spec", "ports"):
        parts = child(port)
        value = parts.get("nodePort") or parts.get("targetPort") or parts.get("port")
        if text(port, "name") and value:
            found[text(port, "name")] = str(value)
    return found


def _conditions(
    cluster: Manifest,
    pods: Sequence[Manifest],
    head: Manifest | None,
    at: Instant,
    *,
    is_whole: bool,
) -> list[Json]:
    known = items(cluster, "status", "conditions")
    is_ready, reason, message = _head_readiness(head)
    was = condition_is_true(cluster, "RayClusterProvisioned")
    done = was or is_whole
    found: list[Json] = [
        condition(
            "HeadPodReady", is_true=is_ready, reason=reason, message=message, known=known, at=at
        ),
        condition(
            "RayClusterProvisioned",
            is_true=done,
            reason="AllPodRunningAndReadyFirstTime" if done else "RayClusterPodsProvisioning",
            message=PROVISIONED if done else PROVISIONING,
            known=known,
            at=at,
        ),
    ]
    wants = child(cluster, "spec").get("suspend") is True
    if wants or any(text(entry, "type") == "RayClusterSuspended" for entry in known):
        for kind, is_true in (
            ("RayClusterSuspending", wants and bool(pods)),
            ("RayClusterSuspended", wants and not pods),
        ):
            found.append(
                condition(kind, is_true=is_true, reason=kind, message="", known=known, at=at)
            )
    return found


def _head_readiness(head: Manifest | None) -> tuple[bool, str, str]:
    if head is None:
        return False, "HeadPodNotFound", "Head Pod not found"
    for entry in items(head, "status", "conditions"):
        if text(entry, "type") != "Ready":
            continue
        if text(entry, "status") == "True":
            return True, "HeadPodRunningAndReady", text(entry, "message")
        reason = text(entry, "reason") or "Unknown"
        if reason == "ContainersNotReady":
            reason = _why_container_waits(head) or reason
        return False, reason, text(entry, "message")
    return False, "Unknown", ""


def _why_container_waits(pod: Manifest) -> str:
    for status in items(pod, "status", "containerStatuses"):
        for state in ("waiting", "terminated"):
            reason = text(status, "state", state, "reason")
            if reason:
                return reason
    return ""
