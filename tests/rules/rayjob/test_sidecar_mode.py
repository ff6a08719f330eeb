"""SidecarMode: the submitter beside the head decides, and a head that is gone is a lost job."""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.values.documents import Manifest
from tests.support.rayjob_builders import (
    ADDRESS,
    SIDECAR,
    cluster,
    cluster_of,
    due,
    not_found,
    poll,
    silence,
    submission_of,
)
from tests.support.rayjob_heads import head_pod, head_pod_gone
from tests.support.rayjob_stories import initializing, readied, running, working
from tests.support.rows import Outlook, check_outlook, play, table

EXITED = "Ray head pod container ray-job-submitter terminated with exit code 7: Error"
STARTED = (*initializing(submission_mode=SIDECAR, backoff_limit=1), head_pod(5))
RUNNING = (*STARTED, *readied(1, SIDECAR))
WORKING = (*RUNNING, poll("RUNNING", 30))
OVER: Manifest = {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "succeeded": 1}


@table(
    Outlook(
        rule="the attempt is Running once its RayCluster is ready: the submitter is there already",
        story=RUNNING,
        status={
            "jobDeploymentStatus": "Running",
            "jobId": submission_of(),
            "dashboardURL": ADDRESS,
        },
        under_way=[],
    ),
    Outlook(
        rule="Ray's SUCCEEDED alone does not complete the job: its submitter goes on",
        story=(*WORKING, poll("SUCCEEDED", 40)),
        status={"jobDeploymentStatus": "Running", "jobStatus": "SUCCEEDED"},
        pending={"transition_grace": 340},
    ),
    Outlook(
        rule="both Ray and the submitter are done: Complete",
        story=(*WORKING, poll("SUCCEEDED", 40), head_pod(42, finished="Complete")),
        status=OVER,
    ),
    Outlook(
        rule="the submitter is done before Ray is asked again: Ray is asked at once",
        story=(*WORKING, head_pod(42, finished="Complete"), poll("SUCCEEDED", 42.5)),
        status=OVER,
    ),
    Outlook(
        rule="a submitter that failed is a failed attempt, after Ray was asked once more",
        story=(
            *WORKING,
            head_pod(42, finished="Failed", message=EXITED),
            poll("RUNNING", 42.5),
        ),
        status={"jobDeploymentStatus": "Retrying", "reason": "SubmissionFailed", "message": EXITED},
    ),
    Outlook(
        rule="before Ray has answered, a failed submitter decides nothing",
        story=(*WORKING, head_pod(42, finished="Failed", message=EXITED)),
        status={"jobDeploymentStatus": "Running"},
    ),
    Outlook(
        rule="a submitter that failed because the job failed makes AppFailed",
        story=(
            *WORKING,
            head_pod(42, finished="Failed", message=EXITED),
            poll("FAILED", 42.5, message="exit code 7"),
        ),
        status={"reason": "AppFailed", "message": "exit code 7", "jobStatus": "FAILED"},
    ),
    Outlook(
        rule="a head that does not know the job of a submitter that ended: not found",
        story=(*RUNNING, head_pod(42, finished="Complete"), not_found(42.5)),
        status={
            "reason": "AppFailed",
            "message": "Submitter completed but Ray job not found in RayCluster.",
        },
    ),
    Outlook(
        rule="the Ray job outlives its submitter by more than the time-out: FAILED, as upstream",
        story=(
            *WORKING,
            head_pod(42, finished="Complete"),
            poll("RUNNING", 42.5),
            due(DecisionKind.SUBMITTER_FINISHED),
        ),
        status={
            "jobStatus": "FAILED",
            "reason": "JobDeploymentStatusTransitionGracePeriodExceeded",
            "message": "The RayJob submitter finished at 2026-11-21 12:00:40 but the ray job did "
            "not reach terminal state within 30s",
        },
    ),
    Outlook(
        rule="the submitter failed before the cluster was ready: not stuck in Initializing",
        story=(
            *STARTED,
            cluster(""),
            head_pod(20, finished="Failed", message=EXITED),
            silence(21),
        ),
        status={"jobDeploymentStatus": "Retrying", "reason": "SubmissionFailed", "message": EXITED},
    ),
    Outlook(
        rule="the submitter was done before the cluster was ready: the job can still succeed",
        story=(
            *STARTED,
            cluster(""),
            head_pod(20, finished="Complete"),
            poll("SUCCEEDED", 21),
        ),
        status=OVER,
    ),
    Outlook(
        rule="the head's Pod is gone while Running: AppFailed, upstream's message, retried",
        story=(*WORKING, head_pod_gone(40)),
        status={
            "jobDeploymentStatus": "Retrying",
            "reason": "AppFailed",
            "message": "Ray head pod not found.",
            "failed": 1,
        },
        under_way=[f"delete_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="another head in its place tells the same",
        story=(*WORKING, head_pod(40, uid="head-2")),
        status={"jobDeploymentStatus": "Retrying", "message": "Ray head pod not found."},
    ),
    Outlook(
        rule="a head that goes after the job has succeeded has done its duty",
        story=(*WORKING, poll("SUCCEEDED", 40), head_pod_gone(41)),
        status=OVER,
    ),
    Outlook(
        rule="a head that is replaced while the cluster starts is no loss",
        story=(*STARTED, head_pod_gone(6), head_pod(7, uid="head-2"), *readied(1, SIDECAR)),
        status={"jobDeploymentStatus": "Running", "failed": 0},
    ),
    Outlook(
        rule="the head of another RayCluster of that name is not this attempt's",
        story=(*WORKING, head_pod(40, uid="head-9", cluster_uid="another")),
        status={"jobDeploymentStatus": "Running"},
    ),
)
def test_sidecar_mode(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


@table(
    Outlook(
        rule="with a submitter of its own, a job loses its head as well",
        story=(*working(), head_pod(31), head_pod_gone(40)),
        status={"jobDeploymentStatus": "Failed", "reason": "AppFailed"},
    ),
    Outlook(
        rule="a head that was never seen cannot be seen to go",
        story=(*working(), head_pod_gone(40)),
        status={"jobDeploymentStatus": "Running"},
    ),
    Outlook(
        rule="a head on its way out is still there",
        story=(*working(), head_pod(31), head_pod(35, deleting=True)),
        status={"jobDeploymentStatus": "Running"},
    ),
)
def test_heads_of_other_modes(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def test_the_head_is_looked_at_in_every_mode_and_told_once() -> None:
    played = play(RAYJOB, running())
    played.take(head_pod(31))
    assert played.state.head is not None
    before = len(played.history)
    played.take(head_pod(32))
    assert len(played.history) == before
