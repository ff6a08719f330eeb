"""The retry rule: whether a failed attempt is followed by another. It stands here and nowhere else.

A job has `backoffLimit` + 1 attempts that may fail. A deadline is a limit on the job and not a
fault of the attempt,
and unexplained silence of the head may hide a job that is still at work: neither is ever retried.

Source: KubeRay's rayjob_controller.go, `updateStatusToSuspendingOrRetryingIfNeeded` and its
exclusions.
"""

from dataclasses import dataclass
from datetime import timedelta

from core.jobs.backoff import doubled
from core.jobs.policy import Policy

NEVER_RETRIED = frozenset({"DeadlineExceeded", "JobStatusCheckTimeoutExceeded"})
"""Reasons that end the job whatever its backoffLimit. The pre-running deadline is not among them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The answer, with the numbers it was judged by."""

    granted: bool
    rule: str
    """Why, in words."""
    backoff_limit: int
    failed: int
    """Failed attempts so far, this one included."""
    reason: str


def judge(reason: str, failed: int, backoff_limit: int) -> Verdict:
    """Return whether another attempt follows one that failed with `reason` as number `failed`."""
    if reason in NEVER_RETRIED:
        granted, rule = False, f"{reason} is never retried"
    elif backoff_limit <= 0:
        granted, rule = False, "backoffLimit is 0"
    elif failed > backoff_limit:
        granted, rule = False, f"{failed} failed attempts exhaust backoffLimit {backoff_limit}"
    else:
        granted, rule = True, f"failed attempt {failed} is within backoffLimit {backoff_limit}"
    return Verdict(
        granted=granted, rule=rule, backoff_limit=backoff_limit, failed=failed, reason=reason
    )


def delay(policy: Policy, failed: int) -> timedelta:
    """Return the pause before the retry that follows failure number `failed`."""
    return doubled(
        timedelta(seconds=policy.retry_delay_seconds),
        max(failed - 1, 0),
        timedelta(seconds=policy.retry_delay_max_seconds),
    )
