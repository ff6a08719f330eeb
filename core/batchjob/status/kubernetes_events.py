"""Selects the Kubernetes Events of a Job (`kubectl describe job`).

In the words of Kubernetes' Job controller where it has any, and of its CronJob controller for the
Jobs that are made; those about attempts are ours. Source: Kubernetes 1.36, job_controller.go and
cronjob_controllerv2.go.
"""

from collections.abc import Mapping

from jobledger.core.batchjob import events
from jobledger.core.batchjob.spec import limit_named
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.status.kubernetes_events import (
    Holding,
    KubernetesEvent,
    holding_told,
    left_out_told,
    sendable,
)
from jobledger.core.values.instants import rfc3339


def kubernetes_events(
    identity: JobIdentity, event: events.BatchJobEvent
) -> tuple[KubernetesEvent, ...]:
    """Return what users are told of `event`; mostly nothing."""
    return tuple(sendable(told) for told in (*_of_effects(event), *_of_life(identity, event)))


def _of_effects(event: events.BatchJobEvent) -> tuple[KubernetesEvent, ...]:
    if isinstance(event, shared.EffectSucceeded):
        if event.kind is EffectKind.CREATE_ATTEMPT_JOB and not event.already:
            return (_normal("SuccessfulCreate", "Create", f"Created job {event.name}"),)
        if event.kind is EffectKind.DELETE_ATTEMPT_JOB and not event.already:
            return (_normal("SuccessfulDelete", "Delete", f"Deleted job {event.name}"),)
    if isinstance(event, shared.EffectFailed | shared.EffectFaltered) and event.kind in _FAILED:
        action, doing = _FAILED[event.kind]
        note = f"Error {doing} job: {event.trouble}"
        return (_warning(f"Failed{action}", action, note),)
    return ()


_FAILED: Mapping[EffectKind, tuple[str, str]] = {
    EffectKind.CREATE_ATTEMPT_JOB: ("Create", "creating"),
    EffectKind.DELETE_ATTEMPT_JOB: ("Delete", "deleting"),
    EffectKind.SUSPEND_ATTEMPT_JOB: ("Suspend", "suspending"),
    EffectKind.RESUME_ATTEMPT_JOB: ("Resume", "resuming"),
}
"""What is tried, as the reason and the note of a failure have it.

The condition Suspended follows spec.suspend, as that of Kubernetes' controller does: that the Job
of the attempt runs on all the same is told here alone.
"""


def _of_life(  # noqa: PLR0911 one return for each kind of event
    identity: JobIdentity, event: events.BatchJobEvent
) -> tuple[KubernetesEvent, ...]:
    if isinstance(event, events.BatchJobSuspended):
        return (_normal("Suspended", "Suspend", "Job suspended"),)
    if isinstance(event, events.BatchJobResumed):
        return (_normal("Resumed", "Resume", "Job resumed"),)
    if isinstance(event, events.BatchJobCompleted):
        return (_normal("Completed", "Complete", "Job completed"),)
    if isinstance(event, events.BatchJobFailed):
        return (_warning(event.reason or "Failed", "Fail", event.message),)
    if isinstance(event, events.BatchRetryGranted):
        note = f"Attempt {event.attempt} failed ({event.reason}): {limit_named(event.rule)}"
        later = "" if event.due_at <= event.at else f", not before {rfc3339(event.due_at)}"
        return (_normal("Retrying", "Retry", f"{note}; another follows{later}"),)
    if isinstance(event, events.AttemptJobVanished) and not event.asked:
        note = f"Job {event.name} is gone, and its deletion was not asked for here"
        return (_warning("AttemptJobLost", "Watch", note),)
    if isinstance(event, shared.AnnotationsRejected):
        return (left_out_told(identity, event),)
    if isinstance(event, Holding):
        return (holding_told(event),)
    return ()


def _normal(reason: str, action: str, note: str) -> KubernetesEvent:
    return KubernetesEvent("Normal", reason, action, note)


def _warning(reason: str, action: str, note: str) -> KubernetesEvent:
    return KubernetesEvent("Warning", reason, action, note)
