"""Computes what another deadline of the whole job would have done, over all attempts and pauses."""

from datetime import timedelta

from jobledger.core.forensics.replay.changes import asked_of
from jobledger.core.jobs.history.attempt_facts import Asked, AttemptFacts, JobFacts
from jobledger.core.jobs.retries.job_deadline import due_at
from jobledger.core.values.instants import Instant

DEADLINE = "DeadlineExceeded"
PRE_RUNNING = "PreRunningDeadlineExceeded"


def ended_by_it(job: JobFacts, attempt: AttemptFacts) -> bool:
    """Return whether an attempt was ended by the deadline of the whole job, and not by its own."""
    asked = asked_of(job, attempt)
    own, since = asked.active_deadline_seconds, attempt.deadline_from or attempt.started_at
    if attempt.reason != DEADLINE or asked.options.job_deadline_seconds is None:
        return False
    if own is None or attempt.ended_at is None:
        return True
    return attempt.ended_at < due_at(since, own)


class WholeDeadline:
    """The deadline of a job under the other policy, as its attempts are followed one by one."""

    def __init__(self, job: JobFacts, asked: int | None) -> None:
        """Take the job, and the other deadline in seconds; None: as it was, 0: none."""
        self._job = job
        self._asked = asked
        self._take(job)
        self._since: Instant | None = None

    @property
    def is_longer(self) -> bool:
        """Return whether what it has ended would have gone on."""
        return self.was is not None and (self.now is None or self.now > self.was)

    def due(self, attempt: AttemptFacts, shift: timedelta) -> Instant | None:
        """Return when it passes, on the observed clock of an attempt that begins `shift` later.

        None: it ends nothing that it did not end.
        """
        if self._since is None:
            self._since = attempt.started_at + shift
        self._take(asked_of(self._job, attempt))
        if self.now == self.was and shift <= timedelta():
            return None
        return due_at(self._since, self.now) - shift if self.now is not None else None

    def _take(self, asked: Asked) -> None:
        """Take what was asked for when an attempt ended."""
        self.was = asked.options.job_deadline_seconds
        self.now = self.was if self._asked is None else self._asked or None

    def over(self, attempt: AttemptFacts) -> None:
        """Take note of the end of an attempt: a suspension ends the count."""
        if attempt.outcome == "suspended":
            self._since = None

    def would_not_have_ended_the_pause(self) -> bool:
        """Return whether it ended the job after its last attempt, and another would not have."""
        job = self._job
        self._take(job)
        last = job.attempts[-1]
        passed = job.outcome == "Failed" and job.reason == DEADLINE and last.reason != DEADLINE
        return passed and self.is_longer
