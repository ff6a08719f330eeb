"""Words for how attempts of a RayJob ended and what was decided then, for an explanation."""

from jobledger.core.rayjob.events import lifecycle as rayjob
from jobledger.core.rayjob.events.lifecycle import FactEvent, LifeEvent
from jobledger.core.rayjob.status.retry_words import on_which_cluster


def completion_words(event: FactEvent | LifeEvent) -> str:
    """Return what became of a job that has completed; an instant follows."""
    stopped = isinstance(event, rayjob.JobCompleted) and event.job_status == "STOPPED"
    return "was stopped by somebody at" if stopped else "is complete since"


def attempt_end_words(event: FactEvent | LifeEvent) -> str:
    """Return what became of an attempt; only its failure has an event of its own."""
    del event
    return "failed"


def retry_words(event: FactEvent | LifeEvent) -> str:
    """Return a sentence on a retry and where it runs; empty of an event that says nothing of it."""
    if isinstance(event, rayjob.RetryRefused):
        return f"No further retry: {event.rule}."
    if isinstance(event, rayjob.RetryGranted):
        where = on_which_cluster(event)
        return f"Attempt {event.attempt} was to be retried{where}: {event.rule}."
    if isinstance(event, rayjob.ClusterGivenUp):
        return f"RayCluster {event.name} did not stay for the retry: {event.cause}."
    return ""
