"""Computes what another deadline of the whole job would have done, over all attempts and pauses."""

from datetime import timedelta

from jobledger.core.jobs.history.attempt_facts import AttemptFacts, JobFacts
from jobledger.core.jobs.retries.job_deadline import due_at
from jobledger.core.values.instants import Instant

DEADLINE = "DeadlineExceeded"
PRE_RUNNING = "PreRunningDeadlineExceeded"


def ended_by_it(job: JobFacts, attempt: AttemptFacts) -> bool:
    """Return whether an attempt was ended by the deadline of the whole job, and not by its own."""
    own = job.active_deadline_seconds
    if attempt.reason != DEADLINE or job.options.job_deadline_seconds is None:
        return False
    if own is None or attempt.ended_at is None:
        return True
    return attempt.ended_at < due_at(attempt.started_at, own)


class WholeDeadline:
    """The deadline of a job under the other policy, as its attempts are followed one by one."""

    def __init__(self, job: JobFacts, asked: int | None) -> None:
        """Take the job, and the other deadline in seconds; None: as it was, 0: none."""
        self._job = job
        self.was = job.options.job_deadline_seconds
        self.now = self.was if asked is None else asked or None
        self._since: Instant | None = None

    @property
    def is_longer(self) -> bool:
        """Return whether what it has ended would have gone on."""
        return self.was is not None and (self.now is None or self.now > self.was)

    def due(self, attempt: AttemptFacts, shift: timedelta) -> Instant | None:
        """Return when it passes, on the observed clock of an attempt that begins `shift` later."""
        if self._since is None:
            self._since = attempt.started_at + shift
        return due_at(self._since, self.now) - shift if self.now is not None else None

    def over(self, attempt: AttemptFacts) -> None:
        """Take note of the end of an attempt: a suspension ends the count."""
        if attempt.outcome == "suspended":
            self._since = None

    def ended_the_pause(self) -> bool:
        """Return whether the job was ended by it after its last attempt, and would be again."""
        job = self._job
        last = job.attempts[-1]
        passed = job.outcome == "Failed" and job.reason == DEADLINE and last.reason != DEADLINE
        return passed and self.was is not None and not self.is_longer
