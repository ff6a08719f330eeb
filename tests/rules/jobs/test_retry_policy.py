"""What a retry policy says to classes of failures: no more than asked for, and never for ever."""

import itertools

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import Answer, RetryOptions, RetryRule
from jobledger.core.jobs.retries.retry import NEVER_RETRIED, Blame, judge

PREEMPTED = Blame(FailureClass.PREEMPTION)


def policy(*rules: RetryRule, uncounted_max: int = 10) -> RetryOptions:
    return RetryOptions(rules=rules, uncounted_max=uncounted_max)


def says(failure: FailureClass, answer: Answer, exit_code: int | None = None) -> RetryRule:
    return RetryRule(failure=failure, answer=answer, exit_code=exit_code)


@pytest.mark.parametrize("reason", sorted(NEVER_RETRIED))
@pytest.mark.parametrize(("failure", "answer"), [*itertools.product(FailureClass, Answer)])
def test_no_policy_retries_what_is_never_retried(
    reason: str, failure: FailureClass, answer: Answer
) -> None:
    verdict = judge(reason, 1, 5, blame=Blame(failure), options=policy(says(failure, answer)))
    assert (verdict.granted, verdict.counted) == (False, True)
    assert verdict.rule == f"{reason} is never retried"


@pytest.mark.parametrize("failure", FailureClass)
def test_a_class_that_is_never_retried_ends_the_job_whatever_the_limit(
    failure: FailureClass,
) -> None:
    options = policy(says(failure, Answer.NEVER))
    verdict = judge("AppFailed", 1, 5, blame=Blame(failure), options=options)
    assert not verdict.granted
    assert verdict.rule == f"the retry policy never retries failure class {failure}"


@pytest.mark.parametrize("others", sorted(set(FailureClass) - {FailureClass.IMAGE_PULL}))
def test_a_rule_for_one_class_says_nothing_to_others(others: FailureClass) -> None:
    options = policy(says(FailureClass.IMAGE_PULL, Answer.NEVER))
    assert judge("AppFailed", 1, 1, blame=Blame(others), options=options).granted


def test_an_uncounted_failure_leaves_the_limit_as_it_is() -> None:
    options = policy(says(FailureClass.PREEMPTION, Answer.UNCOUNTED))
    verdict = judge("AppFailed", 3, 2, blame=PREEMPTED, uncounted=4, options=options)
    assert (verdict.granted, verdict.counted) == (True, False)
    assert (verdict.failed, verdict.uncounted) == (2, 5)
    assert verdict.rule == (
        "the retry policy does not count failure class preemption: uncounted retry 5 of at most 10"
    )


@pytest.mark.parametrize(("limit", "granted"), [(0, False), (1, True)])
def test_once_the_uncounted_retries_are_used_up_such_failures_count(
    limit: int, granted: bool
) -> None:
    options = policy(says(FailureClass.PREEMPTION, Answer.UNCOUNTED), uncounted_max=3)
    verdict = judge("AppFailed", 1, limit, blame=PREEMPTED, uncounted=3, options=options)
    assert (verdict.granted, verdict.counted, verdict.failed) == (granted, True, 1)
    assert verdict.rule.startswith("3 uncounted retries are used up, and ")


@pytest.mark.parametrize("limit", [0, 1, 4])
@pytest.mark.parametrize("most", [0, 1, 7])
def test_a_job_that_always_fails_without_counting_comes_to_an_end(limit: int, most: int) -> None:
    """After backoffLimit + 1 counted failures and as many uncounted ones as are allowed."""
    options = policy(says(FailureClass.PREEMPTION, Answer.UNCOUNTED), uncounted_max=most)
    failed = uncounted = attempts = 0
    granted = True
    while granted:
        attempts += 1
        verdict = judge(
            "AppFailed", failed + 1, limit, blame=PREEMPTED, uncounted=uncounted, options=options
        )
        granted, failed, uncounted = verdict.granted, verdict.failed, verdict.uncounted
    assert attempts == limit + 1 + most
    assert failed == limit + 1


@pytest.mark.parametrize(("code", "granted"), [(3, False), (4, True), (None, True), (-9, True)])
def test_a_rule_for_an_exit_code_goes_before_that_of_its_class(
    code: int | None, granted: bool
) -> None:
    options = policy(
        says(FailureClass.APPLICATION, Answer.RETRY),
        says(FailureClass.APPLICATION, Answer.NEVER, 3),
    )
    blame = Blame(FailureClass.APPLICATION, code)
    verdict = judge("AppFailed", 1, 1, blame=blame, options=options)
    assert verdict.granted is granted
    if code == 3:
        assert verdict.rule == (
            "the retry policy never retries failure class application (exit code 3)"
        )


def test_a_policy_that_cannot_be_understood_retries_nothing() -> None:
    verdict = judge("AppFailed", 1, 5, options=RetryOptions(unclear=True))
    assert (verdict.granted, verdict.failed) == (False, 1)
    assert verdict.rule == "the retry policy cannot be understood, so nothing is retried"


@pytest.mark.parametrize("limit", [0, 5])
@pytest.mark.parametrize(
    ("slip", "said"),
    [
        ({"unclear": True}, "the retry policy cannot be understood, so nothing is retried"),
        (
            {"deadline_unclear": True},
            "the deadline over all attempts cannot be understood, so nothing is retried",
        ),
    ],
)
def test_beside_a_slip_not_even_a_failure_that_does_not_count_is_retried(
    slip: dict[str, bool], said: str, limit: int
) -> None:
    """The slip may be in what forbids just this retry."""
    asked = policy(says(FailureClass.PREEMPTION, Answer.UNCOUNTED))
    options = replace(asked, **slip)
    verdict = judge("AppFailed", 1, limit, blame=PREEMPTED, options=options)
    assert (verdict.granted, verdict.counted, verdict.failed) == (False, True, 1)
    assert (verdict.rule, verdict.uncounted) == (said, 0)


def test_what_would_not_be_retried_anyway_is_refused_in_the_usual_words() -> None:
    unclear = RetryOptions(unclear=True)
    assert judge("AppFailed", 1, 0, options=unclear).rule == "backoffLimit is 0"
    spent = judge("AppFailed", 3, 2, options=unclear).rule
    assert spent == "3 failed attempts exhaust backoffLimit 2"
