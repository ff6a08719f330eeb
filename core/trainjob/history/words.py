"""Words for the events of a TrainJob."""

from typing import assert_never

from jobledger.core.trainjob import events
from jobledger.core.trainjob.events import TrainFactEvent, TrainLifeEvent
from jobledger.core.trainjob.history.plugin_condition_words import conditions_in_words
from jobledger.core.trainjob.progress import in_words


def words(event: TrainFactEvent | TrainLifeEvent) -> str:
    """Return what an event says."""
    if isinstance(event, TrainFactEvent):
        return _fact(event)
    return _life(event)


def _fact(event: TrainFactEvent) -> str:
    match event:
        case events.RuntimeObserved():
            return "the runtime is there, or has changed" if event.digest else "no such runtime"
        case events.DependentVanished():
            return f"{event.kind} {event.name} is gone"
        case events.JobSetObserved():
            return f"JobSet {event.name}: {_counts(event)}"
        case events.JobSetVanished():
            return f"JobSet {event.name} is gone{'' if event.asked else ', unasked'}"
        case events.TrainerProgressReported():
            summed = f" ({event.reports} reports)" if event.reports > 1 else ""
            return f"training reports {in_words(event.progress)}{summed}"
        case events.PluginConditionsObserved():
            return conditions_in_words(event)
        case _:
            assert_never(event)


def _counts(event: events.JobSetObserved) -> str:
    said = ["suspended"] if event.suspend else []
    said += [
        f"{item.name} {name} {count}"
        for item in event.jobs
        for name, count in (
            ("active", item.active),
            ("ready", item.ready),
            ("succeeded", item.succeeded),
            ("failed", item.failed),
        )
        if count
    ]
    said += [f"restarted {event.restarts}x"] if event.restarts else []
    said += ["being deleted"] if event.deleting else []
    return ", ".join(said) or "nothing started"


def _life(event: TrainLifeEvent) -> str:  # noqa: C901, PLR0911, PLR0912 one case per event
    match event:
        case events.TrainJobDiscovered():
            return f"TrainJob {event.identity.namespace}/{event.identity.name} was seen"
        case events.TrainJobAdopted():
            shown = ", ".join(item.type for item in event.status.conditions)
            found = f"found with conditions: {shown or 'none'}"
            return f"{found}; what had happened before was not seen"
        case events.TrainJobReceived():
            return f"manifest generation {event.generation}"
        case events.JobsBuildFailed():
            return f"the objects cannot be built: {event.cause}"
        case events.RuntimePatchesWithheld():
            return "the runtimePatches were changed while the job runs: they are not in force"
        case events.BuilderChanged():
            return f"what could not be built is built again, by {event.builder}"
        case events.JobsCreationFailed():
            return f"an object cannot be applied: {event.cause}"
        case events.ObjectsApplied():
            return f"applied: {', '.join(event.names) or 'nothing to do'}"
        case events.TrainAttemptStarted():
            return f"attempt {event.attempt} began ({event.cause})"
        case events.TrainAttemptEnded():
            why = f": {event.reason}" if event.reason else ""
            return f"attempt {event.attempt} {event.outcome}{why}"
        case events.TrainJobSuspended():
            return "the job is suspended"
        case events.TrainJobResumed():
            return "the job is resumed"
        case events.TrainJobCompleted():
            return f"the job is complete: {event.message}"
        case events.TrainJobFailed():
            return f"the job has failed: {event.reason}: {event.message}"
        case events.TrainJobDeletionStarted():
            return "deletion of the TrainJob was asked for"
        case events.TrainJobDeleted():
            return "the TrainJob is gone"
        case events.OthersTrainStatusObserved():
            holds = (item.type for item in event.status.conditions if item.is_true)
            return f"its controller shows: {', '.join(holds) or 'no condition that holds'}"
        case _:
            assert_never(event)


def attempt_end_words(event: TrainFactEvent | TrainLifeEvent) -> str:
    """Return what became of an attempt."""
    if not isinstance(event, events.TrainAttemptEnded):
        return "ended"
    return {"lost": "was lost", "suspended": "was suspended"}.get(event.outcome, event.outcome)
