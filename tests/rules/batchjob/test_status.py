"""The status that users see, and that the API server takes; and the Kubernetes Events."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from jobledger.core.batchjob import events
from jobledger.core.batchjob.decide.decide import BATCHJOB
from jobledger.core.batchjob.kind import BATCHJOB_KIND
from jobledger.core.batchjob.status.kubernetes_events import kubernetes_events
from jobledger.core.batchjob.status.status import FIELDS, milestone, status
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.values.documents import Manifest
from tests.support import batchjob_events as told
from tests.support.batchjobs import (
    BACKOFF,
    CREATE,
    DELETE,
    IDENTITY,
    SUSPEND,
    Step,
    complete_end,
    completed,
    created,
    deleted,
    due,
    failed_end,
    failing,
    job,
    job_gone,
    manifest,
    outcome,
    play,
    retried,
    running,
)
from tests.support.job_status_rules import problems
from tests.support.rows import THIS_EFFECT

STORIES: dict[str, Sequence[Step]] = {
    "completed": completed(),
    "failed": failing(),
    "retried and completed": [
        *retried(),
        created(63, 2),
        job(70, 2, active=2, ready=1),
        job(90, 2, end=complete_end(90), succeeded=2),
    ],
    "retried and failed": [
        *retried(),
        created(63, 2),
        job(70, 2, active=1, succeeded=1),
        job(90, 2, end=failed_end(90), failed=3),
    ],
    "past its deadline": [*running(deadline=100), due(DecisionKind.JOB_DEADLINE), job_gone(101)],
    "a lost attempt with Pods that had succeeded": [
        *running(backoff_limit=1),
        job(40, active=1, succeeded=3, failed=1),
        job_gone(50),
        created(51, 2),
        job(55, 2, active=1),
    ],
    "suspended and resumed": [
        *running(),
        manifest(20, generation=2, suspend=True),
        outcome(SUSPEND, 21, uid="job-1"),
        job(22, suspend=True, terminating=1),
        manifest(30, generation=3),
        job(31, active=1),
        job(60, end=complete_end(), succeeded=1),
    ],
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_every_step_of_a_life_is_a_status_that_the_api_server_takes(story: Sequence[Step]) -> None:
    state, shown = BATCHJOB.initial, [status(BATCHJOB.initial)]
    for event in play(story).history:
        state = BATCHJOB.evolve(state, event)
        shown.append(status(state))
    for old, new in pairwise(shown):
        assert problems(old, new) == []
        assert set(new) <= FIELDS


@pytest.mark.parametrize(
    "wrong",
    [
        {"active": 1, "startTime": "a", "conditions": [{"type": "Failed", "status": "True"}]},
        {"ready": 2, "active": 1},
        {"completionTime": "2026-11-21T12:00:00Z"},
    ],
)
def test_the_rules_of_the_api_server_refuse_something(wrong: Manifest) -> None:
    assert problems({}, wrong)


def test_a_job_that_has_begun_shows_its_start_and_the_pods_of_its_attempt() -> None:
    assert status(play(running()).state) == {
        "active": 1,
        "ready": 1,
        "succeeded": 0,
        "failed": 0,
        "terminating": 0,
        "startTime": "2026-11-21T12:00:00Z",
    }


def test_a_job_that_is_complete_shows_when_in_the_words_of_its_attempts_job() -> None:
    since = "2026-11-21T12:01:00Z"
    common = {
        "status": "True",
        "reason": "CompletionsReached",
        "message": "Reached expected number of succeeded pods",
        "lastProbeTime": since,
        "lastTransitionTime": since,
    }
    assert status(play(completed()).state) == {
        "active": 0,
        "ready": 0,
        "succeeded": 1,
        "failed": 0,
        "terminating": 0,
        "startTime": "2026-11-21T12:00:00Z",
        "completionTime": since,
        "conditions": [{"type": "SuccessCriteriaMet", **common}, {"type": "Complete", **common}],
    }


def test_failed_pods_are_counted_over_all_attempts() -> None:
    shown = status(play(STORIES["retried and failed"]).state)
    assert shown["failed"] == 4
    assert shown["succeeded"] == 1


def test_no_more_pods_are_ready_than_active_and_no_end_is_before_the_start() -> None:
    """The API server takes neither: of a Pod that is ready and ends, both counters change apart."""
    assert status(play([*running(), job(20, active=1, ready=2)]).state)["ready"] == 1
    early = play([manifest(), created(), job(10, end=complete_end(-5), succeeded=1)])
    assert status(early.state)["completionTime"] == "2026-11-21T12:00:00Z"


def test_an_end_leaves_what_was_said_of_the_suspension() -> None:
    assert play(STORIES["suspended and resumed"]).conditions == [
        "Suspended=False/JobResumed",
        "SuccessCriteriaMet=True/CompletionsReached",
        "Complete=True/CompletionsReached",
    ]


def test_a_job_that_was_never_begun_shows_nothing() -> None:
    assert status(BATCHJOB.initial) == {}
    assert status(play([manifest(deleting=True)]).state) == {}


def test_a_retry_and_the_work_after_it_are_seen_each() -> None:
    steps = (running(), failing(backoff_limit=1), retried())
    seen = [milestone(play(story).state) for story in steps]
    assert len(set(seen)) == 3
    assert milestone(play([manifest()]).state) != milestone(play(retried()).state)


def test_users_are_told_in_the_words_of_the_job_controller() -> None:
    history = [
        *play([*running(), manifest(20, generation=2, suspend=True)]).history,
        *play([*retried(), created(63, 2), job(90, 2, end=failed_end(90))]).history,
        *play(completed()).history,
    ]
    said = [
        (one.type, one.reason, one.note)
        for event in history
        for one in kubernetes_events(IDENTITY, event)
    ]
    retry = (
        "Attempt 1 failed (BackoffLimitExceeded): failed attempt 1 is within "
        "jobledger.dev/backoff-limit 1; another follows"
    )
    assert said == [
        ("Normal", "SuccessfulCreate", "Created job etl-gxqht"),
        ("Normal", "Suspended", "Job suspended"),
        ("Normal", "SuccessfulCreate", "Created job etl-gxqht"),
        ("Normal", "Retrying", retry),
        ("Normal", "SuccessfulDelete", "Deleted job etl-gxqht"),
        ("Normal", "SuccessfulCreate", "Created job etl-kj5pv"),
        ("Warning", "BackoffLimitExceeded", BACKOFF),
        ("Normal", "SuccessfulCreate", "Created job etl-gxqht"),
        ("Normal", "Completed", "Job completed"),
    ]
    assert BATCHJOB_KIND.reporting_controller == "job-controller"


def _refusal(kind: EffectKind) -> shared.EffectFailed:
    return shared.EffectFailed(
        at=IDENTITY.created_at,
        effect_id=THIS_EFFECT,
        kind=kind,
        name="etl-gxqht",
        trouble="jobs.batch is forbidden",
    )


def test_users_are_told_of_what_is_refused_and_of_what_is_lost() -> None:
    troubles: list[events.BatchJobEvent] = [
        _refusal(CREATE),
        _refusal(DELETE),
        _refusal(EffectKind.SUSPEND_ATTEMPT_JOB),
        _refusal(EffectKind.RESUME_ATTEMPT_JOB),
        told.vanished(asked=False),
        told.vanished(asked=True),
    ]
    said = [
        (one.reason, one.note) for event in troubles for one in kubernetes_events(IDENTITY, event)
    ]
    assert said == [
        ("FailedCreate", "Error creating job: jobs.batch is forbidden"),
        ("FailedDelete", "Error deleting job: jobs.batch is forbidden"),
        ("FailedSuspend", "Error suspending job: jobs.batch is forbidden"),
        ("FailedResume", "Error resuming job: jobs.batch is forbidden"),
        ("AttemptJobLost", "Job etl-gxqht is gone, and its deletion was not asked for here"),
    ]


def test_a_deletion_that_finds_nothing_is_not_said() -> None:
    history = play([*failing(backoff_limit=1), deleted(already=True, gone=True)]).history
    reasons = [one.reason for event in history for one in kubernetes_events(IDENTITY, event)]
    assert "SuccessfulDelete" not in reasons
