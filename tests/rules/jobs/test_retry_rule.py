"""The retry rule: every reason, every limit. Source: KubeRay, semantics of backoffLimit."""

from datetime import timedelta

import pytest

from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.backoff import doubled
from jobledger.core.jobs.retries.retry import NEVER_RETRIED, Verdict, delay, judge

RETRYABLE = (
    "AppFailed",
    "SubmissionFailed",
    "PreRunningDeadlineExceeded",
    "JobDeploymentStatusTransitionGracePeriodExceeded",
)
EXCLUDED = ("DeadlineExceeded", "JobStatusCheckTimeoutExceeded")


def test_exactly_two_reasons_are_never_retried() -> None:
    assert sorted(EXCLUDED) == sorted(NEVER_RETRIED)


@pytest.mark.parametrize("reason", RETRYABLE)
@pytest.mark.parametrize("limit", [0, 1, 2, 5])
@pytest.mark.parametrize("failed", [1, 2, 3, 6, 7])
def test_a_retryable_failure_is_retried_while_failures_do_not_exceed_the_limit(
    reason: str, limit: int, failed: int
) -> None:
    """So a job has backoffLimit + 1 attempts that may fail."""
    assert judge(reason, failed, limit).granted is (failed < limit + 1)


@pytest.mark.parametrize("reason", EXCLUDED)
@pytest.mark.parametrize("limit", [0, 1, 5])
@pytest.mark.parametrize("failed", [1, 2, 6])
def test_an_excluded_reason_is_refused_whatever_the_limit(
    reason: str, limit: int, failed: int
) -> None:
    verdict = judge(reason, failed, limit)
    assert verdict == Verdict(
        granted=False,
        rule=f"{reason} is never retried",
        backoff_limit=limit,
        failed=failed,
        reason=reason,
    )


@pytest.mark.parametrize(
    ("failed", "limit", "granted", "rule"),
    [
        (1, 0, False, "backoffLimit is 0"),
        (1, 2, True, "failed attempt 1 is within backoffLimit 2"),
        (2, 2, True, "failed attempt 2 is within backoffLimit 2"),
        (3, 2, False, "3 failed attempts exhaust backoffLimit 2"),
        (9, 2, False, "9 failed attempts exhaust backoffLimit 2"),
    ],
)
def test_a_verdict_carries_the_numbers_it_was_judged_by(
    failed: int, limit: int, granted: bool, rule: str
) -> None:
    expected = Verdict(
        granted=granted, rule=rule, backoff_limit=limit, failed=failed, reason="AppFailed"
    )
    assert judge("AppFailed", failed, limit) == expected


@pytest.mark.parametrize("failed", [1, 2, 3, 50])
def test_by_default_a_retry_is_due_at_once_as_upstream(failed: int) -> None:
    assert delay(Policy(), failed) == timedelta(0)


@pytest.mark.parametrize(
    ("failed", "seconds"), [(1, 10), (2, 20), (3, 40), (4, 80), (5, 100), (99, 100)]
)
def test_a_configured_pause_doubles_with_every_failure_up_to_its_maximum(
    failed: int, seconds: int
) -> None:
    policy = Policy(retry_delay_seconds=10, retry_delay_max_seconds=100)
    assert delay(policy, failed) == timedelta(seconds=seconds)


@pytest.mark.parametrize(("times", "seconds"), [(0, 10), (1, 20), (4, 160), (5, 300), (10**9, 300)])
def test_doubling_ends_at_the_longest_pause_and_never_overflows(times: int, seconds: int) -> None:
    longest = timedelta(minutes=5)
    assert doubled(timedelta(seconds=10), times, longest) == timedelta(seconds=seconds)
