"""What the events and the state of a RayJob mean for reports."""

from collections.abc import Sequence

from jobledger.core.jobs.history.holdings import Pods, SeenHolding, quantity_at
from jobledger.core.jobs.history.report_news import (
    AttemptCluster,
    AttemptFailed,
    ClusterNews,
    FailureJudged,
    FailureNews,
    Found,
    JobFailed,
    Workload,
)
from jobledger.core.rayjob.events import lifecycle as rayjob
from jobledger.core.rayjob.manifests.gang_scheduling import parts_of
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.quantities import Quantity

READY = "ready"
"""State of a RayCluster whose Pods are all there."""

_BEFORE_RUNNING = frozenset({"Initializing", "Waiting"})
"""Phases in which an attempt has not run yet."""


def failure_news(event: rayjob.RayJobEvent) -> FailureNews | None:
    """Return what an event says of a failure; None if nothing."""
    if isinstance(event, rayjob.AttemptFailed):
        return AttemptFailed(attempt=event.attempt, reason=event.reason, message=event.message)
    if isinstance(event, rayjob.RetryGranted | rayjob.RetryRefused):
        granted = isinstance(event, rayjob.RetryGranted)
        return FailureJudged(
            attempt=event.attempt,
            failure=event.failure,
            exit_code=event.exit_code,
            retried=granted,
            counted=event.counted if isinstance(event, rayjob.RetryGranted) else True,
            by_policy=event.uncounted_max > 0,
        )
    if isinstance(event, rayjob.JobFailed):
        return JobFailed(attempt=event.attempt, reason=event.reason, message=event.message)
    return None


def cluster_news(event: rayjob.RayJobEvent) -> ClusterNews | None:
    """Return what an event says of a RayCluster; None if nothing."""
    if isinstance(event, rayjob.ClusterObserved):
        return ClusterNews(name=event.name, created=True, ready=event.state == READY)
    if isinstance(event, rayjob.ClusterVanished | rayjob.OrphanClusterVanished):
        return ClusterNews(name=event.name, gone=True)
    return None


def shows_ready_pods(event: rayjob.RayJobEvent, beside: str) -> bool:
    """Return whether an event shows the RayCluster ready, or its submitter at work or over."""
    if beside:
        return isinstance(event, rayjob.EntrypointObserved | rayjob.SubmitterFinished)
    return isinstance(event, rayjob.ClusterObserved) and event.state == READY


def shows_step(event: rayjob.RayJobEvent) -> bool:
    """Return whether an event says that Ray runs the entrypoint."""
    return isinstance(event, rayjob.EntrypointObserved) and event.status is JobStatus.RUNNING


def attempt_cluster(state: RayJobState) -> AttemptCluster:
    """Return whose RayCluster the current attempt runs on."""
    if state.attempt is None:
        return AttemptCluster()
    return AttemptCluster(shared=state.attempt.selected, kept=state.attempt.same_cluster)


def found(state: RayJobState) -> Found | None:
    """Return how a job was found that was just adopted; None: as if from its beginning."""
    if state.attempt is None:
        return None
    return Found(state.attempt.number, state.phase.value not in _BEFORE_RUNNING)


def workload(document: Manifest) -> Workload:
    """Return what a manifest runs: Ray, by the way of submission, on the head's image."""
    runtime = text(document, "spec", "submissionMode") or "K8sJobMode"
    return Workload(framework="ray", runtime=runtime, image=_head_image(document))


def pods(document: Manifest) -> Sequence[Pods]:
    """Return the head and the workers of the RayCluster that a manifest asks for at first.

    The submitter is not counted. On a RayCluster that is selected, nothing is the job's own.
    """
    cluster = child(document, "spec", "rayClusterSpec")
    if not cluster or child(document, "spec", "clusterSelector"):
        return ()
    return [Pods(one.pod, 0 if one.suspended else one.members) for one in parts_of(cluster)]


def holding_seen(event: rayjob.RayJobEvent) -> SeenHolding | None:
    """Return what the Pods of a RayCluster request by its status, wherever autoscaling has led.

    Source: KubeRay's raycluster_types.go (desiredCPU and the like), computed from replicas as they
    are now. None if it says nothing of that yet.
    """
    if not isinstance(event, rayjob.ClusterObserved):
        return None
    status = event.status
    seen = SeenHolding(
        cpu=quantity_at(status, "desiredCPU"),
        memory=quantity_at(status, "desiredMemory"),
        accelerators=_together(
            quantity_at(status, "desiredGPU"), quantity_at(status, "desiredTPU")
        ),
    )
    return None if seen == (None, None, None) else seen


def _together(one: Quantity | None, other: Quantity | None) -> Quantity | None:
    return one + other if one is not None and other is not None else one or other


def _head_image(document: Manifest) -> str:
    group = child(document, "spec", "rayClusterSpec", "headGroupSpec", "template", "spec")
    for container in items(group, "containers"):
        return text(container, "image")
    return ""
