"""What the events of a TrainJob say of its attempts."""

from msgspec.structs import replace

from jobledger.core.jobs.history.attempt_facts import Asked, AttemptFacts, FactsSoFar
from jobledger.core.jobs.history.told_end import in_whole_seconds
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import NOTHING_ASKED
from jobledger.core.trainjob import events as trainjob


def take(event: trainjob.TrainFactEvent | trainjob.TrainLifeEvent, so_far: FactsSoFar) -> None:
    """Take one more event."""
    if isinstance(event, trainjob.TrainJobDiscovered):
        so_far.deadline_begins(event.identity.created_at)
    elif isinstance(event, trainjob.TrainJobResumed):
        so_far.deadline_begins(event.at)
    elif isinstance(event, trainjob.TrainJobReceived):
        whole = event.spec.job_deadline_seconds or None
        so_far.asked(
            Asked(
                active_deadline_seconds=event.spec.active_deadline_seconds or None,
                options=replace(NOTHING_ASKED, job_deadline_seconds=whole),
            ),
            retries_itself=False,
            has_rayclusters=False,
        )
    elif isinstance(event, trainjob.TrainAttemptStarted):
        so_far.began(
            AttemptFacts(
                number=event.attempt,
                started_at=event.at,
                running_at=event.at,
                cluster_from=event.at,
            )
        )
    elif isinstance(event, trainjob.TrainAttemptEnded):
        so_far.over(event.at, event.outcome, event.reason, FailureClass.OTHER)
    elif isinstance(event, trainjob.JobSetObserved):
        end = event.end
        so_far.end_told = in_whole_seconds(end.ended_at) if end is not None else None
    elif isinstance(event, trainjob.TrainJobCompleted):
        so_far.ended(event.at, "Complete", event.reason)
    elif isinstance(event, trainjob.TrainJobFailed):
        so_far.ended(event.at, "Failed", event.reason)
    elif isinstance(event, trainjob.TrainJobDeleted):
        so_far.deleted(event.at)
