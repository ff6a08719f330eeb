"""How an attempt gets to Running and the job to Complete (traces T1 and T9; scenarios a to c)."""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import JobCompleted
from jobledger.core.rayjob.evolve.facts import NO_DASHBOARD_PORT
from jobledger.core.rayjob.phases import JobStatus
from tests.support.rayjob_builders import (
    ADDRESS,
    HTTP,
    JOB,
    cluster,
    cluster_of,
    done,
    due,
    poll,
    submitter,
)
from tests.support.rayjob_events import (
    asked,
    cancelled,
    cluster_is,
    did,
    ray_says,
    reached_running,
    scheduled,
    service_asked,
    submitter_ended,
    submitter_is_there,
)
from tests.support.rayjob_stories import initializing, running, seen, working
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, table

GRACE = "the Ray job is {}, its submitter has not ended"
ENDED = "attempt 1 has ended"
SUBMITTER = asked(EffectKind.CREATE_SUBMITTER, JOB, address=ADDRESS)


def completed(status: str = "SUCCEEDED", message: str = "") -> JobCompleted:
    """Return the end of the first attempt without failure."""
    return JobCompleted(at=WHEN, attempt=1, job_status=JobStatus(status), message=message)


@table(
    Row(
        rule="a RayCluster that was created is waited for",
        given=seen(),
        when=done(EffectKind.CREATE_CLUSTER, uid="cluster-1"),
        then=(did(EffectKind.CREATE_CLUSTER, cluster_of(), uid="cluster-1"),),
    ),
    Row(
        rule="what a RayCluster says before it is ready is written down",
        given=initializing(),
        when=cluster("", status={"desiredWorkerReplicas": 1}),
        then=(cluster_is("", status={"desiredWorkerReplicas": 1}),),
    ),
    Row(
        rule="a RayCluster that was seen before its creation came back needs no other",
        given=seen(),
        when=cluster(""),
        then=(cluster_is(""),),
    ),
    Row(
        rule="the outcome of a creation that the watch had told before changes nothing",
        given=(*seen(), cluster("")),
        when=done(EffectKind.CREATE_CLUSTER, 12, uid="cluster-1"),
        then=(did(EffectKind.CREATE_CLUSTER, cluster_of(), uid="cluster-1"),),
    ),
    Row(
        rule="the submitter is made when the RayCluster is ready, before Running (scenario b)",
        given=initializing(),
        when=cluster("ready"),
        then=(cluster_is("ready"), SUBMITTER),
    ),
    Row(
        rule="a ready RayCluster without a dashboard port is not ready for us",
        given=initializing(),
        when=cluster("ready", address=""),
        then=(cluster_is("ready", address=""),),
    ),
    Row(
        rule="Running is reached when the submitter exists",
        given=(*initializing(), cluster("ready")),
        when=done(EffectKind.CREATE_SUBMITTER, 11, uid="submitter-1"),
        then=(
            did(EffectKind.CREATE_SUBMITTER, JOB, uid="submitter-1"),
            reached_running(),
            service_asked(),
        ),
    ),
    Row(
        rule="Running is reached also when the watch tells of the submitter first",
        given=(*initializing(), cluster("ready")),
        when=submitter(),
        then=(submitter_is_there(), reached_running(), service_asked()),
    ),
    Row(
        rule="each change of Ray's account is written down",
        given=running(),
        when=poll("PENDING", message="waiting for resources"),
        then=(ray_says("PENDING", message="waiting for resources"),),
    ),
    Row(
        rule="an answer as before is no news",
        given=working(),
        when=poll("RUNNING", 33, started_at=25),
    ),
    Row(
        rule="Ray's SUCCEEDED alone does not complete a job whose submitter goes on (scenario c)",
        given=working(),
        when=poll("SUCCEEDED", 40, started_at=25, ended_at=39),
        then=(
            ray_says("SUCCEEDED", started_at=25, ended_at=39),
            scheduled(DecisionKind.TRANSITION_GRACE, 339, GRACE.format("SUCCEEDED")),
        ),
    ),
    Row(
        rule="Ray's SUCCEEDED and the end of the submitter complete the job",
        given=(*working(), poll("SUCCEEDED", 40, started_at=25, ended_at=39)),
        when=submitter("Complete", 42),
        then=(
            submitter_ended("Complete", 40),
            completed(),
            cancelled(DecisionKind.TRANSITION_GRACE, ENDED),
        ),
    ),
    Row(
        rule="the end of the submitter and then Ray's SUCCEEDED complete the job likewise",
        given=(*working(), submitter("Complete", 40)),
        when=poll("SUCCEEDED", 42, started_at=25, ended_at=39),
        then=(ray_says("SUCCEEDED", started_at=25, ended_at=39), completed()),
    ),
    Row(
        rule="in HTTPMode, Ray's SUCCEEDED completes the job at once (T7)",
        given=running(submission_mode=HTTP),
        when=poll("SUCCEEDED", 40, ended_at=39, message="bye"),
        then=(ray_says("SUCCEEDED", ended_at=39, message="bye"), completed(message="bye")),
    ),
    Row(
        rule="a job that somebody stopped is Complete, and not a failure (T9)",
        given=(*working(backoff_limit=3), poll("STOPPED", 40, started_at=25, ended_at=39)),
        when=submitter("Complete", 42),
        then=(
            submitter_ended("Complete", 40),
            completed("STOPPED"),
            cancelled(DecisionKind.TRANSITION_GRACE, ENDED),
        ),
    ),
)
def test_success(row: Row) -> None:
    check(RAYJOB, row)


GRACE_STORY = (*working(), poll("SUCCEEDED", 40, ended_at=39))


@table(
    Outlook(
        rule="that a ready RayCluster shows no dashboard is said: no wait without a word (13.16)",
        story=(*initializing(), cluster("ready", address="")),
        status={"jobDeploymentStatus": "Initializing", "message": NO_DASHBOARD_PORT},
    ),
    Outlook(
        rule="and said no more once it shows one",
        story=(*initializing(), cluster("ready", address=""), cluster("ready", 12)),
        status={"jobDeploymentStatus": "Initializing", "message": None},
        under_way=[f"create_submitter {JOB}"],
    ),
    Outlook(
        rule="when the submitter hangs after Ray's SUCCEEDED, the grace completes the job",
        story=(*GRACE_STORY, due(DecisionKind.TRANSITION_GRACE)),
        status={
            "jobDeploymentStatus": "Complete",
            "reason": "JobDeploymentStatusTransitionGracePeriodExceeded",
            "message": (
                "JobDeploymentStatus does not transition to Complete or Failed within the grace "
                "period after JobStatus reaches a terminal state."
            ),
            "succeeded": 1,
        },
        pending={},
    ),
    Outlook(
        rule="when the submitter hangs after Ray's FAILED, the grace fails the attempt, to retry",
        story=(
            *working(backoff_limit=1),
            poll("FAILED", 40, ended_at=39),
            due(DecisionKind.TRANSITION_GRACE),
        ),
        status={
            "jobDeploymentStatus": "Retrying",
            "reason": "JobDeploymentStatusTransitionGracePeriodExceeded",
            "failed": 1,
        },
    ),
    Outlook(
        rule="the grace counts from Ray's own end, however late it is heard of",
        story=(*working(), poll("SUCCEEDED", 250, ended_at=39)),
        pending={"transition_grace": 339},
    ),
    Outlook(
        rule="of an end before the attempt began it counts from when the end was heard",
        story=(*working(), poll("SUCCEEDED", 100, ended_at=-5000)),
        pending={"transition_grace": 400},
    ),
    Outlook(
        rule="and so it does of an end that is still to come",
        story=(*working(), poll("SUCCEEDED", 100, ended_at=5000)),
        pending={"transition_grace": 400},
    ),
    Outlook(
        rule="a stopped job counts neither as succeeded nor as failed (T9)",
        story=(*working(), poll("STOPPED", 40), submitter("Complete", 42)),
        status={"jobDeploymentStatus": "Complete", "succeeded": 0, "failed": 0},
    ),
    Outlook(
        rule="an ended Ray job does not come back to life",
        story=(*working(), poll("SUCCEEDED", 40), poll("RUNNING", 41)),
        status={"jobStatus": "SUCCEEDED", "jobDeploymentStatus": "Running"},
        said=[],
    ),
    Outlook(
        rule="an answer about another submission is not about this job",
        story=(*working(), poll("FAILED", 40, job_id="somebody-elses")),
        status={"jobStatus": "RUNNING"},
        said=[],
    ),
)
def test_ways_to_an_end(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
