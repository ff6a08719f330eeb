"""The projected `.status`, field by field, along upstream's traces T1 to T10."""

from dataclasses import dataclass

import pytest

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.rayjob.status.status import FIELDS, status
from jobledger.core.values.documents import Manifest
from tests.support.rayjob_builders import (
    ADDRESS,
    HTTP,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    faltered,
    manifest,
    not_found,
    poll,
    shown,
    silence,
    submission_of,
    submitter,
    submitter_gone,
)
from tests.support.rayjob_stories import (
    Story,
    cleared,
    failing,
    initializing,
    running,
    seen,
    succeeded,
    suspended,
    working,
)
from tests.support.rows import play

NAMES: Manifest = {
    "jobId": submission_of(),
    "rayClusterName": cluster_of(),
    "startTime": shown(0),
    "succeeded": 0,
    "failed": 0,
    "observedGeneration": 1,
}
SECOND: Manifest = {
    **NAMES,
    "jobId": submission_of(2),
    "rayClusterName": cluster_of(2),
    "startTime": shown(100),
    "failed": 1,
}
BARE: Manifest = {"succeeded": 0, "failed": 0, "observedGeneration": 1}
READY: Manifest = {**NAMES, "dashboardURL": ADDRESS, "rayClusterStatus": {"state": "ready"}}
RUNS: Manifest = {**READY, "jobStatus": "RUNNING", "rayJobInfo": {"startTime": shown(25)}}
OVER: Manifest = {"startTime": shown(25), "endTime": shown(39)}
FAILED_ONCE: Manifest = {
    **READY,
    "jobStatus": "FAILED",
    "rayJobInfo": OVER,
    "reason": "AppFailed",
    "message": "ValueError: 42",
    "failed": 1,
}
BROKEN = submitter("Failed", 40, reason="BackoffLimitExceeded", message="limit")


@dataclass(frozen=True, slots=True)
class Shown:
    """Where a story leads, and the whole status that is shown there."""

    rule: str
    story: Story
    phase: str
    shown: Manifest


TRACES = (
    Shown("T1.1 names, start and counters are there first", seen(), "Initializing", NAMES),
    Shown(
        "T1.2 what the RayCluster says before it is ready is mirrored",
        (*initializing(), cluster("", status={"desiredWorkerReplicas": 1})),
        "Initializing",
        {**NAMES, "rayClusterStatus": {"desiredWorkerReplicas": 1}},
    ),
    Shown("T1.3 the address is there with Running", running(), "Running", READY),
    Shown("T1.4 Ray's account while the entrypoint runs", working(), "Running", RUNS),
    Shown(
        "T1.5 Ray's SUCCEEDED while the submitter goes on",
        (*working(), poll("SUCCEEDED", 40, started_at=25, ended_at=39)),
        "Running",
        {**RUNS, "jobStatus": "SUCCEEDED", "rayJobInfo": OVER},
    ),
    Shown(
        "T1.6 the end",
        succeeded(),
        "Complete",
        {
            **RUNS,
            "jobStatus": "SUCCEEDED",
            "rayJobInfo": OVER,
            "endTime": shown(42),
            "succeeded": 1,
        },
    ),
    Shown(
        "T2.6 Retrying shows the attempt that failed, and no end",
        (*working(backoff_limit=1), *failing()),
        "Retrying",
        FAILED_ONCE,
    ),
    Shown(
        "T2.8 the next attempt has new names and a new start",
        (*working(backoff_limit=1), *failing(), *cleared()),
        "Initializing",
        SECOND,
    ),
    Shown(
        "T2 the last failure is shown for good, with its end",
        (*working(), *failing()),
        "Failed",
        {**FAILED_ONCE, "endTime": shown(42)},
    ),
    Shown(
        "T3 a failed submission leaves Ray's status empty",
        (*running(), BROKEN, not_found(41)),
        "Failed",
        {
            **READY,
            "reason": "SubmissionFailed",
            "message": ("Job submission has failed. Reason: BackoffLimitExceeded. Message: limit"),
            "failed": 1,
            "endTime": shown(41),
        },
    ),
    Shown(
        "T4 a passed deadline keeps Ray's last status",
        (
            *working(active_deadline_seconds=60, backoff_limit=2),
            due(DecisionKind.ACTIVE_DEADLINE),
        ),
        "Failed",
        {
            **RUNS,
            "reason": "DeadlineExceeded",
            "message": (
                "The RayJob has passed the activeDeadlineSeconds. StartTime: "
                "2026-11-21 12:00:00 +0000 UTC. ActiveDeadlineSeconds: 60"
            ),
            "failed": 1,
            "endTime": shown(60),
        },
    ),
    Shown(
        "T5 Suspended keeps the start and the counters only",
        suspended(),
        "Suspended",
        {**BARE, "startTime": shown(0), "observedGeneration": 2},
    ),
    Shown(
        "T6 created suspended",
        seen(suspend=True),
        "Suspended",
        {**BARE, "startTime": shown(0)},
    ),
    Shown("T7 HTTPMode before the first answer", running(submission_mode=HTTP), "Running", READY),
    Shown(
        "T8 since when the head is silent",
        (*working(), silence(40)),
        "Running",
        {**RUNS, "jobStatusCheckFailureStartTime": shown(40)},
    ),
    Shown(
        "T9 stopped by somebody: Complete, counted nowhere",
        (*working(), poll("STOPPED", 40, started_at=25, ended_at=39), submitter("Complete", 42)),
        "Complete",
        {**RUNS, "jobStatus": "STOPPED", "rayJobInfo": OVER, "endTime": shown(42)},
    ),
    Shown(
        "T10 not valid at creation",
        (manifest(problem="backoffLimit must be positive"),),
        "ValidationFailed",
        {**BARE, "reason": "ValidationFailed", "message": "backoffLimit must be positive"},
    ),
)


@pytest.mark.parametrize("row", TRACES, ids=[row.rule for row in TRACES])
def test_status(row: Shown) -> None:
    expected = {**row.shown, "jobDeploymentStatus": row.phase}
    assert status(play(RAYJOB, row.story).state) == expected


def test_between_two_attempts_users_see_neither_names_nor_phase() -> None:
    """T2.7, as it may be published on the way from Retrying to Initializing."""
    story = (*working(backoff_limit=1), *failing(), *cleared())
    history = play(RAYJOB, story).history
    cleared_at = max(
        number for number, event in enumerate(history) if type(event).__name__ == "AttemptCleared"
    )
    between = status(RAYJOB.fold(history[: cleared_at + 1]))
    assert between == {**BARE, "startTime": shown(0), "failed": 1}


DOWN = "POST rayclusters ml/train-x: 500 InternalError: failed calling webhook"


def test_what_a_creation_meets_is_shown_until_it_is_done() -> None:
    """KubeRay tells of it in an Event alone, which is gone after an hour."""
    held_up = (*seen(), faltered(EffectKind.CREATE_CLUSTER, 1, DOWN))
    assert status(play(RAYJOB, held_up).state)["message"] == DOWN
    on = (*held_up, done(EffectKind.CREATE_CLUSTER, 2, uid="cluster-1"))
    assert "message" not in status(play(RAYJOB, on).state)


def test_what_a_later_attempt_meets_is_shown_as_well() -> None:
    again = (*working(backoff_limit=1), *failing(), *cleared())
    held_up = play(RAYJOB, (*again, faltered(EffectKind.CREATE_CLUSTER, 70, DOWN)))
    assert status(held_up.state)["message"] == DOWN


def test_a_job_that_is_not_known_has_no_status() -> None:
    assert status(RayJobState()) == {}


def test_no_field_is_shown_that_is_not_named() -> None:
    for row in TRACES:
        assert set(status(play(RAYJOB, row.story).state)) <= FIELDS


GOING = cluster("suspended", 51, deleting=True)


@pytest.mark.parametrize(
    "story",
    [
        pytest.param((GOING,), id="as it goes"),
        pytest.param((GOING, cluster_gone(52)), id="once it is gone"),
        pytest.param((cluster_gone(52),), id="where it was not seen to go"),
    ],
)
def test_after_the_end_the_copy_of_the_raycluster_is_not_written_again(story: Story) -> None:
    """Source: KubeRay, which writes no status in Complete and Failed."""
    ended = play(RAYJOB, succeeded())
    before = status(ended.state)
    assert before["rayClusterStatus"] == {"state": "ready"}
    assert status(play(RAYJOB, (*succeeded(), *story)).state) == before


def test_a_raycluster_that_is_first_seen_after_the_end_is_not_shown() -> None:
    story = (*initializing(active_deadline_seconds=60), due(DecisionKind.ACTIVE_DEADLINE))
    ended = play(RAYJOB, story)
    assert "rayClusterStatus" not in status(ended.state)
    late = cluster("ready", 70, status={"state": "ready"})
    assert status(play(RAYJOB, (*story, late)).state) == status(ended.state)


def test_while_a_retry_cleans_up_the_copy_stays_as_it_was() -> None:
    story = (*working(backoff_limit=1), *failing(), GOING)
    assert status(play(RAYJOB, story).state)["rayClusterStatus"] == {"state": "ready"}


def test_after_the_shutdown_the_last_attempt_stays_shown() -> None:
    story = (
        *succeeded(shutdown_after_job_finishes=True),
        due(DecisionKind.TTL_SHUTDOWN),
        done(EffectKind.DELETE_CLUSTER, 43, uid="cluster-1"),
        cluster_gone(50),
        submitter_gone(51),
    )
    after_all = status(play(RAYJOB, story).state)
    assert after_all["rayClusterName"] == cluster_of()
    assert after_all["jobStatus"] == "SUCCEEDED"
