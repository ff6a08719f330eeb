"""The retry rule: the only place that decides whether a failed attempt is retried.

A job has `backoffLimit` + 1 attempts that may fail. A deadline is a limit on the job and not a
fault of the attempt, and unexplained silence of the head may hide a job that is still at work:
neither is ever retried, whatever a policy says. A policy can refuse a retry by the cause of the
failure or its group, or grant it without counting; how often it may do so is bounded, so nothing
loops.

Source: KubeRay's rayjob_controller.go, `updateStatusToSuspendingOrRetryingIfNeeded` and its
exclusions. Policies by class are ours; Kubernetes' podFailurePolicy is their model.
"""

from dataclasses import dataclass
from datetime import timedelta

from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.backoff import constant, doubled, shortened
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import (
    NOTHING_ASKED,
    Answer,
    Growth,
    RetryOptions,
    RetryRule,
)

UNCLEAR = "the retry policy cannot be understood, so nothing is retried"
"""Rule by which a retry is refused that a policy which nobody can read might forbid."""

UNCLEAR_DEADLINE = "the deadline over all attempts cannot be understood, so nothing is retried"
"""The same of a deadline which nobody can read."""

NEVER_RETRIED = frozenset({"DeadlineExceeded", "JobStatusCheckTimeoutExceeded"})
"""Reasons that end the job whatever its backoffLimit. The pre-running deadline is not among them.
"""


@dataclass(frozen=True, slots=True)
class Blame:
    """What a failure was found to be."""

    failure: FailureClass = FailureClass.OTHER
    exit_code: int | None = None
    """The application's, if it is known."""
    cause: str = ""
    """The cause within the group, where it was asked for."""

    def words(self, rule: RetryRule | None) -> str:
        """Return it for people, as the rule of the policy that speaks of it names it."""
        if rule is not None and rule.cause:
            return f"failure class {rule.cause} (of {self.failure})"
        is_exit = self.failure is FailureClass.APPLICATION and self.exit_code is not None
        return f"failure class {self.failure}" + (
            f" (exit code {self.exit_code})" if is_exit else ""
        )


UNKNOWN = Blame()

LIMIT = "backoffLimit"
"""What a verdict calls the limit of counted failures; a kind with another word tells it by that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer, with the numbers it was judged by."""

    granted: bool
    rule: str
    """Why, in words."""
    backoff_limit: int
    failed: int
    """Counted failures so far, this one included if it counts."""
    reason: str
    failure: FailureClass = FailureClass.OTHER
    counted: bool = True
    """Whether this failure uses up backoffLimit."""
    uncounted: int = 0
    """Retries that were granted without counting, this one included."""


def judge(
    reason: str,
    failed: int,
    backoff_limit: int,
    *,
    blame: Blame = UNKNOWN,
    uncounted: int = 0,
    options: RetryOptions = NOTHING_ASKED,
) -> Verdict:
    """Return whether another attempt follows one that failed with `reason`.

    Args:
        reason: the failure's, as `.status` shows it.
        failed: counted failures, this one included.
        backoff_limit: how many of them are followed by another attempt.
        blame: what the failure was found to be.
        uncounted: retries that were granted without counting before.
        options: what the job asks for.
    """
    asked = options.rule_for(blame.failure, blame.exit_code, blame.cause)
    answer, counted = asked.answer if asked is not None else Answer.RETRY, True
    unclear = UNCLEAR if options.unclear else UNCLEAR_DEADLINE if options.deadline_unclear else ""
    spared = answer is Answer.UNCOUNTED and uncounted < options.uncounted_max
    by_count, rule = _by_count(failed, backoff_limit)
    if reason in NEVER_RETRIED:
        granted, rule = False, f"{reason} is never retried"
    elif answer is Answer.NEVER:
        granted, rule = False, f"the retry policy never retries {blame.words(asked)}"
    elif unclear and (spared or by_count):
        granted, rule = False, unclear
    elif spared:
        granted, counted, failed, uncounted = True, False, failed - 1, uncounted + 1
        rule = (
            f"the retry policy does not count {blame.words(asked)}: "
            f"uncounted retry {uncounted} of at most {options.uncounted_max}"
        )
    else:
        granted = by_count
        if answer is Answer.UNCOUNTED:
            rule = f"{uncounted} uncounted retries are used up, and {rule}"
    return Verdict(
        granted=granted,
        rule=rule,
        backoff_limit=backoff_limit,
        failed=failed,
        reason=reason,
        failure=blame.failure,
        counted=counted,
        uncounted=uncounted,
    )


def _by_count(failed: int, backoff_limit: int) -> tuple[bool, str]:
    if backoff_limit <= 0:
        return False, f"{LIMIT} is 0"
    if failed > backoff_limit:
        return False, f"{failed} failed attempts exhaust {LIMIT} {backoff_limit}"
    return True, f"failed attempt {failed} is within {LIMIT} {backoff_limit}"


def delay(
    policy: Policy, failures: int, options: RetryOptions = NOTHING_ASKED, seed: str = ""
) -> timedelta:
    """Return the pause before the retry that follows failure number `failures`, counted or not.

    `seed` names the job and the attempt: jitter follows from it, so that a replay comes to the
    same instant.
    """
    seconds = policy.retry_delay_seconds if options.delay_seconds is None else options.delay_seconds
    longest = options.delay_max_seconds
    cap = timedelta(seconds=policy.retry_delay_max_seconds if longest is None else longest)
    first = timedelta(seconds=seconds)
    if options.growth is Growth.CONSTANT:
        pause = constant(first, cap)
    else:
        pause = doubled(first, max(failures - 1, 0), cap)
    return shortened(pause, options.jitter_percent, seed)
