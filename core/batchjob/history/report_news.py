"""What the events and the state of a Job mean for reports."""

from collections.abc import Sequence

from jobledger.core.batchjob import events
from jobledger.core.batchjob.phases import Phase
from jobledger.core.batchjob.state import BatchJobState
from jobledger.core.jobs.history.holdings import Pods
from jobledger.core.jobs.history.report_news import (
    AttemptFailed,
    FailureJudged,
    FailureNews,
    Found,
    JobFailed,
    Workload,
)
from jobledger.core.values.documents import Manifest, child, items, number, text


def failure_news(event: events.BatchJobEvent) -> FailureNews | None:
    """Return what an event says of a failure; None if nothing."""
    if isinstance(event, events.BatchAttemptEnded) and event.outcome == "failed":
        return AttemptFailed(attempt=event.attempt, reason=event.reason, message=event.message)
    if isinstance(event, events.BatchRetryGranted | events.BatchRetryRefused):
        return FailureJudged(
            attempt=event.attempt,
            failure=event.failure,
            exit_code=None,
            retried=isinstance(event, events.BatchRetryGranted),
        )
    if isinstance(event, events.BatchJobFailed):
        return JobFailed(attempt=None, reason=event.reason, message=event.message)
    return None


def shows_ready_pods(event: events.BatchJobEvent, beside: str) -> bool:
    """Return whether an event shows a Pod of the attempt ready, or over; none is beside it."""
    del beside
    if not isinstance(event, events.AttemptJobObserved):
        return False
    return event.pods.ready > 0 or event.pods.succeeded > 0


def found(state: BatchJobState) -> Found | None:
    """Return how a job was found that was just adopted; None: as if from its beginning.

    Which attempt it was in is told by the first look at that one's Job.
    """
    idle = state.phase in (Phase.NEW, Phase.SUSPENDED) and state.started_at is None
    return None if idle else Found(1, may_have_run=True)


def workload(document: Manifest) -> Workload:
    """Return what a manifest runs: no framework that is known, on its first container's image."""
    for container in items(document, "spec", "template", "spec", "containers"):
        return Workload("", "", text(container, "image"))
    return Workload("", "", "")


def pods(document: Manifest) -> Sequence[Pods]:
    """Return the Pods of a Job that run at once: parallelism, and no more than completions."""
    wanted, completions = (
        number(document, "spec", "parallelism"),
        number(document, "spec", "completions"),
    )
    count = 1 if wanted is None else wanted
    if completions is not None:
        count = min(count, completions)
    return (Pods(child(document, "spec", "template", "spec"), count),)
