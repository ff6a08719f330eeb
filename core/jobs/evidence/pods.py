"""Selects what is kept of Pods, logs and Kubernetes Events: bounded, most telling first.

Source: Kubernetes, core/v1 PodStatus, ContainerStatus and Event.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from jobledger.core.jobs.evidence.evidence import (
    KUBERNETES_EVENTS_MAX,
    LOG_BYTES_MAX,
    LOG_LINES_MAX,
    PODS_MAX,
    TEXT_CHARACTERS_MAX,
    ContainerEnd,
    PodEvidence,
    SeenKubernetesEvent,
)
from jobledger.core.log.storable import word
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.instants import EPOCH, Instant, parse_rfc3339

Scrub: TypeAlias = Callable[[str], str]
"""Returns a text without secrets."""

ROLE_LABELS = ("ray.io/node-type", "jobset.sigs.k8s.io/replicatedjob-name")
"""Labels that say what a Pod is for; without one it is a submitter's."""

NOT_BEGUN = (
    "FailedMount",
    "FailedAttachVolume",
    "FailedMapVolume",
    "FailedCreatePodSandBox",
    "FailedPrepareDynamicResources",
    "NetworkNotReady",
)
"""Kubernetes Events that say why a Pod on a node does not begin. Source: Kubernetes, the kubelet's
events/event.go; the attach-detach controller's.
"""

NOT_READY = ("Unhealthy",)
"""Kubernetes Events that say why a Pod that runs is not ready: a probe failed."""

BEING_MADE = ("", "ContainerCreating", "PodInitializing")
"""Why a container waits while all goes its way. Source: Kubernetes, the kubelet's status."""


def pods_kept(pods: Iterable[Manifest], scrub: Scrub) -> tuple[PodEvidence, ...]:
    """Return what is kept of Pods: those in the greatest trouble first, then those that wait.

    Among equals the head is first.
    """
    found = sorted((pod_evidence(pod, scrub) for pod in pods), key=_rank)
    return tuple(found[:PODS_MAX])


def trouble(pod: PodEvidence) -> int:
    """Return how great a Pod's trouble is; 0 for none."""
    if pod.reason:
        return 3
    return max((_trouble(one) for one in pod.containers), default=0)


def troubles_of(pods: Iterable[PodEvidence]) -> frozenset[str]:
    """Return for what Pods wait, or how they fail, in a word each; a restart alone is nothing."""
    return frozenset(word for pod in pods if trouble(pod) > 1 for word in _troubles(pod))


def _troubles(pod: PodEvidence) -> Iterable[str]:
    if pod.reason:
        return (pod.reason,)
    return [_in_a_word(one) for one in pod.containers if _trouble(one) > 1]


def _in_a_word(one: ContainerEnd) -> str:
    """Return a container's trouble in a word that stays the same from try to try."""
    if "Image" in one.reason:
        return "Image"
    failed = one.state == "terminated" or one.reason == "CrashLoopBackOff"
    return "Failed" if failed else one.reason


def waits_quietly(pod: PodEvidence) -> tuple[str, ...]:
    """Return the reasons of Kubernetes Events that may say what a Pod waits for, if it does.

    It is in no trouble by its own status: it has a node and does not begin there, for want of a
    volume or its network, or it runs and is not ready, as its probe fails.
    """
    if trouble(pod):
        return ()
    if pod.phase == "Running":
        return NOT_READY if pod.waits_since is not None else ()
    waits = all(one.state == "waiting" for one in pod.containers)
    return NOT_BEGUN if pod.phase == "Pending" and pod.node and waits else ()


def quiet_wait(pods: Iterable[PodEvidence], name: str) -> str:
    """Return in words how a Pod waits that is in no trouble."""
    runs = any(one.name == name and one.phase == "Running" for one in pods)
    return "is not ready" if runs else "does not begin"


def came_after(pod: PodEvidence, instant: Instant | None) -> bool:
    """Return whether a Pod began after an instant: in place of another, or as one more."""
    began = [one.started_at for one in pod.containers if one.started_at is not None]
    return instant is not None and bool(began) and min(began) > instant


def _trouble(one: ContainerEnd) -> int:
    failed = one.state == "terminated" and one.exit_code not in (None, 0)
    stuck = one.state == "waiting" and one.reason not in BEING_MADE
    if failed or stuck:
        return 2
    return 1 if one.restarts else 0


def _rank(pod: PodEvidence) -> tuple[int, bool, bool, str]:
    return -trouble(pod), not waits_quietly(pod), pod.role != "head", pod.name


def pod_evidence(pod: Manifest, scrub: Scrub) -> PodEvidence:
    """Return what one Pod says."""
    status = child(pod, "status")
    reason, message = _taken(status)
    labels = child(pod, "metadata", "labels")
    role = next((found for label in ROLE_LABELS if (found := word(labels, label))), "submitter")
    containers = tuple(_container(one, scrub) for one in container_statuses(status))
    return PodEvidence(
        name=word(pod, "metadata", "name"),
        uid=word(pod, "metadata", "uid"),
        role=role,
        phase=word(status, "phase"),
        node=word(pod, "spec", "nodeName"),
        reason=_cut(reason, scrub),
        message=_cut(message, scrub),
        containers=containers,
        waits_since=_waits_since(status, containers),
    )


def _waits_since(status: Manifest, containers: Sequence[ContainerEnd]) -> Instant | None:
    """Return since when a Pod waits; of a container that waits, its status tells no time."""
    placed = parse_rfc3339(text(status, "startTime"))
    runs = text(status, "phase") == "Running" and all(one.state == "running" for one in containers)
    for condition in items(status, "conditions"):
        kind, is_false = text(condition, "type"), text(condition, "status") == "False"
        changed = parse_rfc3339(text(condition, "lastTransitionTime"))
        if is_false and (kind == "PodScheduled" or (kind == "Ready" and runs)):
            return changed
        if kind == "PodScheduled":
            placed = placed or changed
    return placed if any(is_stuck(one) for one in containers) else None


def is_stuck(one: ContainerEnd) -> bool:
    """Return whether a container has not begun, and something is in its way."""
    return one.state == "waiting" and one.reason not in BEING_MADE and not one.restarts


def _taken(status: Manifest) -> tuple[str, str]:
    """Return why Kubernetes took a Pod, could not place it, or what its status says of it."""
    for kind, value in (("DisruptionTarget", "True"), ("PodScheduled", "False")):
        for condition in items(status, "conditions"):
            if text(condition, "type") == kind and text(condition, "status") == value:
                return text(condition, "reason") or kind, text(condition, "message")
    return text(status, "reason"), text(status, "message")


def _container(one: Json, scrub: Scrub) -> ContainerEnd:
    """Return how a container ended; of one that was restarted, how it ended the last time."""
    restarts = number(one, "restartCount") or 0
    for place in ("state", "lastState"):
        ended = child(one, place, "terminated")
        if ended and (place == "state" or number(ended, "exitCode")):
            return ContainerEnd(
                name=word(one, "name"),
                state="terminated",
                reason=_cut(text(ended, "reason"), scrub),
                message=_cut(text(ended, "message"), scrub),
                exit_code=number(ended, "exitCode"),
                signal=number(ended, "signal"),
                restarts=restarts,
                started_at=parse_rfc3339(text(ended, "startedAt")),
                ended_at=parse_rfc3339(text(ended, "finishedAt")),
                previous=place == "lastState",
            )
    waits = child(one, "state", "waiting")
    return ContainerEnd(
        name=word(one, "name"),
        state="waiting" if waits else "running",
        reason=_cut(text(waits, "reason"), scrub),
        message=_cut(text(waits, "message"), scrub),
        restarts=restarts,
        started_at=parse_rfc3339(text(one, "state", "running", "startedAt")),
    )


def container_statuses(status: Manifest) -> Sequence[Json]:
    """Return what a Pod's status says of each container, init containers first."""
    return [*items(status, "initContainerStatuses"), *items(status, "containerStatuses")]


def kubernetes_events_kept(
    events: Iterable[Manifest], scrub: Scrub
) -> tuple[SeenKubernetesEvent, ...]:
    """Return what is kept of Kubernetes Events: warnings first, then the youngest."""
    found = [_kubernetes_event(event, scrub) for event in events]
    found.sort(key=lambda one: one.last_at or EPOCH, reverse=True)
    found.sort(key=lambda one: one.kind == "Normal")
    return tuple(found[:KUBERNETES_EVENTS_MAX])


def _kubernetes_event(event: Manifest, scrub: Scrub) -> SeenKubernetesEvent:
    about = child(event, "involvedObject") or child(event, "regarding")
    times = ("lastTimestamp", "eventTime", "firstTimestamp", "deprecatedLastTimestamp")
    last = next((at for name in times if (at := parse_rfc3339(text(event, name)))), None)
    return SeenKubernetesEvent(
        object=f"{word(about, 'kind')}/{word(about, 'name')}",
        kind=word(event, "type") or "Normal",
        reason=_cut(text(event, "reason"), scrub),
        message=_cut(text(event, "message") or text(event, "note"), scrub),
        count=number(event, "count") or number(event, "series", "count") or 1,
        last_at=last,
    )


WORD_CHARACTERS_MAX = 4096
"""A word that is longer, at the beginning of what is kept of a long line, is kept in half."""


def log_end(log: str) -> tuple[str, bool]:
    """Return the last lines of a log, as many as are kept, and whether there was more before.

    Blank lines at its end are none of them. Of a last line that is longer than what is kept its
    end is kept: a log without line ends is one. It begins after a blank where one is near, so that
    no word is kept in half: it may be a secret.
    """
    lines = log.splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    last = "\n".join(lines[-LOG_LINES_MAX:])
    kept = end_in_bytes(last, LOG_BYTES_MAX)
    return kept, len(lines) > LOG_LINES_MAX or kept != last


def end_in_bytes(written: str, limit: int) -> str:
    """Return the last whole lines of a text that fit so many bytes of UTF-8.

    Of a last line that is longer its end, after a blank where one is near.

    Args:
        written: A text without blank lines at its end and without lone surrogates.
        limit: Bytes at most.
    """
    encoded = written.encode()
    if len(encoded) <= limit:
        return written
    end = encoded[-limit:].decode(errors="ignore")
    if encoded[-limit - 1 : -limit] == b"\n":
        return end
    _, line_feed, whole_lines = end.partition("\n")
    return whole_lines if line_feed else end[end.find(" ", 0, WORD_CHARACTERS_MAX) + 1 :]


def _cut(message: str, scrub: Scrub) -> str:
    scrubbed = scrub(message[: 4 * TEXT_CHARACTERS_MAX]) if message else ""
    return scrubbed[:TEXT_CHARACTERS_MAX]
