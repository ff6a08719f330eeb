"""What is told of an event: the cause by all that is known, nothing of later attempts."""

from collections.abc import Iterable

from jobledger.core.notifications.occasions import TEXT_MAX, occasion_of
from jobledger.core.notifications.rules import Occasion
from tests.rules.forensics.corpus.programs import PROGRAMS
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import poll, submitter
from tests.support.recorded import dossier_of
from tests.support.rows import Step


def told(story: Iterable[Step], event: str) -> list[Occasion]:
    dossier = dossier_of(story)
    return [
        occasion_of(dossier, stored) for stored in dossier.events if stored.record.type == event
    ]


TWICE = (
    *stories.failed_attempts(1, backoff_limit=1),
    *stories.built(2),
    *stories.readied(2),
    *stories.failing(2),
)
THEN_GOOD = (
    *stories.failed_attempts(1, backoff_limit=1),
    *stories.built(2),
    *stories.readied(2),
    poll("SUCCEEDED", 140, attempt=2, started_at=125, ended_at=139),
    submitter("Complete", 142, attempt=2),
)


def test_the_end_is_told_as_explain_begins() -> None:
    [end] = told(TWICE, "JobFailed")
    assert end.called == {"JobFailed", "job-failed"}
    assert "failed at" in end.text
    assert "after 2 attempts, because the program itself failed" in end.text
    assert (end.attempt, end.cause, end.failure_class) == (2, "application", "application")
    assert end.advice


def test_an_attempt_is_told_without_what_came_after_it() -> None:
    first, second = told(TWICE, "AttemptFailed")
    assert (first.attempt, second.attempt) == (1, 2)
    assert first.called == {"AttemptFailed", "attempt-failed"}
    assert "attempt 1 failed: AppFailed" in first.text
    assert first.cause == second.cause == "application"
    alone = told(stories.failed_attempts(1, backoff_limit=1), "AttemptFailed")
    assert alone[0] == first


def test_a_success_tells_no_failure() -> None:
    [end] = told(THEN_GOOD, "JobCompleted")
    assert end.called == {"JobCompleted", "job-complete"}
    assert "on attempt 2" in end.text
    assert (end.cause, end.failure_class, end.advice) == ("", "", "")


def test_what_came_after_the_event_says_why_it_failed() -> None:
    """Evidence is kept a little later than the end."""
    for case in PROGRAMS:
        dossier = case.dossier()
        end = next(item for item in dossier.events if item.record.type == "JobFailed")
        assert occasion_of(dossier, end).cause == case.expected, case.name


def test_another_event_is_told_in_its_own_words() -> None:
    [began, _] = told(TWICE, "AttemptStarted")
    assert began.called == {"AttemptStarted"}
    assert ": attempt 1 began on RayCluster" in began.text
    assert (began.attempt, began.cause) == (1, "")


def test_no_text_is_without_an_end() -> None:
    for occasion in (*told(TWICE, "JobFailed"), *told(TWICE, "AttemptFailed")):
        assert len(occasion.text) <= TEXT_MAX
