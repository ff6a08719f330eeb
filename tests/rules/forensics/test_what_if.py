"""What another policy would have done: what was observed is kept, what was not is unknown."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from jobledger.core.forensics.attempts import cluster_hours, facts
from jobledger.core.forensics.replay.changes import Change
from jobledger.core.forensics.replay.experience import EXPERIENCE_MIN, experience
from jobledger.core.forensics.replay.what_if import Answer, ask, totals
from jobledger.core.jobs.history.attempt_facts import AttemptFacts, JobFacts
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import Answer as Verdict
from jobledger.core.jobs.retries.options import Growth, RetryRule
from jobledger.core.rayjob.decide.decide import RAYJOB
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import (
    after,
    cluster_gone,
    done,
    due,
    interrupted,
    poll,
    submitter,
)
from tests.support.rows import Step, play

HOUR = timedelta(hours=1)


def told(story: Iterable[Step]) -> JobFacts:
    return facts(play(RAYJOB, story).history)


def attempt(number: int, outcome: str, **values: object) -> AttemptFacts:
    """Return an attempt of an hour: it begins two hours after the one before."""
    begun = after(0) + 2 * HOUR * (number - 1)
    made = AttemptFacts(
        number=number,
        started_at=begun,
        running_at=begun + timedelta(minutes=5),
        ended_at=begun + HOUR,
        outcome=outcome,
        reason="AppFailed" if outcome == "failed" else "",
        failure=FailureClass.APPLICATION if outcome == "failed" else FailureClass.OTHER,
        cluster_from=begun,
        cluster_until=begun + HOUR,
        cluster_is_gone=True,
    )
    return replace(made, **values)  # type: ignore[arg-type] # fields by name


def job(*attempts: AttemptFacts, **values: object) -> JobFacts:
    last = attempts[-1]
    made = JobFacts(
        attempts=attempts,
        outcome="Failed" if last.outcome == "failed" else "Complete",
        reason=last.reason,
        ended_at=last.ended_at,
        last_at=last.ended_at,
        backoff_limit=len(attempts) - 1,
    )
    return replace(made, **values)  # type: ignore[arg-type] # fields by name


THIRD_TIME_LUCKY = job(attempt(1, "failed"), attempt(2, "failed"), attempt(3, "succeeded"))
GIVEN_UP = job(attempt(1, "failed"), attempt(2, "failed"))


def brief(answer: Answer) -> tuple[str, int, float, str]:
    return answer.would_be, answer.attempts, round(answer.hours, 3), answer.unknown


def test_the_same_policy_changes_nothing() -> None:
    answer = ask(THIRD_TIME_LUCKY, Change(backoff_limit=2))
    assert not answer.is_different
    assert brief(answer) == ("Complete", 3, 3.0, "")


def test_fewer_retries_save_attempts_and_lose_the_success() -> None:
    answer = ask(THIRD_TIME_LUCKY, Change(backoff_limit=1))
    assert brief(answer) == ("Failed (AppFailed)", 2, 2.0, "")
    assert answer.why == "attempt 2 would have been the last (AppFailed)"


def test_a_retry_that_never_ran_is_unknown_and_has_no_hours() -> None:
    answer = ask(GIVEN_UP, Change(backoff_limit=5))
    assert brief(answer) == ("unknown", 3, 2.0, "attempt 3 never ran")
    assert answer.why == "attempt 2 would have been retried (AppFailed)"


def test_a_class_that_is_never_retried_ends_the_job() -> None:
    rules = (RetryRule(failure=FailureClass.APPLICATION, answer=Verdict.NEVER),)
    assert brief(ask(THIRD_TIME_LUCKY, Change(rules=rules))) == ("Failed (AppFailed)", 1, 1.0, "")


def test_a_class_that_is_not_counted_leaves_more_attempts() -> None:
    taken = job(
        attempt(1, "failed", failure=FailureClass.PREEMPTION),
        attempt(2, "failed"),
        outcome="Failed",
    )
    rules = (RetryRule(failure=FailureClass.PREEMPTION, answer=Verdict.UNCOUNTED),)
    assert brief(ask(taken, Change(rules=rules))) == ("unknown", 3, 2.0, "attempt 3 never ran")
    limited = ask(taken, Change(rules=rules, uncounted_max=0))
    assert not limited.is_different


def test_an_exit_code_can_have_a_rule_of_its_own() -> None:
    bad = job(attempt(1, "failed", exit_code=2), attempt(2, "succeeded"))
    rules = (RetryRule(failure=FailureClass.APPLICATION, answer=Verdict.NEVER, exit_code=2),)
    assert ask(bad, Change(rules=rules)).would_be == "Failed (AppFailed)"
    other = job(attempt(1, "failed", exit_code=3), attempt(2, "succeeded"))
    assert not ask(other, Change(rules=rules)).is_different


def test_a_longer_pause_makes_everything_later_and_nothing_else() -> None:
    change = Change(delay_seconds=60, delay_max_seconds=100, growth=Growth.EXPONENTIAL)
    answer = ask(THIRD_TIME_LUCKY, change)
    assert brief(answer) == ("Complete", 3, 3.0, "")
    assert answer.later_seconds == 160
    assert answer.is_different


def test_a_deadline_ends_the_job_at_its_instant() -> None:
    answer = ask(THIRD_TIME_LUCKY, Change(active_deadline_seconds=1800))
    assert brief(answer) == ("Failed (DeadlineExceeded)", 1, 0.5, "")


def test_a_deadline_that_nobody_reaches_changes_nothing() -> None:
    assert not ask(THIRD_TIME_LUCKY, Change(active_deadline_seconds=3600)).is_different


PAST_IT = job(
    attempt(1, "failed", reason="DeadlineExceeded"), active_deadline_seconds=3600, backoff_limit=3
)


@pytest.mark.parametrize("seconds", [7200, 0])
def test_what_comes_after_a_deadline_is_unknown(seconds: int) -> None:
    answer = ask(PAST_IT, Change(active_deadline_seconds=seconds))
    assert brief(answer) == ("unknown", 1, 1.0, "how attempt 1 would have gone on")


def test_the_deadline_that_was_is_no_difference() -> None:
    assert not ask(PAST_IT, Change(active_deadline_seconds=3600)).is_different


def test_a_deadline_before_running_is_retried_within_the_limit() -> None:
    slow = job(attempt(1, "succeeded"), backoff_limit=1)
    answer = ask(slow, Change(pre_running_deadline_seconds=60))
    assert answer.would_be == "unknown"
    assert answer.unknown == "attempt 2 never ran"
    assert ask(slow, Change(pre_running_deadline_seconds=60, backoff_limit=0)).would_be == (
        "Failed (PreRunningDeadlineExceeded)"
    )
    assert not ask(slow, Change(pre_running_deadline_seconds=600)).is_different


def kept_for(hours: float, ttl: int | None) -> JobFacts:
    last = attempt(1, "succeeded")
    assert last.cluster_until is not None
    until = last.cluster_until + timedelta(hours=hours)
    return job(
        replace(last, cluster_until=until, cluster_is_gone=ttl is not None),
        ttl_seconds=ttl,
        last_at=until,
    )


def test_a_shorter_ttl_saves_what_the_cluster_stood_idle() -> None:
    answer = ask(kept_for(2, 7200), Change(ttl_seconds=1800))
    assert (answer.hours_were, answer.hours) == (3.0, 1.5)
    assert answer.would_be == answer.was


def test_a_shutdown_where_there_was_none_saves_the_rest() -> None:
    assert ask(kept_for(2, None), Change(ttl_seconds=0)).hours == 1.0
    assert not ask(kept_for(2, None), Change(ttl_seconds=9 * 3600)).is_different


def test_a_ttl_counts_from_the_end_of_the_job_though_its_attempt_had_ended_before() -> None:
    """While no controller ran: its attempt had ended an hour before the job was Complete."""
    found_late = replace(kept_for(2, None), ended_at=after(0) + 2 * HOUR)
    assert ask(found_late, Change(ttl_seconds=0)).hours == 2.0


def test_no_shutdown_keeps_the_cluster_until_the_last_event() -> None:
    gone = replace(kept_for(0, 0), last_at=after(0) + 4 * HOUR)
    assert ask(gone, Change(ttl_seconds=-1)).hours == 4.0


def test_a_job_that_goes_on_stays_so() -> None:
    going = JobFacts(attempts=(attempt(1, ""),), last_at=after(60), backoff_limit=0)
    answer = ask(going, Change(backoff_limit=3))
    assert answer.would_be == "going on"


def test_a_train_job_is_not_retried_by_us() -> None:
    train = job(attempt(1, "failed", reason="JobSetFailed"), retries_itself=False, backoff_limit=0)
    assert not ask(train, Change(backoff_limit=5)).is_different
    assert ask(train, Change(active_deadline_seconds=60)).would_be == "Failed (DeadlineExceeded)"


def test_sums_keep_what_is_saved_apart_from_what_is_added() -> None:
    change = Change(backoff_limit=1)
    answers = [ask(THIRD_TIME_LUCKY, change), ask(job(attempt(1, "failed")), change)]
    summed = totals(answers)
    assert (summed.jobs, summed.different, summed.unknown) == (2, 2, 1)
    assert (summed.attempts_saved, summed.attempts_added) == (1, 1)
    assert (summed.hours_saved, summed.hours_added) == (1.0, 0.0)


def test_an_estimate_rests_on_attempts_that_followed_a_failure() -> None:
    known = experience([THIRD_TIME_LUCKY, GIVEN_UP, job(attempt(1, "succeeded"))])
    assert (known.seen, known.succeeded, known.mean_hours) == (3, 1, 1.0)
    assert known.seen < EXPERIENCE_MIN, "too few: the command makes none of it"


def test_facts_of_a_real_story() -> None:
    story = (
        *stories.failed_attempts(1, backoff_limit=1, shutdown_after_job_finishes=True),
        *stories.built(2),
        *stories.readied(2),
        poll("SUCCEEDED", 140, attempt=2, started_at=125, ended_at=139),
        submitter("Complete", 142, attempt=2),
        due(DecisionKind.TTL_SHUTDOWN),
        done(EffectKind.DELETE_CLUSTER, 143, uid="cluster-2"),
        cluster_gone(150, attempt=2),
    )
    known = told(story)
    first, second = known.attempts
    assert (first.outcome, first.reason, first.exit_code) == ("failed", "AppFailed", 1)
    assert first.failure is FailureClass.APPLICATION
    assert (first.cluster_from, first.cluster_until) == (after(1), after(100))
    assert (second.outcome, second.cluster_until) == ("succeeded", after(150))
    assert second.running_at is not None
    assert cluster_hours(known.attempts) == pytest.approx((99 + 49) / 3600)
    assert (known.outcome, known.backoff_limit, known.ttl_seconds) == ("Complete", 1, 0)


def test_a_shared_cluster_costs_the_job_nothing() -> None:
    known = told(stories.selecting())
    assert known.attempts[0].shared_cluster
    assert cluster_hours(known.attempts) == 0


def test_a_cluster_that_stands_is_counted_to_the_latest_event_whatever_came_after_it() -> None:
    """The last one to be written down may be dated earlier, by a clock that was set back."""
    known = told((*stories.working(), interrupted(5, 20)))
    assert known.last_at == after(30)
    assert cluster_hours(known.attempts) == pytest.approx(29 / 3600)


def test_of_two_deadlines_the_earlier_one_is_met() -> None:
    """And the active one, where they are met at once: it is not retried."""
    never_ran = job(
        attempt(1, "failed", reason="PreRunningDeadlineExceeded"),
        attempt(2, "failed", reason="PreRunningDeadlineExceeded"),
        pre_running_deadline_seconds=3599,
        backoff_limit=1,
    )
    for seconds in (1800, 3599):
        answer = ask(never_ran, Change(active_deadline_seconds=seconds))
        assert (answer.would_be, answer.attempts) == ("Failed (DeadlineExceeded)", 1)
