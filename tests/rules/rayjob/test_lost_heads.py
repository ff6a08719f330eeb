"""A head that went, was replaced or was started again: seen, it is a failure that may be retried.

Its silence alone is not: what nobody can explain may be a job that is still at work.
"""

from typing import Any

import pytest

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import JobCompleted, RetryGranted
from jobledger.core.rayjob.observations.observations import HeadPodSeen
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.spec.spec import SubmissionMode, read_spec
from tests.support.rayjob_builders import (
    HTTP,
    INTERACTIVE,
    UNNAMED,
    after,
    cluster,
    cluster_of,
    done,
    due,
    manifest,
    named,
    not_found,
    poll,
    shown,
    silence,
    submission_of,
    submitter,
)
from tests.support.rayjob_events import HEAD_LOST, SERVICE, failed_for_good, ray_says
from tests.support.rayjob_heads import head_pod_gone
from tests.support.rayjob_stories import initializing, readied, running, working
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, play, table

NO_LIMIT = "backoffLimit is 0"
LOST_ANEW = (
    f"Ray job {submission_of()} is no longer known to the head of RayCluster {cluster_of()}: "
    "the head was restarted and has lost its jobs."
)


@table(
    Row(
        rule="another run under the same id is no silent second execution: the first one is lost",
        given=working(),
        when=poll("RUNNING", 40, started_at=38),
        then=(
            ray_says("RUNNING", started_at=38),
            *failed_for_good("AppFailed", LOST_ANEW, NO_LIMIT, status="RUNNING", blame=HEAD_LOST),
        ),
    ),
    Row(
        rule="a running job that is pending again was handed in again",
        given=working(),
        when=poll("PENDING", 40),
        then=(
            ray_says("PENDING"),
            *failed_for_good("AppFailed", LOST_ANEW, NO_LIMIT, status="PENDING", blame=HEAD_LOST),
        ),
    ),
    Row(
        rule="a second run that has succeeded already is a success, and the log shows both",
        given=working(submission_mode=HTTP),
        when=poll("SUCCEEDED", 40, started_at=38, ended_at=39),
        then=(
            ray_says("SUCCEEDED", started_at=38, ended_at=39),
            JobCompleted(at=WHEN, attempt=1, job_status=JobStatus.SUCCEEDED),
        ),
    ),
)
def test_a_second_run_under_the_same_id(row: Row) -> None:
    check(RAYJOB, row)


def head(at: float, *, uid: str = "head-1", **said: Any) -> HeadPodSeen:  # noqa: ANN401 fields by name
    """Return a look at the Pod of the head."""
    return named(
        HeadPodSeen(
            id=UNNAMED,
            at=after(at),
            cluster=cluster_of(),
            cluster_uid="cluster-1",
            name="train-head",
            uid=uid,
            **{"deleting": False, **said},
        )
    )


HELD = (*working(backoff_limit=1), head(31))
RESTARTED = (
    f"The head of RayCluster {cluster_of()} was restarted (OOMKilled, exit code 137) and has "
    "lost its jobs."
)


@table(
    Outlook(
        rule="a head process that was killed and started again in its Pod has lost its jobs",
        story=(*HELD, head(40, restarts=1, ended="OOMKilled, exit code 137")),
        status={
            "jobDeploymentStatus": "Retrying",
            "reason": "AppFailed",
            "message": RESTARTED,
            "failed": 1,
        },
    ),
    Outlook(
        rule="with fault tolerance of the GCS a head that is started again keeps them",
        story=(
            *working(backoff_limit=1),
            head(31, keeps_jobs=True),
            head(40, restarts=1, ended="Error, exit code 1", keeps_jobs=True),
        ),
        status={"jobDeploymentStatus": "Running"},
    ),
    Outlook(
        rule="and so does one that is replaced",
        story=(
            *working(backoff_limit=1),
            head(31, keeps_jobs=True),
            head(40, uid="head-2", keeps_jobs=True),
        ),
        status={"jobDeploymentStatus": "Running"},
    ),
    Outlook(
        rule="a head that was started again before anything was handed in has lost nothing",
        story=(
            *initializing(submission_mode=HTTP),
            cluster("ready"),
            head(10.5),
            head(12, restarts=1, ended="Error, exit code 1"),
        ),
        status={"jobDeploymentStatus": "Running"},
    ),
    Outlook(
        rule="restarts before Running are a matter of getting ready",
        story=(*initializing(), head(5), head(6, restarts=1), head(8, restarts=2), *readied()),
        status={"jobDeploymentStatus": "Running"},
    ),
    Outlook(
        rule="a head whose Pod has failed will not run again, though the Pod is still there",
        story=(*HELD, head(40, over=True, taken="Evicted: memory")),
        status={
            "jobDeploymentStatus": "Retrying",
            "reason": "AppFailed",
            "message": "Ray head pod not found.",
        },
    ),
    Outlook(
        rule="a head that is replaced is a lost head",
        story=(*HELD, head(40, uid="head-2")),
        status={"jobDeploymentStatus": "Retrying", "message": "Ray head pod not found."},
    ),
    Outlook(
        rule="silence of a head that is there ends in the time-out, which is never retried",
        story=(*HELD, silence(40), due(DecisionKind.STATUS_CHECK)),
        status={
            "jobDeploymentStatus": "Failed",
            "reason": "JobStatusCheckTimeoutExceeded",
            "failed": 1,
        },
    ),
    Outlook(
        rule="a head that is seen gone while it is silent is a lost head, and retried",
        story=(*HELD, silence(40), head(300, uid="head-2")),
        status={"jobDeploymentStatus": "Retrying", "reason": "AppFailed", "failed": 1},
    ),
)
def test_heads(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


HTTP_HELD = (*working(submission_mode=HTTP, backoff_limit=1), head(31))
RUNS_STILL = {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING", "reason": None}
FORGOTTEN = (
    f"Ray job {submission_of()} is no longer known to the head of RayCluster {cluster_of()}: "
    "its Pod is the same, but its Ray processes have lost their jobs."
)


@table(
    Outlook(
        rule="that a head whose Pod is untouched does not know the job once is a failed check",
        story=(*HTTP_HELD, not_found(40)),
        status={**RUNS_STILL, "jobStatusCheckFailureStartTime": shown(40)},
        pending={"status_check": 340},
    ),
    Outlook(
        rule="which is forgotten when it knows the job again",
        story=(*HTTP_HELD, not_found(40), poll("RUNNING", 43, started_at=25), not_found(80)),
        status={**RUNS_STILL, "jobStatusCheckFailureStartTime": shown(80)},
        pending={"status_check": 380},
    ),
    Outlook(
        rule="the same answer for half a minute is a lost job",
        story=(*HTTP_HELD, not_found(40), not_found(69.9), not_found(70)),
        status={
            "jobDeploymentStatus": "Retrying",
            "reason": "AppFailed",
            "message": FORGOTTEN,
            "failed": 1,
        },
    ),
    Outlook(
        rule="until then it is none",
        story=(*HTTP_HELD, not_found(40), not_found(69.9)),
        status=RUNS_STILL,
    ),
    Outlook(
        rule="a restart that is seen after the answer is one at once",
        story=(*HTTP_HELD, not_found(40), head(41, restarts=1, ended="Error, exit code 1")),
        status={"jobDeploymentStatus": "Retrying", "reason": "AppFailed", "failed": 1},
    ),
    Outlook(
        rule="the same holds where a submitter waits for the job",
        story=(*HELD, not_found(40)),
        status=RUNS_STILL,
    ),
    Outlook(
        rule="two kinds of trouble that take turns end in the time-out of the first",
        story=(*HTTP_HELD, silence(35), not_found(40), silence(43)),
        status=RUNS_STILL,
        pending={"status_check": 335},
    ),
    Outlook(
        rule="once the submitter has ended there is nobody to wait for",
        story=(*HELD, submitter("Complete", 40), not_found(41)),
        status={
            "jobDeploymentStatus": "Retrying",
            "message": "Submitter completed but Ray job not found in RayCluster.",
        },
    ),
)
def test_one_answer_of_an_untouched_head_is_no_restart(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


RECOVERING = working(backoff_limit=1, recovers_lost_heads=True)
HTTP_RECOVERING = working(submission_mode=HTTP, backoff_limit=1, recovers_lost_heads=True)


@table(
    Outlook(
        rule="while the submitter has handed in nothing, the next head is as good",
        story=(*running(), head(13), head(14, uid="head-2")),
        status={"jobDeploymentStatus": "Running", "reason": None},
    ),
    Outlook(
        rule="and the job goes on there",
        story=(*running(), head(13), head_pod_gone(14), head(15, uid="head-2"), poll("RUNNING")),
        status=RUNS_STILL,
    ),
    Outlook(
        rule="a job that waits for its user needs no particular head: it is not retried either",
        story=(*running(submission_mode=INTERACTIVE), head(13), head_pod_gone(14)),
        status={"jobDeploymentStatus": "Waiting", "reason": None},
    ),
    Outlook(
        rule="nor does one whose user has named a job that was never seen",
        story=(
            *running(submission_mode=INTERACTIVE),
            manifest(20, generation=2, submission_mode=INTERACTIVE, job_id="mine", finalizer=True),
            head(21),
            head_pod_gone(22),
        ),
        status={"jobDeploymentStatus": "Running", "reason": None},
    ),
    Outlook(
        rule="in HTTPMode what the first head has not taken is handed in on the next",
        story=(
            *initializing(submission_mode=HTTP),
            cluster("ready"),
            head(10.5),
            head(12, uid="head-2"),
        ),
        status={"jobDeploymentStatus": "Running", "reason": None},
        under_way=[f"submit_entrypoint {submission_of()}", f"create_service {SERVICE}"],
    ),
    Outlook(
        rule="what the first head has taken is lost with it",
        story=(*running(submission_mode=HTTP), head(13), head_pod_gone(14)),
        status={"jobDeploymentStatus": "Failed", "message": "Ray head pod not found."},
    ),
    Outlook(
        rule="a submitter that has ended had handed it in",
        story=(*running(), head(13), submitter("Complete", 14), head_pod_gone(15)),
        status={"jobDeploymentStatus": "Failed", "message": "Ray head pod not found."},
    ),
    Outlook(
        rule="beside the head the submitter goes with it",
        story=(*running(submission_mode=SubmissionMode.SIDECAR), head(13), head_pod_gone(14)),
        status={"jobDeploymentStatus": "Failed", "message": "Ray head pod not found."},
    ),
)
def test_a_head_is_lost_only_with_a_job_on_it(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


@table(
    Outlook(
        rule="who asks for it waits for the next head",
        story=(*RECOVERING, head(31), head(40, uid="head-2")),
        status=RUNS_STILL,
    ),
    Outlook(
        rule="also for one that is started again in its Pod",
        story=(*RECOVERING, head(31), head(40, restarts=1, ended="OOMKilled, exit code 137")),
        status=RUNS_STILL,
    ),
    Outlook(
        rule="that the next head does not know the job yet is no end: the submitter hands it in",
        story=(*RECOVERING, not_found(40)),
        status=RUNS_STILL,
    ),
    Outlook(
        rule="and the run there is followed, in the same attempt",
        story=(*RECOVERING, not_found(40), poll("RUNNING", 50, started_at=45)),
        status={**RUNS_STILL, "failed": 0, "rayClusterName": cluster_of()},
    ),
    Outlook(
        rule="in HTTPMode it is handed in there by us",
        story=(*HTTP_RECOVERING, head(31), head(40, uid="head-2"), not_found(45)),
        status=RUNS_STILL,
        under_way=[f"submit_entrypoint {submission_of()}"],
    ),
    Outlook(
        rule="as often as the head does not know it",
        story=(
            *HTTP_RECOVERING,
            not_found(45),
            done(EffectKind.SUBMIT_ENTRYPOINT, 46),
            not_found(50),
        ),
        status=RUNS_STILL,
        under_way=[f"submit_entrypoint {submission_of()}"],
    ),
    Outlook(
        rule="beside the head the submitter is gone, and with it the job",
        story=(
            *working(submission_mode=SubmissionMode.SIDECAR, recovers_lost_heads=True),
            head(31),
            head_pod_gone(40),
        ),
        status={"jobDeploymentStatus": "Failed", "message": "Ray head pod not found."},
    ),
    Outlook(
        rule="a submitter that has ended hands in nothing any more",
        story=(*RECOVERING, submitter("Complete", 40), not_found(41)),
        status={
            "jobDeploymentStatus": "Retrying",
            "message": "Submitter completed but Ray job not found in RayCluster.",
        },
    ),
)
def test_recovery_on_the_next_head_is_upstreams_and_asked_for(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


@pytest.mark.parametrize(("written", "asked"), [("true", True), ("True", False), ("", False)])
def test_recovery_is_asked_for_by_an_annotation(written: str, *, asked: bool) -> None:
    annotations = {"jobledger.dev/recover-lost-head": written}
    assert read_spec({"metadata": {"annotations": annotations}}).recovers_lost_heads is asked


def test_a_head_that_was_taken_away_is_a_preemption() -> None:
    played = play(RAYJOB, (*HELD, head(39, taken="Evicted: memory"), head(40, uid="head-2")))
    (verdict,) = [event for event in played.news if isinstance(event, RetryGranted)]
    assert verdict.failure is FailureClass.PREEMPTION
    assert verdict.evidence == "the head's Pod was taken away: Evicted: memory"
