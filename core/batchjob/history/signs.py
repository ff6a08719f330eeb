"""Clues to why an attempt of a Job failed, event by event."""

from collections.abc import Iterator

from jobledger.core.batchjob import events
from jobledger.core.jobs.history.signs import Clue, Source


def clues(event: events.BatchOwnEvent) -> Iterator[Clue]:
    """Yield the clues of an event."""
    if (isinstance(event, events.BatchAttemptEnded) and event.outcome == "failed") or isinstance(
        event, events.BatchJobFailed | events.BatchJobFailing
    ):
        yield Source.REASON, event.reason
        yield Source.MESSAGE, event.message
    elif isinstance(event, events.AttemptJobVanished):
        yield Source.LOSS, "" if event.asked else "attempt's Job"
