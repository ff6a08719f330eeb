"""What was asked for changes while a job goes on: an attempt is judged by what held when it ended.

A change that is none says of every job that it is as it was.
"""

import dataclasses
from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from jobledger.core.batchjob.observations import BatchJobSeen
from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.replay.changes import Change
from jobledger.core.forensics.replay.what_if import ask
from jobledger.core.jobs.history.attempt_facts import JobFacts
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import Answer as Verdict
from jobledger.core.jobs.retries.options import RetryRule
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.values.instants import Instant
from tests.support import batchjobs, trainjobs
from tests.support import rayjob_stories as stories
from tests.support.rayjob_builders import after, due, manifest, manifest_gone, poll, submitter
from tests.support.rows import Step, play

NOTHING = Change(uncounted_max=0)
"""A policy that says nothing new of jobs without rules."""

SECOND_TIME_LUCKY = (
    *stories.failed_attempts(1, backoff_limit=3),
    *stories.built(2),
    *stories.readied(2),
)
SUCCESS = (
    poll("SUCCEEDED", 140, attempt=2, started_at=125, ended_at=139),
    submitter("Complete", 142, attempt=2),
)
LOWERED = (*SECOND_TIME_LUCKY, manifest(130, generation=2, backoff_limit=0), *SUCCESS)
RAISED_AFTER_THE_END = (
    *stories.working(),
    *stories.failing(),
    manifest(60, generation=2, backoff_limit=5),
)
BOUND_AFTER_THE_END = (
    *stories.succeeded(),
    manifest(60, generation=2, active_deadline_seconds=5, pre_running_deadline_seconds=1),
)
UNBOUND_AFTER_ITS_DEADLINE = (
    *stories.working(active_deadline_seconds=60),
    due(DecisionKind.ACTIVE_DEADLINE),
    manifest(90, generation=2),
)
BOUND_BEHIND_ITS_WAIT = (
    *stories.working(),
    manifest(31, generation=2, pre_running_deadline_seconds=5),
    poll("SUCCEEDED", 40, started_at=25, ended_at=39),
    submitter("Complete", 42),
)
DELETED_IN_THE_PAUSE = (
    *stories.working(backoff_limit=2),
    *stories.failing(),
    manifest_gone(43),
)


def told(story: Iterable[Step]) -> JobFacts:
    return facts(play(RAYJOB, story).history)


@pytest.mark.parametrize(
    "story",
    [
        LOWERED,
        RAISED_AFTER_THE_END,
        BOUND_AFTER_THE_END,
        UNBOUND_AFTER_ITS_DEADLINE,
        BOUND_BEHIND_ITS_WAIT,
        DELETED_IN_THE_PAUSE,
    ],
)
def test_no_change_makes_no_difference(story: tuple[Step, ...]) -> None:
    answer = ask(told(story), NOTHING)
    assert (answer.would_be, answer.unknown, answer.why) == (answer.was, "", "")
    assert not answer.is_different


def test_a_limit_is_held_against_the_one_an_attempt_was_judged_by() -> None:
    lucky = told(LOWERED)
    assert not ask(lucky, Change(backoff_limit=1)).is_different
    assert ask(lucky, Change(backoff_limit=0)).would_be == "Failed (AppFailed)"
    failed = told(RAISED_AFTER_THE_END)
    assert not ask(failed, Change(backoff_limit=0)).is_different
    assert ask(failed, Change(backoff_limit=5)).unknown == "attempt 2 never ran"


def test_what_would_have_ended_in_the_pause_is_different_though_nothing_came_after_it() -> None:
    answer = ask(told(DELETED_IN_THE_PAUSE), Change(backoff_limit=0))
    assert (answer.was, answer.would_be) == ("Deleted", "Failed (AppFailed)")
    assert answer.is_different


def test_of_two_other_deadlines_the_one_that_passes_is_known() -> None:
    bound = stories.initializing(active_deadline_seconds=40)
    never_ran = told((*bound, due(DecisionKind.ACTIVE_DEADLINE)))
    longer = Change(active_deadline_seconds=100)
    assert ask(never_ran, longer).unknown
    answer = ask(never_ran, dataclasses.replace(longer, pre_running_deadline_seconds=30))
    assert answer.would_be == "Failed (PreRunningDeadlineExceeded)"


def batch(story: Iterable[batchjobs.Step]) -> JobFacts:
    return facts(batchjobs.play(story).history)


def past_its_deadline(seconds: int) -> JobFacts:
    """Return a Job whose first attempt failed by the activeDeadlineSeconds that its Job had."""
    first, *rest = batchjobs.running()
    assert isinstance(first, BatchJobSeen)
    bound = replace(first, document={"spec": {"activeDeadlineSeconds": seconds}})
    end = batchjobs.failed_end(60, reason="DeadlineExceeded")
    return batch((bound, *rest, batchjobs.job(60, end=end, failed=1)))


def test_a_job_past_its_own_deadline_is_known_under_every_other_policy() -> None:
    job = past_its_deadline(60)
    assert job.active_deadline_seconds == 60
    assert not ask(job, NOTHING).is_different
    assert not ask(job, Change(backoff_limit=5)).is_different, "a deadline is never retried"
    assert ask(job, Change(active_deadline_seconds=30)).would_be == "Failed (DeadlineExceeded)"
    assert ask(job, Change(active_deadline_seconds=90)).unknown


def test_a_job_has_no_deadline_before_running_and_no_cluster_that_stays() -> None:
    job = batch(batchjobs.completed())
    assert not ask(job, Change(pre_running_deadline_seconds=1)).is_different
    assert not ask(job, Change(ttl_seconds=5)).is_different


def test_a_policy_of_retries_is_none_of_a_job() -> None:
    """A Job has no classes of failures: an annotation with a policy is refused on it."""
    job = batch((*batchjobs.retried(), batchjobs.created(63, attempt=2)))
    assert job.attempts[0].retried
    for answer in (Verdict.NEVER, Verdict.UNCOUNTED):
        rules = tuple(RetryRule(failure=failure, answer=answer) for failure in FailureClass)
        assert not ask(job, Change(rules=rules)).is_different
    assert ask(job, Change(backoff_limit=0)).is_different


def training(*later: trainjobs.Step, **spec: object) -> JobFacts:
    return facts(trainjobs.play((*trainjobs.running(**spec), *later)).history)


RESTARTED = (
    trainjobs.jobset(30, trainjobs.counts(active=1), restarts=1),
    trainjobs.jobset(31, trainjobs.counts(active=1, ready=1), restarts=1),
    trainjobs.jobset(60, trainjobs.counts(succeeded=1), end=trainjobs.completed_end()),
)


@pytest.mark.parametrize(
    ("seconds", "would_be", "attempts"),
    [
        (100, "Complete (AllJobsCompleted)", 2),
        (40, "Failed (DeadlineExceeded)", 2),
        (20, "Failed (DeadlineExceeded)", 1),
        (5, "Failed (DeadlineExceeded)", 1),
    ],
)
def test_the_deadline_of_a_trainjob_counts_over_its_restarts(
    seconds: int, would_be: str, attempts: int
) -> None:
    """From its creation, or its latest resume: as `active_deadline` is decided."""
    answer = ask(training(*RESTARTED), Change(active_deadline_seconds=seconds))
    assert (answer.would_be, answer.attempts) == (would_be, attempts)


def test_a_resume_counts_the_deadline_of_a_trainjob_anew() -> None:
    job = training(
        trainjobs.manifest(30, generation=2, suspend=True),
        trainjobs.jobset(31, suspend=True),
        trainjobs.manifest(500, generation=3),
        trainjobs.jobset(620, trainjobs.counts(active=1)),
    )
    assert [item.deadline_from for item in job.attempts] == [job_created(), after(500)]
    assert not ask(job, Change(active_deadline_seconds=400)).is_different
    late = ask(job, Change(active_deadline_seconds=60))
    assert (late.would_be, late.attempts) == ("Failed (DeadlineExceeded)", 1)
    assert late.why == "the job's deadline would have passed before attempt 2"


def job_created() -> Instant:
    return trainjobs.IDENTITY.created_at
