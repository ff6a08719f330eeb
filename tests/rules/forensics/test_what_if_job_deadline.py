"""What another deadline over all attempts would have done."""

import pytest

from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.replay.changes import Change
from jobledger.core.forensics.replay.what_if import ask
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.retries.options import RetryOptions
from jobledger.core.rayjob.decide.decide import RAYJOB
from tests.rules.forensics.test_what_if import THIRD_TIME_LUCKY, attempt, brief, job
from tests.rules.rayjob.test_job_deadline import MINUTES, PAUSING
from tests.support.rayjob_builders import after, due
from tests.support.rayjob_stories import working
from tests.support.rows import play

HOURS = 3600
"""Attempts are an hour long and begin every two hours."""


@pytest.mark.parametrize(
    ("seconds", "would_be", "attempts", "hours", "why"),
    [
        (6 * HOURS, "Complete", 3, 3.0, ""),
        (
            4 * HOURS + 1800,
            "Failed (DeadlineExceeded)",
            3,
            2.5,
            "attempt 3 would have ended after 1800 s (DeadlineExceeded)",
        ),
        (
            3 * HOURS + 1800,
            "Failed (DeadlineExceeded)",
            2,
            2.0,
            "the job's deadline would have passed before attempt 3",
        ),
        (
            1800,
            "Failed (DeadlineExceeded)",
            1,
            0.5,
            "attempt 1 would have ended after 1800 s (DeadlineExceeded)",
        ),
    ],
)
def test_one_that_was_not_there(
    seconds: int, would_be: str, attempts: int, hours: float, why: str
) -> None:
    answer = ask(THIRD_TIME_LUCKY, Change(job_deadline_seconds=seconds))
    assert (*brief(answer), answer.why) == (would_be, attempts, hours, "", why)


def test_a_suspension_ends_the_count() -> None:
    resumed = job(attempt(1, "suspended"), attempt(2, "succeeded"))
    assert not ask(resumed, Change(job_deadline_seconds=HOURS)).is_different


@pytest.mark.parametrize(
    ("change", "would_be", "unknown"),
    [
        (Change(backoff_limit=4), "Failed (DeadlineExceeded)", ""),
        (Change(job_deadline_seconds=149), "Failed (DeadlineExceeded)", ""),
        (Change(job_deadline_seconds=0), "unknown", "attempt 2 never ran"),
        (Change(job_deadline_seconds=700), "unknown", "attempt 2 never ran"),
    ],
)
def test_one_that_has_ended_a_pause(change: Change, would_be: str, unknown: str) -> None:
    known = facts(play(RAYJOB, (*PAUSING, due(DecisionKind.JOB_DEADLINE))).history)
    answer = ask(known, change)
    assert (answer.was, answer.would_be, answer.unknown) == (
        "Failed (DeadlineExceeded)",
        would_be,
        unknown,
    )


@pytest.mark.parametrize(
    ("change", "would_be", "unknown"),
    [
        (Change(active_deadline_seconds=600), "Failed (DeadlineExceeded)", ""),
        (Change(active_deadline_seconds=60), "Failed (DeadlineExceeded)", ""),
        (Change(job_deadline_seconds=0), "unknown", "how attempt 1 would have gone on"),
        (Change(job_deadline_seconds=100), "Failed (DeadlineExceeded)", ""),
    ],
)
def test_one_that_has_ended_an_attempt(change: Change, would_be: str, unknown: str) -> None:
    story = (*working(options=MINUTES, backoff_limit=5), due(DecisionKind.JOB_DEADLINE))
    answer = ask(facts(play(RAYJOB, story).history), change)
    assert (answer.would_be, answer.unknown) == (would_be, unknown)


def test_an_attempts_own_deadline_is_told_from_it() -> None:
    both = working(options=RetryOptions(job_deadline_seconds=150), active_deadline_seconds=60)
    story = (*both, due(DecisionKind.ACTIVE_DEADLINE))
    known = facts(play(RAYJOB, story).history)
    assert known.ended_at == after(60)
    assert ask(known, Change(active_deadline_seconds=0)).unknown
    assert not ask(known, Change(job_deadline_seconds=0)).is_different
