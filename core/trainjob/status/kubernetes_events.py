"""Selects the Kubernetes Events of a TrainJob (`kubectl describe trainjob`).

Upstream sends exactly one kind: that its resources could not be created. The few others are ours,
for whoever describes a job. Source: trainjob_controller.go.
"""

from jobledger.core.jobs.events import AnnotationsRejected, EffectFailed, EffectFaltered
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.status.kubernetes_events import (
    Holding,
    KubernetesEvent,
    holding_told,
    left_out_told,
    sendable,
)
from jobledger.core.trainjob import events
from jobledger.core.trainjob.building.validation import ONLY_WHEN_SUSPENDED
from jobledger.core.trainjob.contributions.contribution import refused_in_words

CAUSE_MAX = 950
"""How much of a cause upstream shows."""


def kubernetes_events(
    identity: JobIdentity, event: events.TrainJobEvent
) -> tuple[KubernetesEvent, ...]:
    """Return what users are told of `event`; mostly nothing."""
    return tuple(sendable(told) for told in _told(identity, event))


def _told(  # noqa: PLR0911 one return for each kind of event
    identity: JobIdentity, event: events.TrainJobEvent
) -> tuple[KubernetesEvent, ...]:
    if isinstance(event, events.JobsBuildFailed | events.JobsCreationFailed):
        cause = event.cause if len(event.cause) <= CAUSE_MAX else f"{event.cause[:CAUSE_MAX]} ..."
        note = f"TrainJob resources reconciliation failed: {cause}"
        return (_warning("Reconciling", "TrainJobResourcesCreationFailed", note),)
    if isinstance(event, EffectFailed | EffectFaltered):
        return _of_an_effect(identity, event)
    if isinstance(event, events.RuntimePatchesWithheld):
        note = f"{ONLY_WHEN_SUSPENDED}: what runs goes on as it is, until the TrainJob is suspended"
        return (_warning("Reconciling", "RuntimePatchesWithheld", note),)
    if isinstance(event, events.PluginConditionsObserved):
        return tuple(
            _warning("Observe", "PluginConditionRefused", refused_in_words(event.contribution, one))
            for one in event.contribution.refused
        )
    if isinstance(event, events.TrainJobFailed):
        return (_warning("Fail", "TrainJobFailed", f"{event.reason}: {event.message}"),)
    if isinstance(event, events.JobSetVanished) and not event.asked:
        note = f"JobSet {event.name} is gone, and its deletion was not asked for here"
        return (_warning("Watch", "JobSetLost", note),)
    if isinstance(event, events.TrainAttemptStarted) and event.cause != "first":
        note = f"Attempt {event.attempt} began: the JobSet was {event.cause}"
        return (KubernetesEvent("Normal", "AttemptStarted", "Start", note),)
    if isinstance(event, AnnotationsRejected):
        return (left_out_told(identity, event),)
    if isinstance(event, Holding):
        return (holding_told(event),)
    return ()


def _of_an_effect(
    identity: JobIdentity, event: EffectFailed | EffectFaltered
) -> tuple[KubernetesEvent, ...]:
    """Return how it is told that a deletion failed; of the rest, what was not built or created."""
    if event.kind is not EffectKind.DELETE_JOBSET:
        return ()
    note = f"Failed to delete JobSet {identity.namespace}/{event.name}: {event.trouble}"
    return (_warning("Delete", "JobSetDeletionFailed", note),)


def _warning(action: str, reason: str, note: str) -> KubernetesEvent:
    return KubernetesEvent("Warning", reason, action, note)
