"""Retry options beyond `backoffLimit`. A job without them is treated exactly as upstream does.

Users ask by annotations, because the definition of the job is not ours to extend; reading them is
the business of each kind of job.
"""

from enum import StrEnum

from msgspec import Struct

from jobledger.core.jobs.retries.failures import FailureClass

UNCOUNTED_RETRIES_MAX = 10
"""How many retries may go uncounted where the job does not say: enough for a bad day of preemption,
and no loop."""


class Answer(StrEnum):
    """What a retry policy says to a class of failures. Its text is what users write."""

    RETRY = "retry"
    """Another attempt, within `backoffLimit`: as if nothing had been said."""
    NEVER = "never"
    """No other attempt."""
    UNCOUNTED = "uncounted"
    """Another attempt that does not use up `backoffLimit`."""


class Growth(StrEnum):
    """How the pause before a retry grows from one to the next."""

    CONSTANT = "constant"
    EXPONENTIAL = "exponential"
    """It doubles."""


class RetryRule(Struct, frozen=True, kw_only=True):
    """What the policy says to a group of failures, to one cause, or to one exit code."""

    failure: FailureClass
    """The group."""
    answer: Answer
    exit_code: int | None = None
    """Of the application: to this one only."""
    cause: str = ""
    """The cause in the group to which alone it says something; empty: to the whole group."""


class RetryOptions(Struct, frozen=True, kw_only=True, gc=False):
    """Everything a job may ask for about its retries."""

    rules: tuple[RetryRule, ...] = ()
    """The retry policy. Empty: every failure is retried alike, and Pods are not looked at."""
    unclear: bool = False
    """There is a policy that cannot be understood: it might forbid any retry, so none is granted.
    """
    uncounted_max: int = UNCOUNTED_RETRIES_MAX
    """Retries without counting; from then on such failures count like others."""
    delay_seconds: int | None = None
    """Pause before the first retry; None: the installation's setting."""
    delay_max_seconds: int | None = None
    """Longest pause; None: the installation's setting."""
    growth: Growth = Growth.EXPONENTIAL
    jitter_percent: int = 0
    """By up to so much of itself a pause is shortened, by a share derived from job and attempt."""
    wait_for_pods: bool = False
    """The next attempt begins only when no Pod of the last is left."""
    same_cluster: bool = False
    """The next attempt runs on the cluster of the last, where that can be. Not of TrainJobs."""
    label_attempts: bool = False
    """What is created carries the number of the attempt as a label, Pods included."""
    job_deadline_seconds: int | None = None
    """Deadline of the whole job, over all its attempts; None: there is none."""
    deadline_unclear: bool = False
    """There is such a deadline that cannot be understood: no retry is granted that it might forbid.
    """

    def speaks_of(self, exit_code: int | None) -> bool:
        """Return whether a rule names this very exit code of the application."""
        return exit_code is not None and any(rule.exit_code == exit_code for rule in self.rules)

    @property
    def names_causes(self) -> bool:
        """Return whether a rule is about less than a group."""
        return any(rule.cause for rule in self.rules)

    def rule_for(
        self, failure: FailureClass, exit_code: int | None = None, cause: str = ""
    ) -> RetryRule | None:
        """Return the rule that speaks of a failure, None if none does.

        One for the very exit code goes before one for the cause, and that before its group's.
        """
        of_group = [rule for rule in self.rules if rule.failure is failure]
        for code, name in ((exit_code, ""), (None, cause), (None, "")):
            for rule in of_group:
                if (rule.exit_code, rule.cause) == (code, name):
                    return rule
        return None


NOTHING_ASKED = RetryOptions()
"""As upstream."""
