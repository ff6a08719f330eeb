"""Counts what attempts after a failure did, in all jobs that were looked at: for estimates."""

from collections.abc import Iterable
from dataclasses import dataclass

from jobledger.core.forensics.attempts import ENDED_WELL, cluster_hours
from jobledger.core.jobs.history.attempt_facts import JobFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """What attempts after a failure did, in all jobs that were looked at."""

    seen: int
    succeeded: int
    mean_hours: float

    @property
    def chance(self) -> float:
        """Return the share of them that succeeded."""
        return self.succeeded / self.seen if self.seen else 0.0


EXPERIENCE_MIN = 5
"""From fewer attempts no estimate is made."""


def experience(jobs: Iterable[JobFacts]) -> Experience:
    """Return what attempts that followed a failure did, where that is known."""
    seen = succeeded = 0
    hours = 0.0
    for job in jobs:
        for before, attempt in zip(job.attempts, job.attempts[1:], strict=False):
            if before.outcome == "failed" and attempt.outcome in ENDED_WELL | {"failed"}:
                seen += 1
                succeeded += attempt.outcome in ENDED_WELL
                hours += cluster_hours([attempt])
    return Experience(seen=seen, succeeded=succeeded, mean_hours=hours / seen if seen else 0.0)
