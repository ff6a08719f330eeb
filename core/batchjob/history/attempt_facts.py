"""What the events of a Job say of its attempts."""

from jobledger.core.batchjob import events
from jobledger.core.jobs.history.attempt_facts import Asked, AttemptFacts, FactsSoFar
from jobledger.core.jobs.history.told_end import in_whole_seconds
from jobledger.core.values.documents import number


def take(event: events.BatchOwnEvent, so_far: FactsSoFar) -> None:
    """Take one more event."""
    if isinstance(event, events.BatchFactEvent):
        _of_job(event, so_far)
    else:
        _of_life(event, so_far)


def _of_job(event: events.BatchFactEvent, so_far: FactsSoFar) -> None:
    """Take what was seen of an attempt's Job; once that is over it holds nothing, however long."""
    last = so_far.last
    if last is None or last.number != event.attempt:
        return
    if isinstance(event, events.AttemptJobObserved):
        end = event.end
        so_far.end_told = in_whole_seconds(end.ended_at) if end is not None else None
        if last.running_at is None and event.pods.active:
            so_far.update(running_at=event.at)


def _of_life(event: events.BatchLifeEvent, so_far: FactsSoFar) -> None:
    if isinstance(event, events.BatchJobReceived):
        _received(event, so_far)
    elif isinstance(event, events.BatchAttemptStarted):
        so_far.began(AttemptFacts(number=event.attempt, started_at=event.at, cluster_from=event.at))
    elif isinstance(event, events.BatchJobSuspended):
        so_far.pauses(event.at)
    elif isinstance(event, events.BatchJobResumed):
        so_far.goes_on(event.at)
        _resumed(event, so_far)
    elif isinstance(event, events.BatchAttemptEnded):
        so_far.over(event.at, event.outcome, event.reason, event.failure)
    elif isinstance(event, events.BatchRetryGranted | events.BatchRetryRefused):
        so_far.judged(event.failure, None)
        granted = isinstance(event, events.BatchRetryGranted)
        so_far.verdict(granted=granted, failed_before=event.failed - 1)
    elif isinstance(event, events.BatchJobCompleted):
        so_far.ended(event.at, "Complete", event.reason)
    elif isinstance(event, events.BatchJobFailed):
        so_far.ended(event.at, "Failed", event.reason)
    elif isinstance(event, events.BatchJobDeleted):
        so_far.deleted(event.at)


def _received(event: events.BatchJobReceived, so_far: FactsSoFar) -> None:
    """Take the specification; the Job of each attempt has the activeDeadlineSeconds of it."""
    seconds = so_far.asks.active_deadline_seconds
    if event.document:
        seconds = number(event.document, "spec", "activeDeadlineSeconds")
    so_far.asked(
        Asked(
            backoff_limit=event.spec.backoff_limit,
            active_deadline_seconds=seconds,
            policy=event.policy,
            options=event.spec.options,
        ),
        has_rayclusters=False,
    )


def _resumed(event: events.BatchJobResumed, so_far: FactsSoFar) -> None:
    """Count the deadline of the attempt anew, as Kubernetes does when it resumes a Job."""
    if so_far.last is not None and not so_far.last.outcome:
        so_far.update(deadline_from=event.at)
