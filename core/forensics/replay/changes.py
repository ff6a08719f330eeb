"""What is different about another policy, and a job's life under it."""

from dataclasses import dataclass
from datetime import timedelta

from jobledger.core.jobs.history.attempt_facts import Asked, AttemptFacts, JobFacts
from jobledger.core.jobs.retries.options import Growth, RetryRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is different about the other policy; None: as it was."""

    backoff_limit: int | None = None
    delay_seconds: int | None = None
    delay_max_seconds: int | None = None
    growth: Growth | None = None
    rules: tuple[RetryRule, ...] | None = None
    """The retry policy by cause or group; asked of `with_causes`."""
    uncounted_max: int | None = None
    active_deadline_seconds: int | None = None
    """0: no deadline."""
    pre_running_deadline_seconds: int | None = None
    """0: no deadline."""
    job_deadline_seconds: int | None = None
    """Over all attempts; 0: no deadline."""
    ttl_seconds: int | None = None
    """Shut down so long after the end; -1: never."""
    same_cluster: bool = False
    """Retry on the same RayCluster where that can be; asked of `judged_facts`."""


@dataclass(slots=True)
class Life:
    """A job's life under the other policy, as far as it has been followed."""

    failed: int = 0
    """Counted failures, by the other policy."""
    observed: int = 0
    """Counted failures as they were."""
    uncounted: int = 0
    observed_uncounted: int = 0
    shift: timedelta = timedelta()
    why: str = ""

    def differs(self, why: str) -> None:
        """Take note of the first difference."""
        self.why = self.why or why


def asked_of(job: JobFacts, attempt: AttemptFacts) -> Asked:
    """Return what the manifest asked for when an attempt ended; now, if it goes on."""
    return attempt.asked or job
