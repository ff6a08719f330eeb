"""The pause before a retry: the installation's, or what the job asks for; jitter without dice."""

from datetime import timedelta

import pytest

from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.backoff import shortened
from jobledger.core.jobs.retries.options import Growth, RetryOptions
from jobledger.core.jobs.retries.retry import delay

SETTING = Policy(retry_delay_seconds=7, retry_delay_max_seconds=50)


def seconds(options: RetryOptions, failures: int, seed: str = "uid/1") -> float:
    return delay(SETTING, failures, options, seed).total_seconds()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (RetryOptions(), [7, 14, 28, 50, 50]),
        (RetryOptions(delay_seconds=10), [10, 20, 40, 50, 50]),
        (RetryOptions(delay_seconds=10, delay_max_seconds=70), [10, 20, 40, 70, 70]),
        (RetryOptions(delay_seconds=10, growth=Growth.CONSTANT), [10, 10, 10, 10, 10]),
        (RetryOptions(delay_seconds=90, growth=Growth.CONSTANT), [50, 50, 50, 50, 50]),
        (RetryOptions(delay_seconds=0), [0, 0, 0, 0, 0]),
        (RetryOptions(growth=Growth.CONSTANT), [7, 7, 7, 7, 7]),
    ],
)
def test_a_pause_is_what_the_job_asks_for_or_the_installation_says(
    options: RetryOptions, expected: list[int]
) -> None:
    assert [seconds(options, failures) for failures in range(1, 6)] == expected


def test_jitter_shortens_a_pause_by_up_to_its_share_and_never_lengthens_it() -> None:
    options = RetryOptions(delay_seconds=40, growth=Growth.CONSTANT, jitter_percent=25)
    pauses = [seconds(options, 1, f"uid-{job}/1") for job in range(500)]
    assert all(30 <= pause <= 40 for pause in pauses)
    assert min(pauses) < 31
    assert max(pauses) > 39
    assert 34 < sum(pauses) / len(pauses) < 36


def test_jitter_is_the_same_for_the_same_job_and_attempt_and_another_for_others() -> None:
    options = RetryOptions(delay_seconds=1000, jitter_percent=50)
    assert seconds(options, 1, "uid/1") == seconds(options, 1, "uid/1")
    assert seconds(options, 1, "uid/1") != seconds(options, 1, "uid/2")
    assert seconds(options, 1, "uid/1") != seconds(options, 1, "another/1")


def test_without_jitter_nothing_is_shortened() -> None:
    assert shortened(timedelta(seconds=3), 0, "any") == timedelta(seconds=3)


def test_a_pause_grows_to_its_longest_however_often_it_doubles() -> None:
    day = RetryOptions(delay_seconds=86_400)
    longest = Policy(retry_delay_seconds=7, retry_delay_max_seconds=3_600)
    assert delay(longest, 1_000, day, "uid/1") == timedelta(hours=1)
