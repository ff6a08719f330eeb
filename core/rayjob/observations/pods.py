"""Reads from Pods why an attempt failed, and whether any of them are left.

Read from lists of Pods, by label. Only what explains a failure is kept, and only so much of it: a
RayCluster may have thousands of Pods, and the log keeps what it is told for ever.

Source: Kubernetes, core/v1 PodStatus and ContainerStatus; DisruptionTarget is stable since 1.31.
"""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from jobledger.core.jobs.evidence.pods import container_statuses
from jobledger.core.rayjob.names import HEAD, LABEL_NODE_TYPE
from jobledger.core.values.documents import Manifest, child, items, number, text

PODS_KEPT_MAX = 8
"""Pods of one look that are kept: the head, and those in the greatest trouble."""

MESSAGE_CHARACTERS_MAX = 200
"""So much of a Pod's own message is kept."""

DISRUPTIONS = frozenset(
    {
        "Evicted",
        "Preempted",
        "Preempting",
        "NodeLost",
        "NodeShutdown",
        "NodeAffinity",
        "Shutdown",
        "Terminated",
        "UnexpectedAdmissionError",
    }
)
"""Reasons in a Pod's status that say that the node or Kubernetes took it.

Source: kubelet's eviction and node shutdown managers, the pod garbage collector, node lifecycle.
"""

OUT_OF = "OutOf"
"""What begins the reason for which a kubelet admits no Pod that was placed on its node: then comes
the resource, as in OutOfcpu. Source: kubelet's predicate admit handler."""

IMAGE_TROUBLES = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
"""Reasons for which a container waits that say that its image is not to be had.

Source: kubelet, pkg/kubelet/images/types.go.
"""


class PodLook(StrEnum):
    """What a look at the Pods is for."""

    EVIDENCE = "evidence"
    """Why the attempt failed; the retry rule waits for it, and not for long."""
    CLEARING = "clearing"
    """Whether any of the attempt is left; the next attempt waits for it."""


class PodFact(Struct, frozen=True, kw_only=True):
    """What one Pod says."""

    name: str
    uid: str
    role: str
    """head, worker or submitter."""
    phase: str
    reason: str = ""
    """Why Kubernetes took it, or why it waits or ended: the most telling word there is."""
    message: str = ""
    disrupted: bool = False
    """Kubernetes or the node took it away."""
    image_trouble: bool = False
    """It waits for an image that is not to be had."""
    exit_code: int | None = None
    """Of the first container that ended with another code than 0."""
    deleting: bool = False

    @property
    def words(self) -> str:
        """Return what it says, for people."""
        code = "" if self.exit_code is None else f", exit code {self.exit_code}"
        leaving = ", being deleted" if self.deleting else ""
        why = f": {self.reason}" if self.reason else ""
        return f"{self.role} Pod {self.name} is {self.phase or 'unknown'}{why}{code}{leaving}"


def pod_facts(pods: Iterable[Manifest]) -> tuple[PodFact, ...]:
    """Return what Pods say, the most telling first, and no more than `PODS_KEPT_MAX` of them."""
    facts = sorted((pod_fact(pod) for pod in pods), key=_rank)
    return tuple(facts[:PODS_KEPT_MAX])


def _rank(fact: PodFact) -> tuple[bool, bool, bool, bool, str]:
    return (
        not fact.disrupted,
        not fact.image_trouble,
        fact.role != HEAD,
        fact.exit_code is None,
        fact.name,
    )


def pod_fact(pod: Manifest) -> PodFact:
    """Return what one Pod says."""
    status = child(pod, "status")
    disruption = _disruption(status)
    waiting = _waiting(status)
    exit_code, ended = _ended(status)
    unplaced = _unplaced(status)
    reason = disruption[0] or waiting or text(status, "reason") or ended or unplaced[0]
    message = disruption[1] or text(status, "message") or unplaced[1]
    return PodFact(
        name=text(pod, "metadata", "name"),
        uid=text(pod, "metadata", "uid"),
        role=text(pod, "metadata", "labels", LABEL_NODE_TYPE) or "submitter",
        phase=text(status, "phase"),
        reason=reason,
        message=message[:MESSAGE_CHARACTERS_MAX],
        disrupted=disruption[0] != "",
        image_trouble=waiting in IMAGE_TROUBLES,
        exit_code=exit_code,
        deleting=text(pod, "metadata", "deletionTimestamp") != "",
    )


def _disruption(status: Manifest) -> tuple[str, str]:
    """Return why and in which words Kubernetes took the Pod; empty if it did not."""
    for condition in items(status, "conditions"):
        if text(condition, "type") == "DisruptionTarget" and text(condition, "status") == "True":
            return text(condition, "reason") or "DisruptionTarget", text(condition, "message")
    reason = text(status, "reason")
    is_taken = reason in DISRUPTIONS or reason.startswith(OUT_OF)
    return (reason, text(status, "message")) if is_taken else ("", "")


def _unplaced(status: Manifest) -> tuple[str, str]:
    """Return why and in which words no node has room for the Pod; empty if one has."""
    for condition in items(status, "conditions"):
        if text(condition, "type") == "PodScheduled" and text(condition, "status") == "False":
            return text(condition, "reason") or "Unschedulable", text(condition, "message")
    return "", ""


def _waiting(status: Manifest) -> str:
    """Return why a container waits, troubles with images first; empty if none does."""
    reasons = [text(one, "state", "waiting", "reason") for one in container_statuses(status)]
    told = [reason for reason in reasons if reason and reason != "ContainerCreating"]
    return next((reason for reason in told if reason in IMAGE_TROUBLES), next(iter(told), ""))


def _ended(status: Manifest) -> tuple[int | None, str]:
    """Return the exit code and reason of the first container that ended badly, now or before."""
    for one in container_statuses(status):
        for state in ("state", "lastState"):
            ended = child(one, state, "terminated")
            code = number(ended, "exitCode")
            if code:
                return code, text(ended, "reason")
    return None, ""
