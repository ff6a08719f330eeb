"""When the submitter ends first, or fails (trace T3). A look at the Ray job comes before a verdict.

Upstream asks nobody and counts from the cluster's clock: a controller that was away for 30 s turns
a success into a failure there. Here success wins, and time counts from what this controller saw.
"""

import pytest

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import EntrypointMissed, JobCompleted, StatusCheckFailed
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.spec.spec import read_spec
from jobledger.core.rayjob.state import wants_poll
from tests.support.rayjob_builders import due, not_found, poll, silence, submission_of, submitter
from tests.support.rayjob_events import (
    NOT_HANDED_IN,
    cancelled,
    failed_for_good,
    fired,
    ray_says,
    scheduled,
    submitter_ended,
)
from tests.support.rayjob_stories import running, working
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, play, table

REASON, MESSAGE = "BackoffLimitExceeded", "Job has reached the specified backoff limit"
TEXT = (
    "Job submission has failed. Reason: BackoffLimitExceeded. "
    "Message: Job has reached the specified backoff limit"
)
BROKEN = submitter("Failed", 40, reason=REASON, message=MESSAGE)
NO_LIMIT = "backoffLimit is 0"
LATE = (
    "The RayJob submitter finished at 2026-11-21 12:00:38 but the ray job did not reach terminal "
    "state within 30s"
)
OUTLIVED = "the submitter ended (Complete), the Ray job has not"


@table(
    Row(
        rule="a failed submitter is first only looked at: Ray knows whether the job runs",
        given=running(),
        when=BROKEN,
        then=(submitter_ended("Failed", 38, reason=REASON, message=MESSAGE),),
    ),
    Row(
        rule="a failed submitter of which Ray knows nothing is a failed submission (T3)",
        given=(*running(), BROKEN),
        when=not_found(41),
        then=(
            EntrypointMissed(at=WHEN, job_id=submission_of()),
            *failed_for_good("SubmissionFailed", TEXT, NO_LIMIT),
        ),
    ),
    Row(
        rule="a failed submitter is a failed submission even if the head does not answer",
        given=(*running(), BROKEN),
        when=silence(41),
        then=(
            StatusCheckFailed(at=WHEN, job_id=submission_of(), trouble="no route"),
            *failed_for_good("SubmissionFailed", TEXT, NO_LIMIT),
        ),
    ),
    Row(
        rule="a failed submitter whose Ray job failed is the application's failure",
        given=(*working(), BROKEN),
        when=poll("FAILED", 41, message="ValueError: 42"),
        then=(
            ray_says("FAILED", message="ValueError: 42"),
            *failed_for_good("AppFailed", "ValueError: 42", NO_LIMIT, status="FAILED"),
        ),
    ),
    Row(
        rule="a failed submitter fails the attempt even if the Ray job succeeded (as upstream)",
        given=(*working(), BROKEN),
        when=poll("SUCCEEDED", 41),
        then=(
            ray_says("SUCCEEDED"),
            *failed_for_good("SubmissionFailed", TEXT, NO_LIMIT, status="SUCCEEDED"),
        ),
    ),
    Row(
        rule="a submitter that ended before the Ray job gives it 30 s, from when that was seen",
        given=(*working(), submitter("Complete", 40)),
        when=poll("RUNNING", 41, started_at=25),
        then=(
            ray_says("RUNNING", started_at=25),
            scheduled(DecisionKind.SUBMITTER_FINISHED, 70, OUTLIVED),
        ),
    ),
    Row(
        rule="a submitter that ended long ago, seen late, still gives the Ray job its 30 s",
        given=(*working(), submitter("Complete", 4000, finished_at=40)),
        when=poll("RUNNING", 4001, started_at=25),
        then=(
            ray_says("RUNNING", started_at=25),
            scheduled(DecisionKind.SUBMITTER_FINISHED, 4030, OUTLIVED),
        ),
    ),
    Row(
        rule="a Ray job that outlives its submitter by 30 s is FAILED, to be retried if allowed",
        given=(*working(), submitter("Complete", 40), poll("RUNNING", 41, started_at=25)),
        when=due(DecisionKind.SUBMITTER_FINISHED),
        then=(
            fired(DecisionKind.SUBMITTER_FINISHED, 70),
            *failed_for_good(
                "JobDeploymentStatusTransitionGracePeriodExceeded", LATE, NO_LIMIT, status="FAILED"
            ),
        ),
    ),
    Row(
        rule="success wins over the time-out",
        given=(*working(), submitter("Complete", 40), poll("RUNNING", 41, started_at=25)),
        when=poll("SUCCEEDED", 3600, started_at=25, ended_at=50),
        then=(
            ray_says("SUCCEEDED", started_at=25, ended_at=50),
            JobCompleted(at=WHEN, attempt=1, job_status=JobStatus.SUCCEEDED),
            cancelled(DecisionKind.SUBMITTER_FINISHED, "attempt 1 has ended"),
        ),
    ),
    Row(
        rule="a submitter that ended and left no Ray job behind is the application's failure",
        given=(*running(), submitter("Complete", 40)),
        when=not_found(41),
        then=(
            EntrypointMissed(at=WHEN, job_id=submission_of()),
            *failed_for_good(
                "AppFailed",
                "Submitter completed but Ray job not found in RayCluster.",
                NO_LIMIT,
                blame=NOT_HANDED_IN,
            ),
        ),
    ),
    Row(
        rule="before the submitter has ended, an unknown submission is no news",
        given=running(),
        when=not_found(20),
    ),
)
def test_submitter_ends_first(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="in T3 Ray's status stays empty",
        story=(*running(), BROKEN, not_found(41)),
        status={"jobDeploymentStatus": "Failed", "jobStatus": None, "failed": 1},
    ),
    Outlook(
        rule="a failed submission is retried within the limit",
        story=(*running(backoff_limit=1), BROKEN, not_found(41)),
        status={"jobDeploymentStatus": "Retrying", "reason": "SubmissionFailed"},
    ),
    Outlook(
        rule="a submitter that failed after Ray's FAILED was heard needs no further look",
        story=(*working(), poll("FAILED", 39, message="boom"), BROKEN),
        status={"jobDeploymentStatus": "Failed", "reason": "AppFailed", "message": "boom"},
    ),
    Outlook(
        rule="a silent head after the end of the submitter starts both time-outs",
        story=(*working(), submitter("Complete", 40), silence(41)),
        pending={"submitter_finished": 70, "status_check": 341},
    ),
)
def test_outcomes_of_submissions(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


FORGIVING = working(ray_success_wins=True, backoff_limit=1)


@table(
    Outlook(
        rule="where the job asks for it, Ray's success wins over a submitter that failed",
        story=(*FORGIVING, BROKEN, poll("SUCCEEDED", 41)),
        status={
            "jobDeploymentStatus": "Complete",
            "jobStatus": "SUCCEEDED",
            "reason": None,
            "succeeded": 1,
            "failed": 0,
        },
    ),
    Outlook(
        rule="so it does if it was heard before the submitter failed",
        story=(*FORGIVING, poll("SUCCEEDED", 39), BROKEN),
        status={"jobDeploymentStatus": "Complete", "succeeded": 1, "failed": 0},
    ),
    Outlook(
        rule="before Ray was asked once more, nothing is decided",
        story=(*FORGIVING, BROKEN),
        status={"jobDeploymentStatus": "Running", "failed": 0},
    ),
    Outlook(
        rule="a Ray job that goes on is no success: the submission has failed",
        story=(*FORGIVING, BROKEN, poll("RUNNING", 41, started_at=25)),
        status={"jobDeploymentStatus": "Retrying", "reason": "SubmissionFailed", "failed": 1},
    ),
    Outlook(
        rule="nor is one that somebody stopped",
        story=(*FORGIVING, BROKEN, poll("STOPPED", 41)),
        status={"jobDeploymentStatus": "Retrying", "reason": "SubmissionFailed", "failed": 1},
    ),
    Outlook(
        rule="nor one that the head does not know",
        story=(*FORGIVING, BROKEN, not_found(41)),
        status={"jobDeploymentStatus": "Retrying", "reason": "SubmissionFailed", "failed": 1},
    ),
)
def test_a_success_may_win_over_its_submitter(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


@pytest.mark.parametrize(("written", "wins"), [("true", True), ("false", False), ("yes", False)])
def test_that_it_may_is_asked_for_by_an_annotation(written: str, wins: bool) -> None:
    annotations = {"jobledger.dev/ray-success-wins": written}
    assert read_spec({"metadata": {"annotations": annotations}}).ray_success_wins is wins


def test_a_look_is_wanted_from_the_end_of_the_submitter_to_the_next_answer() -> None:
    played = play(RAYJOB, (*working(), submitter("Complete", 40)))
    assert played.state.attempt is not None
    assert played.state.attempt.look_wanted
    assert wants_poll(played.state)
    played.take(poll("RUNNING", 41, started_at=25))
    assert played.state.attempt is not None
    assert not played.state.attempt.look_wanted
