"""The attempts of a whole stream as observed, and for how long their clusters were there."""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs.history.attempt_facts import AttemptFacts, FactsSoFar, JobFacts
from jobledger.core.kinds import take_facts

ENDED_WELL = frozenset({"succeeded", "stopped"})


def facts(events: Iterable[JobEvent]) -> JobFacts:
    """Return what a whole stream tells."""
    so_far = FactsSoFar()
    for event in events:
        so_far.occurred(event.at)
        take_facts(event, so_far)
    return so_far.finished()


def cluster_hours(attempts: Sequence[AttemptFacts]) -> float:
    """Return for how many hours clusters of these attempts were known to be there."""
    return sum((item.cluster_time for item in attempts), timedelta()) / timedelta(hours=1)
