"""A deadline over all attempts that has ended a pause: how it is told and explained."""

from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.story.explain import explain
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from tests.rules.rayjob.test_job_deadline import PAUSING
from tests.support.rayjob_builders import due
from tests.support.recorded import dossier_of
from tests.support.rows import play

OVER = (*PAUSING, due(DecisionKind.JOB_DEADLINE))


def test_its_history_names_the_deadline_and_the_attempts_own_failure() -> None:
    told = [in_words(event) for event in play(RAYJOB, OVER).history]
    assert "the job has failed: DeadlineExceeded" in told
    assert "retry is cancelled: attempt 1 has ended" in told
    assert (
        "deadline of the job is due at 2026-11-21T12:02:30Z: "
        "jobledger.dev/job-deadline-seconds 150 over all attempts"
    ) in told
    (attempt,) = facts(play(RAYJOB, OVER).history).attempts
    assert (attempt.outcome, attempt.reason) == ("failed", "AppFailed")


def test_it_is_the_deadline_that_explains_the_end() -> None:
    account = explain(dossier_of(OVER))
    assert (account.outcome, account.failure_class) == ("failed", "deadline")
    assert "because it ran for longer than its deadline allows" in account.sentences[0].text
    assert "jobledger.dev/job-deadline-seconds" in account.advice


def test_a_pending_one_is_what_a_job_waits_for() -> None:
    told = " ".join(one.text for one in explain(dossier_of(PAUSING)).sentences)
    assert "deadline of the job" in told
