"""What retries on the same RayCluster would have saved, asked of the rule that grants them."""

import dataclasses
from collections.abc import Iterable
from datetime import timedelta

import pytest
from msgspec.structs import replace

from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.replay.changes import Change
from jobledger.core.forensics.replay.same_cluster import NewCluster, judged_facts
from jobledger.core.forensics.replay.what_if import Answer, ask, totals
from jobledger.core.forensics.replay.whole_deadline import DEADLINE, PRE_RUNNING
from jobledger.core.jobs.history.attempt_facts import ClusterVerdict, JobFacts
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import Answer as Verdict
from jobledger.core.jobs.retries.options import RetryOptions, RetryRule
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.kept_clusters import ClusterGivenUp
from jobledger.core.rayjob.events.lifecycle import AttemptStarted
from jobledger.core.rayjob.history.cluster_verdicts import cluster_verdict
from jobledger.core.rayjob.rules.same_cluster import had_it_asked, why_unfit_by_manifest
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import after, cluster_gone, manifest, poll, submitter
from tests.support.rayjob_stories import Story
from tests.support.rows import Step, play

LABELLED = RetryOptions(label_attempts=True)
SAME = Change(same_cluster=True)
UNKNOWN = "how attempt 2 would have gone on"


def told(story: Iterable[Step]) -> JobFacts:
    return judged_facts(play(RAYJOB, story).history)


def second(story: Story) -> Story:
    """Return a story whose second attempt just began, with its success."""
    return (
        *story,
        *stories.built(2),
        *stories.readied(2),
        poll("SUCCEEDED", 140, attempt=2, started_at=125, ended_at=139),
        submitter("Complete", 142, attempt=2),
    )


def third_time_lucky() -> Story:
    return (
        *stories.failed_attempts(2, backoff_limit=2),
        *stories.built(3),
        *stories.readied(3),
        poll("SUCCEEDED", 240, attempt=3, started_at=225, ended_at=239),
        submitter("Complete", 242, attempt=3),
    )


def saved(answer: Answer) -> tuple[int, float]:
    return answer.clusters_saved, answer.waiting_saved_seconds


def test_each_retry_saves_a_raycluster_and_the_wait_for_it() -> None:
    answer = ask(told(third_time_lucky()), SAME)
    assert (answer.would_be, answer.attempts, answer.unknown) == ("Complete", 3, "")
    assert saved(answer) == (2, 20.0)
    assert answer.later_seconds == -20.0
    assert answer.new_clusters == ()
    assert answer.why == "attempt 2 would have run on the RayCluster of the one before"


def test_in_the_pause_the_raycluster_is_held_and_counts() -> None:
    job = told(second(stories.failed_attempts(1, backoff_limit=1)))
    first, next_one = job.attempts
    pause = 50
    gone_at_once = dataclasses.replace(
        first, cluster_until=next_one.started_at - timedelta(seconds=pause)
    )
    answer = ask(dataclasses.replace(job, attempts=(gone_at_once, next_one)), SAME)
    waited = 9  # created 1 s, ready 10 s after the attempt began
    assert answer.hours == pytest.approx(answer.hours_were + (pause - waited) / 3600)


def test_without_the_wish_nothing_is_said() -> None:
    answer = ask(told(third_time_lucky()), Change(backoff_limit=2))
    assert not answer.is_different
    assert (saved(answer), answer.new_clusters) == ((0, 0.0), ())


@pytest.mark.parametrize(
    ("story", "why"),
    [
        pytest.param(
            second(
                (
                    *stories.working(backoff_limit=1),
                    cluster_gone(35),
                    *stories.cleared()[1:],
                )
            ),
            "",
            id="the RayCluster was lost",
        ),
        pytest.param(
            (
                *stories.working(backoff_limit=1),
                *stories.failing(),
                manifest(43, generation=2, backoff_limit=1, finalizer=True),
                *stories.cleared(),
            ),
            "the specification was edited since the attempt began",
            id="the job was edited in the pause",
        ),
        pytest.param(
            stories.failed_attempts(1, backoff_limit=1, options=LABELLED),
            "jobledger.dev/label-attempts asks for Pods that are labelled with their attempt",
            id="Pods are labelled",
        ),
    ],
)
def test_where_the_rule_says_so_a_new_one_is_made(story: Story, why: str) -> None:
    answer = ask(told(story), SAME)
    assert saved(answer) == (0, 0.0)
    (new,) = answer.new_clusters
    assert (new.attempt, new.why) == (2, why or new.why)
    assert new.why


def test_a_job_that_ran_on_one_raycluster_would_have_saved_nothing_more() -> None:
    answer = ask(told(stories.on_the_same(backoff_limit=1)), SAME)
    assert (saved(answer), answer.new_clusters, answer.is_different) == ((0, 0.0), (), False)


def test_an_attempt_that_waited_for_its_raycluster_in_vain_is_unknown() -> None:
    waiting = (*stories.failed_attempts(1, backoff_limit=1), *stories.built(2))
    ended = _second_ended(told(waiting), PRE_RUNNING)
    answer = ask(dataclasses.replace(ended, pre_running_deadline_seconds=42), SAME)
    assert (answer.would_be, answer.unknown, saved(answer)) == ("unknown", UNKNOWN, (1, 0.0))


@pytest.mark.parametrize("reason", [DEADLINE, PRE_RUNNING])
def test_an_attempt_that_a_deadline_ended_would_have_had_more_time(reason: str) -> None:
    job = told(second(stories.failed_attempts(1, backoff_limit=1)))
    ended = dataclasses.replace(
        _second_ended(job, reason), active_deadline_seconds=42, pre_running_deadline_seconds=42
    )
    assert ask(ended, Change(backoff_limit=1)).unknown == ""
    assert ask(ended, SAME).unknown == UNKNOWN


def test_a_deadline_of_the_whole_job_would_have_left_more_time() -> None:
    job = told(third_time_lucky())
    bounded = dataclasses.replace(
        _ended(job, 2, DEADLINE), options=replace(job.options, job_deadline_seconds=242)
    )
    assert ask(bounded, Change(backoff_limit=2)).unknown == ""
    assert ask(bounded, SAME).unknown == "how attempt 3 would have gone on"


def test_shorter_pauses_leave_a_deadline_of_the_whole_job_more_time() -> None:
    job = _ended(told(third_time_lucky()), 2, DEADLINE)
    options = replace(job.options, job_deadline_seconds=242, delay_seconds=30)
    attempts = tuple(dataclasses.replace(item, asked=None) for item in job.attempts)
    bounded = dataclasses.replace(job, options=options, attempts=attempts)
    assert ask(bounded, Change(delay_seconds=30)).unknown == ""
    assert ask(bounded, Change(delay_seconds=0)).unknown == "how attempt 3 would have gone on"


def test_what_another_deadline_cuts_off_is_followed_by_a_new_raycluster() -> None:
    job = told(third_time_lucky())
    answer = ask(job, Change(same_cluster=True, pre_running_deadline_seconds=5))
    assert saved(answer) == (0, 0.0)
    assert NewCluster(attempt=2, why="PreRunningDeadlineExceeded: the Ray job may go on") in (
        answer.new_clusters
    )


def test_retries_that_the_other_policy_refuses_save_no_raycluster() -> None:
    never = RetryRule(failure=FailureClass.APPLICATION, answer=Verdict.NEVER)
    answer = ask(told(third_time_lucky()), Change(same_cluster=True, rules=(never,)))
    assert (answer.attempts, saved(answer)) == (1, (0, 0.0))


def test_who_does_not_ask_the_rule_is_told_nothing() -> None:
    answer = ask(facts(play(RAYJOB, third_time_lucky()).history), SAME)
    assert (saved(answer), answer.new_clusters) == ((0, 0.0), ())


def test_all_jobs_are_summed() -> None:
    labelled = told(stories.failed_attempts(1, backoff_limit=1, options=LABELLED))
    summed = totals([ask(told(third_time_lucky()), SAME), ask(labelled, SAME)])
    assert (summed.clusters_saved, summed.waiting_saved_seconds, summed.new_clusters) == (2, 20, 1)


def _second_ended(job: JobFacts, reason: str) -> JobFacts:
    return _ended(job, 1, reason)


def _ended(job: JobFacts, index: int, reason: str) -> JobFacts:
    """Return the facts of a job whose last attempt, which has this index, failed for a reason."""
    last = job.attempts[index]
    ended = dataclasses.replace(
        last, outcome="failed", reason=reason, ended_at=last.ended_at or job.last_at
    )
    return dataclasses.replace(
        job, attempts=(*job.attempts[:index], ended), outcome="Failed", reason=reason
    )


def test_what_speaks_against_it_is_told_as_it_was_given_up_and_as_the_next_begins() -> None:
    begins = AttemptStarted(
        at=after(99), attempt=2, cluster_name="train-2", job_id="", generation=1
    )
    given_up = ClusterGivenUp(at=after(98), attempt=1, name="train-1", cause="its head went")
    fit = play(RAYJOB, stories.running()).state
    assert cluster_verdict(fit, begins) is None
    assert cluster_verdict(fit, given_up) == ClusterVerdict(1, "its head went")
    edited = play(RAYJOB, [*stories.running(), manifest(20, generation=2)]).state
    why = why_unfit_by_manifest(had_it_asked(edited))
    assert why
    assert cluster_verdict(edited, begins) == ClusterVerdict(1, why)
    assert cluster_verdict(RAYJOB.initial, begins) is None
