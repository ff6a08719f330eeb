"""Selects the Kubernetes Events of a RayJob (`kubectl describe rayjob`).

Reasons, actions and notes of the first group are upstream's, literally. Upstream says nothing of a
job's transitions; the second group adds the few that somebody who describes a job asks for.
Whatever a try is repeated for is told once per kind of trouble, not once per try.

Source: the Recorder calls of KubeRay's rayjob_controller.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from jobledger.core.jobs import events as shared
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.job_deadline import tells_of_it
from jobledger.core.jobs.status.kubernetes_events import KubernetesEvent as KubernetesEvent  # noqa: PLC0414 asked for here
from jobledger.core.jobs.status.kubernetes_events import holding_told, left_out_told, sendable
from jobledger.core.rayjob.events import lifecycle as facts
from jobledger.core.rayjob.names import no_cluster
from jobledger.core.rayjob.observations.observations import JobIdentity
from jobledger.core.rayjob.observations.pods import PodLook
from jobledger.core.rayjob.status.retry_words import on_which_cluster
from jobledger.core.values.counted import counted
from jobledger.core.values.instants import rfc3339


@dataclass(frozen=True, slots=True)
class _Told:
    """How the end of an effect is told; `{}` is the object."""

    reason: str
    action: str
    done: str
    """Empty: a success is not told."""
    failed: str
    colon: str = ": "
    """What parts a failure from its cause."""


_EFFECTS: Mapping[EffectKind, _Told] = {
    EffectKind.CREATE_CLUSTER: _Told(
        "RayCluster", "Create", "Created RayCluster {}", "Failed to create RayCluster {}"
    ),
    EffectKind.DELETE_CLUSTER: _Told(
        "RayCluster", "Delete", "Deleted cluster {}", "Failed to delete cluster {}"
    ),
    EffectKind.CREATE_SUBMITTER: _Told(
        "RayJobSubmitter",
        "Create",
        "Created Kubernetes Job {}",
        "Failed to create new Kubernetes Job {}",
    ),
    EffectKind.DELETE_SUBMITTER: _Told(
        "RayJobSubmitter",
        "Delete",
        "Deleted submitter K8s Job {}",
        "Failed to delete submitter K8s Job {}",
    ),
    EffectKind.CREATE_SERVICE: _Told(
        "Service", "Create", "Created the service {}", "Failed to create the service {}", ", "
    ),
    EffectKind.UPDATE_SERVICE: _Told(
        "Service", "Update", "Updated the service {}", "Failed to update the service {}", ", "
    ),
    EffectKind.CLEAR_POD_GROUP: _Told(
        "BatchScheduler",
        "Cleanup",
        "Cleaned up batch scheduler resources for RayJob {}",
        "Failed to cleanup batch scheduler resources for RayJob {}",
    ),
    EffectKind.SUSPEND_WORKERS: _Told(
        "RayCluster",
        "Update",
        "Set the `suspend` field to true for all worker groups in cluster {}",
        "Failed to suspend worker groups in cluster {}",
    ),
    EffectKind.ADD_FINALIZER: _Told(
        "RayJob", "Update", "", "Failed to add the finalizer of RayJob {}"
    ),
    EffectKind.REMOVE_FINALIZER: _Told(
        "RayJob", "Update", "", "Failed to remove the finalizer of RayJob {}"
    ),
    EffectKind.DELETE_JOB: _Told("RayJob", "Delete", "", "Failed to delete RayJob {}"),
    EffectKind.APPLY_POD_GROUP: _Told("PodGroup", "Update", "", "Failed to apply PodGroup {}"),
    EffectKind.FIND_CLUSTER: _Told("RayCluster", "Get", "", "Failed to get RayCluster {}"),
}
"""Effects of which users are told; upstream does those of the last five in silence.

Else a job would stay where it is, or be there for ever, and nobody who describes it could say why.
"""

_OF_THE_JOB = frozenset(
    {EffectKind.CLEAR_POD_GROUP, EffectKind.ADD_FINALIZER, EffectKind.REMOVE_FINALIZER}
)
"""Effects that are told of the RayJob, whatever they are called."""


def kubernetes_events(
    identity: JobIdentity, event: facts.RayJobEvent
) -> tuple[KubernetesEvent, ...]:
    """Return what users are told of `event`; mostly nothing."""
    told = _told(identity, event)
    return () if told is None else (sendable(told),)


def _told(  # noqa: C901, PLR0911, PLR0912 one case per sort of event
    identity: JobIdentity, event: facts.RayJobEvent
) -> KubernetesEvent | None:
    match event:
        case shared.EffectSucceeded() | shared.EffectFaltered() | shared.EffectFailed():
            return _effect(identity, event)
        case facts.ManifestRejected():
            return _rejection(identity, event)
        case shared.AnnotationsRejected():
            return left_out_told(identity, event)
        case facts.PodsObserved():
            return _remark(event)
        case facts.RetryGranted() | facts.RetryRefused():
            return _verdict(event)
        case facts.ClusterVanished() | facts.OrphanClusterFound() | facts.StatusCheckFailed():
            return _trouble(identity, event)
        case facts.HeadPodVanished() | facts.ClusterKept() | facts.SuspensionPostponed():
            return _notice(identity, event)
        case facts.ClusterGivenUp():
            note = f"The next attempt gets a new RayCluster, not {event.name}: {event.cause}"
            return KubernetesEvent("Warning", "RayClusterGivenUp", "Retry", note)
        case facts.JobSuspended() | facts.JobResumed():
            return _transition(event)
        case facts.JobFailed():
            return _failed(event)
        case (
            shared.LedgerBehindFound() | shared.RecoveredFromCluster() | shared.StatusWriteFailed()
        ):
            return holding_told(event)
        case (
            facts.EntrypointObserved()
            | facts.ClusterObserved()
            | facts.OrphanClusterVanished()
            | facts.SubmitterObserved()
            | facts.SubmitterFinished()
            | facts.SubmitterVanished()
            | facts.EntrypointMissed()
            | facts.StatusCheckRecovered()
            | facts.JobDiscovered()
            | facts.JobAdopted()
            | facts.ManifestReceived()
            | facts.ManifestAccepted()
            | facts.AttemptStarted()
            | facts.AttemptReachedRunning()
            | facts.AttemptReachedWaiting()
            | facts.SubmissionNamed()
            | facts.AttemptFailed()
            | facts.AttemptCleared()
            | facts.JobCompleted()
            | facts.SuspensionStarted()
            | facts.DeletionStarted()
            | facts.JobDeleted()
            | facts.HeadPodObserved()
            | facts.SidecarFinished()
            | facts.PartVanished()
            | facts.ClusterCovered()
            | facts.FailureNoticed()
            | shared.EffectRequested()
            | shared.EffectSuperseded()
            | shared.DecisionScheduled()
            | shared.DecisionFired()
            | shared.DecisionCancelled()
            | shared.ObservationGapFound()
            | shared.ObservationsConfirmed()
            | shared.StatusPublished()
            | shared.EvidenceCaptured()
            | shared.ControlReleased()
            | shared.ControlTaken()
            | facts.OthersStatusObserved()
            | facts.TransitionsMissed()
        ):
            return None
        case _:
            assert_never(event)


def _effect(
    identity: JobIdentity,
    event: shared.EffectSucceeded | shared.EffectFaltered | shared.EffectFailed,
) -> KubernetesEvent | None:
    target = f"{identity.namespace}/{event.name}"
    is_missing = isinstance(event, shared.EffectFailed) and event.trouble == no_cluster(target)
    if event.kind is EffectKind.FIND_CLUSTER and is_missing:
        note = (
            f"RayCluster {target} set in the clusterSelector is not found. "
            "It must be created manually"
        )
        return KubernetesEvent("Warning", "RayClusterNotFound", "Validate", note)
    told = _EFFECTS.get(event.kind)
    if told is None:
        return None
    if event.kind in _OF_THE_JOB:
        target = f"{identity.namespace}/{identity.name}"
    if not isinstance(event, shared.EffectSucceeded):
        note = f"{told.failed.format(target)}{told.colon}{event.trouble}"
        reason = f"FailedTo{told.action}{told.reason}"
        return KubernetesEvent("Warning", reason, told.action, note)
    if event.already or not told.done:
        return None
    reason = f"{told.action}d{told.reason}"
    if event.kind is EffectKind.CLEAR_POD_GROUP:
        reason = "BatchSchedulerCleanedUp"
    return KubernetesEvent("Normal", reason, told.action, told.done.format(target))


def _rejection(identity: JobIdentity, event: facts.ManifestRejected) -> KubernetesEvent:
    note = f"{identity.namespace}/{identity.name}: {event.message}"
    return KubernetesEvent("Warning", event.kind, "Validate", note)


def _verdict(event: facts.RetryGranted | facts.RetryRefused) -> KubernetesEvent:
    """Return how a failed attempt is told: with the verdict, which comes in the same breath."""
    shown = f" ({event.evidence})" if event.evidence else ""
    failed = f"Attempt {event.attempt} failed ({event.reason}){shown}; {event.rule}"
    if isinstance(event, facts.RetryRefused):
        return KubernetesEvent("Warning", "AttemptFailed", "Fail", f"{failed}: not retrying")
    later = f" not before {rfc3339(event.due_at)}" if event.due_at > event.at else ""
    note = f"{failed}: retrying{on_which_cluster(event)}{later}"
    return KubernetesEvent("Warning", "AttemptFailed", "Retry", note)


def _failed(event: facts.JobFailed) -> KubernetesEvent | None:
    """Return how it is told that the whole job's deadline passed, maybe between two attempts.

    Whatever else a job fails of is told with the verdict on its last attempt.
    """
    if event.reason != "DeadlineExceeded" or not tells_of_it(event.message):
        return None
    return KubernetesEvent("Warning", "JobDeadlineExceeded", "Fail", event.message)


def _remark(event: facts.PodsObserved) -> KubernetesEvent | None:
    """Return how it is told that Pods hold up the next attempt; evidence goes with the verdict."""
    if event.purpose is not PodLook.CLEARING or not (event.total or event.trouble):
        return None
    if event.trouble:
        note = f"Pods of attempt {event.attempt} may be left: {event.trouble}"
        return KubernetesEvent("Warning", "WaitingForPods", "Wait", note)
    names = ", ".join(pod.name for pod in event.pods)
    are = "is" if event.total == 1 else "are"
    note = f"{counted(event.total, 'Pod')} of attempt {event.attempt} {are} left: {names}"
    return KubernetesEvent("Normal", "WaitingForPods", "Wait", note)


def _trouble(
    identity: JobIdentity,
    event: facts.ClusterVanished | facts.OrphanClusterFound | facts.StatusCheckFailed,
) -> KubernetesEvent | None:
    if isinstance(event, facts.StatusCheckFailed):
        note = f"The head does not tell the status of Ray job {event.job_id}: {event.trouble}"
        return KubernetesEvent("Warning", "StatusCheckFailed", "Poll", note)
    target = f"RayCluster {identity.namespace}/{event.name}"
    if isinstance(event, facts.OrphanClusterFound):
        note = f"{target} belongs to no present attempt; deleting it"
        return KubernetesEvent("Warning", "OrphanRayCluster", "Delete", note)
    if event.asked:
        return None
    note = f"{target} is gone, and its deletion was not asked for here"
    return KubernetesEvent("Warning", "RayClusterLost", "Watch", note)


def _notice(
    identity: JobIdentity,
    event: facts.HeadPodVanished | facts.ClusterKept | facts.SuspensionPostponed,
) -> KubernetesEvent:
    if isinstance(event, facts.HeadPodVanished):
        note = f"Head Pod {identity.namespace}/{event.name} is gone while the job needs it"
        return KubernetesEvent("Warning", "RayHeadPodLost", "Watch", note)
    if isinstance(event, facts.SuspensionPostponed):
        note = f"{event.phase} does not honour spec.suspend; it takes effect after that"
        return KubernetesEvent("Normal", "SuspensionPostponed", "Suspend", note)
    note = f"RayCluster {identity.namespace}/{event.name} is kept: {event.cause}"
    return KubernetesEvent("Warning", "RayClusterKept", "Keep", note)


def _transition(
    event: facts.JobSuspended | facts.JobResumed,
) -> KubernetesEvent:
    match event:
        case facts.JobSuspended():
            left = f"RayCluster and submitter of attempt {event.attempt} are gone"
            note = f"Suspended; {left if event.attempt else 'no attempt has begun'}"
            return KubernetesEvent("Normal", "JobSuspended", "Suspend", note)
        case facts.JobResumed():
            return KubernetesEvent(
                "Normal", "JobResumed", "Resume", "Resumed; a new attempt begins"
            )
        case _:
            assert_never(event)
