"""Words for the events of a Job."""

from typing import assert_never

from jobledger.core.batchjob import events
from jobledger.core.batchjob.events import BatchFactEvent, BatchLifeEvent, BatchOwnEvent
from jobledger.core.batchjob.spec import limit_named
from jobledger.core.values.instants import rfc3339


def words(event: BatchOwnEvent) -> str:
    """Return what an event says."""
    return _fact(event) if isinstance(event, BatchFactEvent) else _life(event)


def _fact(event: BatchFactEvent) -> str:
    match event:
        case events.AttemptJobObserved():
            return f"Job {event.name}: {_counts(event)}"
        case events.AttemptJobVanished():
            return f"Job {event.name} is gone{'' if event.asked else ', unasked'}"
        case _:
            assert_never(event)


def _counts(event: events.AttemptJobObserved) -> str:
    pods = event.pods
    said = ["suspended"] if event.suspend else []
    said += [
        f"{name} {count}"
        for name, count in (
            ("active", pods.active),
            ("ready", pods.ready),
            ("succeeded", pods.succeeded),
            ("failed", pods.failed),
            ("terminating", pods.terminating),
        )
        if count
    ]
    if event.end is not None:
        said.append("complete" if event.end.completed else f"failed ({event.end.reason})")
    said += ["being deleted"] if event.deleting else []
    return ", ".join(said) or "nothing started"


def _life(event: BatchLifeEvent) -> str:  # noqa: C901, PLR0911, PLR0912 one case per event
    match event:
        case events.BatchJobDiscovered():
            return f"Job {event.identity.namespace}/{event.identity.name} was seen"
        case events.BatchJobAdopted():
            return "found with a status; what had happened before was not seen"
        case events.BatchJobReceived():
            return f"manifest generation {event.generation}"
        case events.BatchAttemptStarted():
            return f"attempt {event.attempt} began, as Job {event.job_name}"
        case events.BatchAttemptEnded():
            why = f": {event.reason}" if event.reason else ""
            return f"attempt {event.attempt} {attempt_end_words(event)}{why}"
        case events.BatchRetryGranted() | events.BatchRetryRefused():
            return retry_words(event).rstrip(".")
        case events.BatchJobFailing():
            return f"the job is to fail: {event.reason}: {event.message}"
        case events.BatchJobSuspended():
            return "the job is suspended"
        case events.BatchJobResumed():
            return "the job is resumed"
        case events.BatchJobCompleted():
            return f"the job is complete: {event.message}"
        case events.BatchJobFailed():
            return f"the job has failed: {event.reason}: {event.message}"
        case events.BatchJobDeletionStarted():
            return "deletion of the Job was asked for"
        case events.BatchJobDeleted():
            return "the Job is gone"
        case events.OthersBatchStatusObserved():
            end = event.status.end
            told = "no end" if end is None else "Complete" if end.completed else "Failed"
            return f"its status shows: {told}"
        case _:
            assert_never(event)


def attempt_end_words(event: BatchOwnEvent) -> str:
    """Return what became of an attempt."""
    if not isinstance(event, events.BatchAttemptEnded):
        return "ended"
    return "ended unseen" if event.outcome == "unknown" else event.outcome


def retry_words(event: BatchOwnEvent) -> str:
    """Return a sentence on what was decided about a retry; empty of any other event."""
    if isinstance(event, events.BatchRetryGranted):
        due = "at once" if event.due_at <= event.at else f"from {rfc3339(event.due_at)} on"
        return f"Attempt {event.attempt} is retried {due}: {limit_named(event.rule)}."
    if isinstance(event, events.BatchRetryRefused):
        return f"Attempt {event.attempt} is not retried: {limit_named(event.rule)}."
    return ""
