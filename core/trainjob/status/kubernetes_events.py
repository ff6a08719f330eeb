"""Selects the Kubernetes Events of a TrainJob (`kubectl describe trainjob`).

Upstream sends exactly one kind: that its resources could not be created. The few others are ours,
for whoever describes a job. Source: trainjob_controller.go.
"""

from jobledger.core.jobs.events import AnnotationsRejected, LedgerBehindFound, RecoveredFromCluster
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.status.held_job_events import holding_told
from jobledger.core.jobs.status.kubernetes_events import KubernetesEvent
from jobledger.core.jobs.status.left_out_events import left_out_told
from jobledger.core.trainjob import events
from jobledger.core.trainjob.building.validation import ONLY_WHEN_SUSPENDED
from jobledger.core.trainjob.contributions.contribution import refused_in_words

CAUSE_MAX = 950
"""How much of a cause upstream shows."""
NOTE_MAX_BYTES = 1024
"""Longer notes are refused by the API server."""


def kubernetes_events(  # noqa: PLR0911 one return for each kind of event
    identity: JobIdentity, event: events.TrainJobEvent
) -> tuple[KubernetesEvent, ...]:
    """Return what users are told of `event`; mostly nothing."""
    if isinstance(event, events.JobsBuildFailed | events.JobsCreationFailed):
        cause = event.cause if len(event.cause) <= CAUSE_MAX else f"{event.cause[:CAUSE_MAX]} ..."
        note = f"TrainJob resources reconciliation failed: {cause}"
        return (_told("Reconciling", "TrainJobResourcesCreationFailed", note),)
    if isinstance(event, events.RuntimePatchesWithheld):
        note = f"{ONLY_WHEN_SUSPENDED}: what runs goes on as it is, until the TrainJob is suspended"
        return (_told("Reconciling", "RuntimePatchesWithheld", note),)
    if isinstance(event, events.PluginConditionsObserved):
        return tuple(
            _told("Observe", "PluginConditionRefused", refused_in_words(event.contribution, one))
            for one in event.contribution.refused
        )
    if isinstance(event, events.TrainJobFailed):
        return (_told("Fail", "TrainJobFailed", f"{event.reason}: {event.message}"),)
    if isinstance(event, events.JobSetVanished) and not event.asked:
        note = f"JobSet {event.name} is gone, and its deletion was not asked for here"
        return (_told("Watch", "JobSetLost", note),)
    if isinstance(event, events.TrainAttemptStarted) and event.cause != "first":
        note = f"Attempt {event.attempt} began: the JobSet was {event.cause}"
        return (KubernetesEvent("Normal", "AttemptStarted", "Start", note),)
    if isinstance(event, AnnotationsRejected):
        left_out = left_out_told(identity, event)
        return (_told(left_out.action, left_out.reason, left_out.note),)
    if isinstance(event, LedgerBehindFound | RecoveredFromCluster):
        told = holding_told(event)
        return (told,) if told.type == "Normal" else (_told(told.action, told.reason, told.note),)
    return ()


def _told(action: str, reason: str, note: str) -> KubernetesEvent:
    cut = note.encode(errors="replace")[:NOTE_MAX_BYTES].decode(errors="ignore")
    return KubernetesEvent("Warning", reason, action, cut)
