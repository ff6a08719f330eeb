"""Clues to why an attempt of a TrainJob failed, event by event."""

from collections.abc import Iterator

from jobledger.core.jobs.history.signs import Clue, Source
from jobledger.core.jobs.rows import LOST
from jobledger.core.ports.cluster import CONFIGMAPS
from jobledger.core.trainjob import events as trainjob

FORBIDDEN = " is forbidden: "
"""What an API server says of an object that somebody may not read or write, or that is too many."""


def clues(event: trainjob.TrainFactEvent | trainjob.TrainLifeEvent) -> Iterator[Clue]:
    """Yield the clues of an event."""
    if isinstance(event, trainjob.TrainJobFailed | trainjob.TrainAttemptEnded):
        failed = isinstance(event, trainjob.TrainJobFailed) or event.outcome in ("failed", LOST)
        if failed:
            yield Source.REASON, event.reason
            yield Source.MESSAGE, event.message
    elif isinstance(event, trainjob.JobsBuildFailed):
        is_of_snapshot = event.cause.startswith(f"{CONFIGMAPS.kind} ")
        is_refused = event.may_pass and (is_of_snapshot or FORBIDDEN in event.cause)
        yield Source.REFUSAL if is_refused else Source.MANIFEST, event.cause
    elif isinstance(event, trainjob.JobsCreationFailed):
        yield Source.REFUSAL, event.cause
    elif isinstance(event, trainjob.JobSetObserved):
        if event.end is not None and not event.end.completed:
            yield Source.REASON, event.end.reason
            yield Source.MESSAGE, event.end.message
    elif isinstance(event, trainjob.JobSetVanished):
        yield Source.LOSS, "" if event.asked else "jobset"
