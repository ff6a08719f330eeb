"""Failed attempts and what follows (trace T2; scenario d)."""

import pytest

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import (
    AttemptCleared,
    AttemptStarted,
    ClusterVanished,
    SubmitterVanished,
)
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.status.status import status
from tests.support.rayjob_builders import (
    JOB,
    cluster_gone,
    cluster_of,
    done,
    due,
    poll,
    submitter,
    submitter_gone,
)
from tests.support.rayjob_events import (
    EXIT_1,
    asked,
    cancelled,
    did,
    failed_for_good,
    failed_to_retry,
    fired,
    scheduled,
    started,
    submitter_ended,
)
from tests.support.rayjob_stories import (
    built,
    cleared,
    failed_attempts,
    failing,
    readied,
    start_of,
    working,
)
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, play, table

ENDED = failing()[0]
JUDGED = submitter("Complete", 42)
DELETIONS = (
    asked(EffectKind.DELETE_CLUSTER, cluster_of(), uid="cluster-1"),
    asked(EffectKind.DELETE_SUBMITTER, JOB, uid="submitter-1"),
)
CLEANED = (
    done(EffectKind.DELETE_CLUSTER, 43, uid="cluster-1"),
    done(EffectKind.DELETE_SUBMITTER, 43, uid="submitter-1"),
)
ONCE_FAILED = (*working(backoff_limit=1), *failing())


@table(
    Row(
        rule="without a backoff limit the first failure is final",
        given=(*working(), ENDED),
        when=JUDGED,
        then=(
            submitter_ended("Complete", 40),
            *failed_for_good(
                "AppFailed", "ValueError: 42", "backoffLimit is 0", status="FAILED", blame=EXIT_1
            ),
            cancelled(DecisionKind.TRANSITION_GRACE, "attempt 1 has ended"),
        ),
    ),
    Row(
        rule="within the limit a failed attempt is followed by another once all of it is gone (T2)",
        given=(*working(backoff_limit=1), ENDED),
        when=JUDGED,
        then=(
            submitter_ended("Complete", 40),
            *failed_to_retry(
                "AppFailed",
                "ValueError: 42",
                status="FAILED",
                backoff_limit=1,
                due_at=42,
                blame=EXIT_1,
            ),
            *DELETIONS,
            cancelled(DecisionKind.TRANSITION_GRACE, "attempt 1 has ended"),
            scheduled(DecisionKind.RETRY, 42, "attempt 1 failed (AppFailed)"),
        ),
    ),
    Row(
        rule="a pause before the retry is a setting; it counts from the failure",
        given=(
            *working(backoff_limit=1, policy=Policy(retry_delay_seconds=10)),
            ENDED,
        ),
        when=JUDGED,
        then=(
            submitter_ended("Complete", 40),
            *failed_to_retry(
                "AppFailed",
                "ValueError: 42",
                status="FAILED",
                backoff_limit=1,
                due_at=52,
                blame=EXIT_1,
            ),
            *DELETIONS,
            cancelled(DecisionKind.TRANSITION_GRACE, "attempt 1 has ended"),
            scheduled(DecisionKind.RETRY, 52, "attempt 1 failed (AppFailed)"),
        ),
    ),
    Row(
        rule="a retry that is due waits until the old RayCluster is gone",
        given=(*ONCE_FAILED, *CLEANED, submitter_gone()),
        when=due(DecisionKind.RETRY, 60),
        then=(fired(DecisionKind.RETRY, 42),),
    ),
    Row(
        rule="a RayCluster that is gone waits until the retry is due",
        given=(*ONCE_FAILED, *CLEANED, submitter_gone()),
        when=cluster_gone(60),
        then=(ClusterVanished(at=WHEN, name=cluster_of(), uid="cluster-1", asked=True),),
    ),
    Row(
        rule="the old submitter must be gone as well",
        given=(*ONCE_FAILED, *CLEANED, due(DecisionKind.RETRY, 44)),
        when=cluster_gone(60),
        then=(ClusterVanished(at=WHEN, name=cluster_of(), uid="cluster-1", asked=True),),
    ),
    Row(
        rule="the next attempt has new names and begins when the last of the old is gone",
        given=(*ONCE_FAILED, *CLEANED, due(DecisionKind.RETRY, 44), cluster_gone(60)),
        when=submitter_gone(61),
        then=(
            SubmitterVanished(at=WHEN, name=JOB, uid="submitter-1", asked=True),
            AttemptCleared(at=WHEN, attempt=1),
            started(2),
            asked(EffectKind.CREATE_CLUSTER, cluster_of(2), attempt=2),
        ),
    ),
    Row(
        rule="a deletion that found nothing is as good as news that it is gone",
        given=(*ONCE_FAILED, CLEANED[0], due(DecisionKind.RETRY, 44), cluster_gone(60)),
        when=done(EffectKind.DELETE_SUBMITTER, 61, uid="submitter-1", gone=True),
        then=(
            did(EffectKind.DELETE_SUBMITTER, JOB, uid="submitter-1", gone=True),
            AttemptCleared(at=WHEN, attempt=1),
            started(2),
            asked(EffectKind.CREATE_CLUSTER, cluster_of(2), attempt=2),
        ),
    ),
    Row(
        rule="a submission id that the user chose is used by every attempt",
        given=(
            *working(backoff_limit=1, job_id="mine"),
            poll("FAILED", 40, job_id="mine"),
            submitter("Failed", 42),
            *CLEANED,
            due(DecisionKind.RETRY, 44),
            cluster_gone(60),
        ),
        when=submitter_gone(61),
        then=(
            SubmitterVanished(at=WHEN, name=JOB, uid="submitter-1", asked=True),
            AttemptCleared(at=WHEN, attempt=1),
            started(2, job_id="mine"),
            asked(EffectKind.CREATE_CLUSTER, cluster_of(2), attempt=2),
        ),
    ),
)
def test_retry(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="while Retrying users see the old names, Ray's status and the reason (T2)",
        story=ONCE_FAILED,
        status={
            "jobDeploymentStatus": "Retrying",
            "jobStatus": "FAILED",
            "reason": "AppFailed",
            "message": "ValueError: 42",
            "failed": 1,
            "rayClusterName": cluster_of(),
            "endTime": None,
        },
    ),
    Outlook(
        rule="two failures and then success: Complete, with both failures counted",
        story=(
            *failed_attempts(2, backoff_limit=2),
            *built(3),
            *readied(3),
            poll("SUCCEEDED", start_of(3) + 40, attempt=3),
            submitter("Complete", start_of(3) + 42, attempt=3),
        ),
        status={
            "jobDeploymentStatus": "Complete",
            "succeeded": 1,
            "failed": 2,
            "rayClusterName": cluster_of(3),
            "reason": None,
        },
        facts={"retries": 2},
        under_way=[],
        pending={},
    ),
    Outlook(
        rule="deadlines count anew with every attempt",
        story=failed_attempts(1, backoff_limit=1, active_deadline_seconds=60),
        pending={"active_deadline": start_of(2) + 60},
    ),
)
def test_attempts(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def test_backoff_limit_four_means_five_attempts_on_five_different_clusters() -> None:
    story = (*failed_attempts(4, backoff_limit=4), *built(5), *readied(5), *failing(5))
    played = play(RAYJOB, story)
    begun = [event for event in played.history if isinstance(event, AttemptStarted)]
    assert [event.attempt for event in begun] == [1, 2, 3, 4, 5]
    assert len({event.cluster_name for event in begun}) == 5
    assert len({event.job_id for event in begun}) == 5
    assert played.state.phase is Phase.FAILED
    assert played.state.failed == 5
    assert status(played.state)["failed"] == 5


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_a_job_that_always_fails_has_backoff_limit_plus_one_attempts(limit: int) -> None:
    last = limit + 1
    story = (
        *failed_attempts(limit, backoff_limit=limit),
        *built(last),
        *readied(last),
        *failing(last),
    )
    state = play(RAYJOB, story).state
    assert (state.phase, state.failed, state.retries) == (Phase.FAILED, last, limit)


def test_the_next_attempt_is_never_asked_for_before_the_old_cluster_is_gone() -> None:
    """Invariant 3, in whichever order the last pieces of an attempt go."""
    story = [*ONCE_FAILED, *cleared(1)]
    assert play(RAYJOB, story[:-1]).state.phase is Phase.RETRYING
    assert play(RAYJOB, story).state.phase is Phase.INITIALIZING
