"""Manifests that are not valid (trace T10; scenario j): a pause, not a trap as upstream."""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import JobCompleted, ManifestAccepted, ManifestRejected
from jobledger.core.rayjob.observations.observations import ManifestSeen
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.spec.spec import SubmissionMode
from tests.support.rayjob_builders import (
    INTERACTIVE,
    cluster,
    cluster_of,
    done,
    due,
    manifest,
    poll,
    refused,
    submission_of,
    submitter,
)
from tests.support.rayjob_events import (
    asked,
    cancelled,
    dropped,
    failed_to_retry,
    fired,
    ray_says,
    received,
    scheduled,
    started,
    submitter_ended,
)
from tests.support.rayjob_stories import (
    failing,
    initializing,
    running,
    seen,
    succeeded,
    suspended,
    working,
)
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, table

BAD = "suspend needs shutdownAfterJobFinishes"


def invalid(
    at: float = 60, generation: int = 2, problem: str = BAD, **spec: int | SubmissionMode
) -> ManifestSeen:
    """Return a look at the job after an edit that is not valid."""
    return manifest(
        at,
        generation=generation,
        problem=problem,
        finalizer=True,
        **spec,  # type: ignore[arg-type] # fields of the specification only
    )


def rejected(generation: int = 2, message: str = BAD) -> ManifestRejected:
    """Return that the manifest is said not to be valid."""
    return ManifestRejected(
        at=WHEN, generation=generation, kind="InvalidRayJobSpec", message=message
    )


VALID_AGAIN = manifest(70, generation=3, finalizer=True)
ACCEPTED = ManifestAccepted(at=WHEN, generation=3)
WRONG_AT_FIRST = manifest(problem=BAD)


@table(
    Row(
        rule="a job that was never valid and is corrected begins like a new one",
        given=[WRONG_AT_FIRST],
        when=VALID_AGAIN,
        then=(
            received(VALID_AGAIN),
            ACCEPTED,
            started(1, generation=3),
            asked(EffectKind.CREATE_CLUSTER, cluster_of(), generation=3),
        ),
    ),
    Row(
        rule="another fault takes the place of the first",
        given=[WRONG_AT_FIRST],
        when=invalid(problem="backoffLimit must be positive"),
        then=(
            received(invalid(problem="backoffLimit must be positive")),
            rejected(message="backoffLimit must be positive"),
        ),
    ),
    Row(
        rule="the same fault after another edit is not told again",
        given=[WRONG_AT_FIRST],
        when=invalid(),
        then=(received(invalid()),),
    ),
    Row(
        rule="an invalid edit of a running job pauses it; nothing of it is touched (scenario j)",
        given=working(active_deadline_seconds=600),
        when=invalid(active_deadline_seconds=600),
        then=(received(invalid(active_deadline_seconds=600)), rejected()),
    ),
    Row(
        rule="a running job that is valid again goes on with the same attempt and deadlines",
        given=(
            *working(active_deadline_seconds=600),
            invalid(active_deadline_seconds=600),
        ),
        when=manifest(70, generation=3, finalizer=True, active_deadline_seconds=600),
        then=(
            received(manifest(70, generation=3, finalizer=True, active_deadline_seconds=600)),
            ACCEPTED,
        ),
    ),
    Row(
        rule="a job that is paused while its cluster is being created does not wait for it",
        given=seen(),
        when=invalid(),
        then=(
            received(invalid()),
            rejected(),
            dropped(EffectKind.CREATE_CLUSTER, cluster_of()),
        ),
    ),
    Row(
        rule="a cluster of which nobody knows whether it was made is asked for again",
        given=(*seen(), invalid()),
        when=VALID_AGAIN,
        then=(
            received(VALID_AGAIN),
            ACCEPTED,
            asked(EffectKind.CREATE_CLUSTER, cluster_of(), generation=3),
        ),
    ),
    Row(
        rule="a submitter of which nobody knows whether it was made is asked for again",
        given=(*initializing(), cluster("ready"), invalid()),
        when=VALID_AGAIN,
        then=(
            received(VALID_AGAIN),
            ACCEPTED,
            asked(
                EffectKind.CREATE_SUBMITTER,
                "train",
                generation=3,
                address="train-head-svc.ml.svc.cluster.local:8265",
            ),
        ),
    ),
    Row(
        rule="what is heard of the Ray job during a pause is written down; the fault stays shown",
        given=(*working(), invalid()),
        when=poll("RUNNING", 65, message="half way"),
        then=(ray_says("RUNNING", message="half way"),),
    ),
    Row(
        rule="a job that ended during the pause ends when its manifest is valid again",
        given=(
            *working(),
            invalid(),
            poll("SUCCEEDED", 65, ended_at=64),
            submitter("Complete", 66),
        ),
        when=VALID_AGAIN,
        then=(
            received(VALID_AGAIN),
            ACCEPTED,
            JobCompleted(at=WHEN, attempt=1, job_status=JobStatus.SUCCEEDED),
            cancelled(DecisionKind.TRANSITION_GRACE, "attempt 1 has ended"),
        ),
    ),
    Row(
        rule="a deadline passes during a pause as well; the fault is told again after it",
        given=(
            *initializing(pre_running_deadline_seconds=100, backoff_limit=1),
            invalid(pre_running_deadline_seconds=100, backoff_limit=1),
        ),
        when=due(DecisionKind.PRE_RUNNING_DEADLINE, looked=False),
        then=(
            fired(DecisionKind.PRE_RUNNING_DEADLINE, 100),
            *failed_to_retry(
                "PreRunningDeadlineExceeded",
                "The RayJob has passed the preRunningDeadlineSeconds. StartTime: "
                "2026-11-21 12:00:00 +0000 UTC. PreRunningDeadlineSeconds: 100",
                backoff_limit=1,
                due_at=100,
            ),
            rejected(),
            scheduled(DecisionKind.RETRY, 100, "attempt 1 failed"),
        ),
    ),
    Row(
        rule="an invalid edit of a job that is Complete changes nothing about it",
        given=succeeded(),
        when=invalid(),
        then=(received(invalid()),),
    ),
    Row(
        rule="the end of a submitter during a pause is written down",
        given=(*working(), invalid()),
        when=submitter("Complete", 65),
        then=(submitter_ended("Complete", 63),),
    ),
)
def test_validity(row: Row) -> None:
    check(RAYJOB, row)


PAUSED = {"jobDeploymentStatus": "ValidationFailed", "reason": "ValidationFailed", "message": BAD}


@table(
    Outlook(
        rule="what is shown of a job that was never valid (T10)",
        story=[WRONG_AT_FIRST],
        status={
            **PAUSED,
            "jobStatus": None,
            "startTime": None,
            "rayClusterName": None,
            "failed": 0,
            "succeeded": 0,
        },
        under_way=[],
        pending={},
    ),
    Outlook(
        rule="a paused job keeps its names, its start and its failures on show (scenario j)",
        story=(*working(), invalid()),
        status={
            **PAUSED,
            "rayClusterName": cluster_of(),
            "jobId": submission_of(),
            "jobStatus": "RUNNING",
            "failed": 0,
            "endTime": None,
        },
        under_way=[],
    ),
    Outlook(
        rule="an invalid deadline does not end what runs: the last valid one is in force",
        story=(
            *working(active_deadline_seconds=600),
            manifest(
                50, generation=2, finalizer=True, problem="no deadline", active_deadline_seconds=-5
            ),
        ),
        status={"jobDeploymentStatus": "ValidationFailed"},
        pending={"active_deadline": 600},
    ),
    Outlook(
        rule="an invalid edit of the ttl deletes nothing sooner",
        story=(
            *succeeded(shutdown_after_job_finishes=True, ttl_seconds_after_finished=600),
            manifest(
                50,
                generation=2,
                finalizer=True,
                problem="bad",
                shutdown_after_job_finishes=True,
                ttl_seconds_after_finished=-5,
            ),
        ),
        status={"jobDeploymentStatus": "Complete"},
        pending={"ttl_shutdown": 642},
    ),
    Outlook(
        rule="a job that goes to another controller with an invalid manifest goes",
        story=(
            *working(active_deadline_seconds=600),
            manifest(
                50, generation=2, finalizer=True, problem="bad", managed_by="example.com/other"
            ),
        ),
        status={"jobDeploymentStatus": "Running"},
        under_way=[],
        pending={},
    ),
    Outlook(
        rule="the deadline of a paused job stays",
        story=(*working(active_deadline_seconds=90), invalid(active_deadline_seconds=90)),
        pending={"active_deadline": 90},
    ),
    Outlook(
        rule="a message of Ray's does not hide the fault",
        story=(*working(), invalid(), poll("RUNNING", 65, message="half way")),
        status=PAUSED,
    ),
    Outlook(
        rule="a refusal of something else does not hide the fault",
        story=(
            *suspended(),
            cluster("", 75, uid="late"),
            invalid(76, 3),
            refused(EffectKind.DELETE_CLUSTER, 77),
        ),
        status=PAUSED,
    ),
    Outlook(
        rule="a job that is paused in Retrying cleans up when it is valid again",
        story=(
            *working(backoff_limit=1),
            *failing(),
            invalid(backoff_limit=1),
            manifest(70, generation=3, finalizer=True, backoff_limit=1),
        ),
        status={"jobDeploymentStatus": "Retrying"},
        under_way=[f"delete_cluster {cluster_of()}", "delete_submitter train"],
    ),
    Outlook(
        rule="a suspended job with a fault is resumed when it is corrected",
        story=(*suspended(), invalid(75, 3), manifest(80, generation=4, finalizer=True)),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of(2)},
    ),
    Outlook(
        rule="the grace completes a job even during a pause",
        story=(
            *working(),
            poll("SUCCEEDED", 40),
            invalid(),
            due(DecisionKind.TRANSITION_GRACE),
        ),
        status={"jobDeploymentStatus": "Complete", "succeeded": 1},
    ),
    Outlook(
        rule="an interactive job goes on waiting after a pause",
        story=(
            *running(submission_mode=INTERACTIVE),
            invalid(submission_mode=INTERACTIVE),
            manifest(70, generation=3, finalizer=True, submission_mode=INTERACTIVE),
        ),
        status={"jobDeploymentStatus": "Waiting", "reason": None, "message": None},
    ),
    Outlook(
        rule="a cluster that was made during the pause is found again after it",
        story=(
            *seen(),
            invalid(),
            VALID_AGAIN,
            done(EffectKind.CREATE_CLUSTER, 71, uid="cluster-1", already=True),
        ),
        facts={"refused": ()},
        under_way=[],
        status={"jobDeploymentStatus": "Initializing"},
    ),
)
def test_pauses(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
