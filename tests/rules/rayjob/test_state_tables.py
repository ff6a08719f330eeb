"""Upstream's state tables, row by row: a test for each, named after its section and its row.

The sections are those of the description of upstream's controller that this was built from: 3.1 to
3.7 what is looked at in each phase and in which order, 3.8 counters and the retry rule, 3.9
reasons and messages, 3.11 timers, 3.12 transitions. `test_every_row_is_here` keeps the index.
"""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.options import RetryOptions
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.phases import FOLLOWERS, Phase
from jobledger.core.values.documents import Manifest
from tests.support.rayjob_builders import (
    ADDRESS,
    HTTP,
    INTERACTIVE,
    JOB,
    SIDECAR,
    UNKNOWN,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    manifest,
    not_found,
    poll,
    refused,
    shown,
    silence,
    submission_of,
    submitter,
    submitter_gone,
)
from tests.support.rayjob_heads import head_pod, head_pod_gone
from tests.support.rayjob_stories import (
    SELECTED,
    Story,
    cleared,
    failed_attempts,
    failing,
    initializing,
    readied,
    running,
    seen,
    selecting,
    succeeded,
    suspended,
    suspending,
    working,
)
from tests.support.rows import Outlook, Step, check_outlook, play, table

GRACE_EXCEEDED = "JobDeploymentStatusTransitionGracePeriodExceeded"
EXITED = "Ray head pod container ray-job-submitter terminated with exit code 7: Error"
USED_UP = (
    "Ray head pod submitter container ray-job-submitter terminated after exceeding the maximum "
    "restart count"
)
SUSPEND = manifest(60, generation=2, suspend=True, finalizer=True)
WAITING = running(submission_mode=INTERACTIVE)
NAMED = manifest(40, generation=2, submission_mode=INTERACTIVE, job_id="mine", finalizer=True)
BAD = manifest(60, generation=2, problem="bad", finalizer=True)
ACTIVE, PRE_RUNNING = DecisionKind.ACTIVE_DEADLINE, DecisionKind.PRE_RUNNING_DEADLINE


def phase(now: Phase, **status: object) -> Manifest:
    """Return that a phase, and fields of the status, are shown."""
    return {"jobDeploymentStatus": now.value or None, **status}  # type: ignore[dict-item] # JSON


def failure(reason: str, message: str, *, status: str | None = None, failed: int = 1) -> Manifest:
    """Return how a job that has failed for good is shown."""
    return phase(Phase.FAILED, reason=reason, message=message, jobStatus=status, failed=failed)


def row(name: str, story: Story | tuple[Step, ...], status: Manifest, **more: object) -> Outlook:
    """Return a row of a state table."""
    return Outlook(rule=name, story=story, status=status, **more)  # type: ignore[arg-type] # an Outlook's fields


TRANSITIONS = (
    row("3.12 New -> Initializing: always", seen(), phase(Phase.INITIALIZING, failed=0)),
    row(
        "3.12 New -> Suspended: suspend, where upstream passes through Initializing",
        seen(suspend=True),
        phase(Phase.SUSPENDED, rayClusterName=None),
    ),
    row(
        "3.12 Initializing -> Waiting: ready, InteractiveMode",
        WAITING,
        phase(Phase.WAITING, jobId=None),
    ),
    row("3.12 Initializing -> Running: ready, submitter made", running(), phase(Phase.RUNNING)),
    row(
        "3.12 Initializing -> Suspending: suspend",
        (*initializing(), manifest(5, generation=2, suspend=True, finalizer=True)),
        phase(Phase.SUSPENDING, rayClusterName=cluster_of()),
    ),
    row(
        "3.12 Initializing -> Retrying: pre-running deadline within backoffLimit",
        (*initializing(pre_running_deadline_seconds=30, backoff_limit=1), due(PRE_RUNNING)),
        phase(Phase.RETRYING, reason="PreRunningDeadlineExceeded", failed=1),
    ),
    row(
        "3.12 Initializing -> Failed: active deadline",
        (*initializing(active_deadline_seconds=30, backoff_limit=1), due(ACTIVE)),
        phase(Phase.FAILED, reason="DeadlineExceeded", failed=1, endTime=shown(30)),
    ),
    row("3.12 Waiting -> Running: spec.jobId named", (*WAITING, NAMED), phase(Phase.RUNNING)),
    row(
        "3.12 Waiting -> Failed: pre-running deadline",
        (
            *running(submission_mode=INTERACTIVE, pre_running_deadline_seconds=30),
            due(PRE_RUNNING),
        ),
        phase(Phase.FAILED, reason="PreRunningDeadlineExceeded"),
    ),
    row(
        "3.12 Waiting -> Retrying: only by an edit, as InteractiveMode takes no backoffLimit",
        (
            *running(submission_mode=INTERACTIVE, pre_running_deadline_seconds=30),
            manifest(
                20,
                generation=2,
                backoff_limit=1,
                pre_running_deadline_seconds=30,
                finalizer=True,
            ),
            due(PRE_RUNNING),
        ),
        phase(Phase.RETRYING, reason="PreRunningDeadlineExceeded"),
    ),
    row("3.12 Running -> Suspending: suspend", (*working(), SUSPEND), phase(Phase.SUSPENDING)),
    row("3.12 Running -> Complete: succeeded", succeeded(), phase(Phase.COMPLETE, succeeded=1)),
    row("3.12 Running -> Failed: failed", (*working(), *failing()), phase(Phase.FAILED, failed=1)),
    row(
        "3.12 Running -> Retrying: failed within backoffLimit, in the same write",
        (*working(backoff_limit=1), *failing()),
        phase(Phase.RETRYING, failed=1, reason="AppFailed", endTime=None, jobStatus="FAILED"),
    ),
    row(
        "3.12 Retrying -> Failed: a deadline over all attempts, which upstream has not",
        (
            *working(
                backoff_limit=1,
                options=RetryOptions(job_deadline_seconds=50),
                policy=Policy(retry_delay_seconds=60),
            ),
            *failing(),
            due(DecisionKind.JOB_DEADLINE),
        ),
        phase(Phase.FAILED, reason="DeadlineExceeded", failed=1, endTime=shown(50)),
    ),
    row(
        "3.12 Retrying -> New: RayCluster and submitter are gone",
        (*working(backoff_limit=1), *failing(), *cleared()),
        phase(Phase.INITIALIZING, rayClusterName=cluster_of(2), jobId=submission_of(2), failed=1),
    ),
    row(
        "3.12 Suspending -> Suspended: RayCluster and submitter are gone",
        suspended(),
        phase(Phase.SUSPENDED, rayClusterName=None, jobId=None, dashboardURL=None, jobStatus=None),
    ),
    row(
        "3.12 Suspended -> New: suspend is taken back",
        (*suspended(), manifest(90, generation=3, finalizer=True)),
        phase(Phase.INITIALIZING, rayClusterName=cluster_of(2), startTime=shown(90)),
    ),
    row(
        "3.12 New -> ValidationFailed: not valid",
        (manifest(problem="bad"),),
        phase(Phase.VALIDATION_FAILED, reason="ValidationFailed", message="bad"),
    ),
    *(
        row(
            f"3.12 {before} -> ValidationFailed: an edit that is not valid",
            (*story, BAD),
            phase(Phase.VALIDATION_FAILED, message="bad"),
        )
        for before, story in (
            ("Initializing", initializing()),
            ("Waiting", WAITING),
            ("Running", working()),
            ("Suspending", suspending()),
            ("Suspended", suspended()),
            ("Retrying", (*working(backoff_limit=1), *failing())),
        )
    ),
    row(
        "3.12 ValidationFailed -> New: valid from the beginning of its life",
        (manifest(problem="bad"), manifest(10, generation=2)),
        phase(Phase.INITIALIZING),
    ),
    *(
        row(
            f"3.12 ValidationFailed -> {after}: valid again, it goes on where it was",
            (*story, BAD, manifest(70, generation=3, finalizer=True, **spec)),
            phase(after),
        )
        for after, story, spec in (
            (Phase.INITIALIZING, initializing(), {}),
            (Phase.WAITING, WAITING, {"submission_mode": INTERACTIVE}),
            (Phase.RUNNING, working(), {}),
            (Phase.SUSPENDING, suspending(), {"suspend": True}),
            (Phase.SUSPENDED, suspended(), {"suspend": True}),
            (
                Phase.RETRYING,
                (*working(backoff_limit=1), *failing()),
                {"backoff_limit": 1},
            ),
        )
    ),
    row(
        "3.12 ValidationFailed -> Failed: its deadline passes meanwhile",
        (
            *working(active_deadline_seconds=90),
            manifest(60, generation=2, problem="bad", finalizer=True, active_deadline_seconds=90),
            due(ACTIVE),
        ),
        phase(Phase.FAILED, reason="DeadlineExceeded"),
    ),
    row(
        "3.12 ValidationFailed -> Complete: succeeded meanwhile, concluded after the grace",
        (*working(), BAD, poll("SUCCEEDED", 65), due(DecisionKind.TRANSITION_GRACE)),
        phase(Phase.COMPLETE, reason=GRACE_EXCEEDED),
    ),
)

CHECKS = (
    row(
        "3.1 New: names, start and counters come with the first write",
        seen(),
        phase(
            Phase.INITIALIZING,
            jobId=submission_of(),
            rayClusterName=cluster_of(),
            startTime=shown(0),
            succeeded=0,
            failed=0,
        ),
    ),
    row(
        "3.1 New: a job created suspended reserves names and gives them up",
        (manifest(suspend=True),),
        phase(Phase.SUSPENDED, rayClusterName=None, jobId=None, startTime=shown(0)),
    ),
    row(
        "3.2.1 Initializing: suspend comes before everything else",
        (
            *initializing(active_deadline_seconds=60),
            manifest(5, generation=2, suspend=True, active_deadline_seconds=60, finalizer=True),
        ),
        phase(Phase.SUSPENDING),
        pending={},
    ),
    row(
        "3.2.2 Initializing: activeDeadlineSeconds",
        (*initializing(active_deadline_seconds=60), due(ACTIVE)),
        phase(Phase.FAILED, reason="DeadlineExceeded"),
    ),
    row(
        "3.2.3 Initializing: preRunningDeadlineSeconds",
        (*initializing(pre_running_deadline_seconds=60), due(PRE_RUNNING)),
        phase(Phase.FAILED, reason="PreRunningDeadlineExceeded"),
    ),
    row(
        "3.2.5 Initializing: the RayCluster is created",
        seen(),
        phase(Phase.INITIALIZING),
        under_way=[f"create_cluster {cluster_of()}"],
    ),
    row(
        "3.2.5 Initializing: a selected RayCluster that is not there is said and looked for",
        (*selecting(), refused(EffectKind.FIND_CLUSTER, 1, "RayCluster ml/shared is not found")),
        phase(Phase.INITIALIZING, message="RayCluster ml/shared is not found"),
        pending={"effect_retry": 11},
    ),
    row(
        "3.2.6 Initializing: the status of a RayCluster that is not ready is copied",
        (*initializing(), cluster("", status={"desiredWorkerReplicas": 1})),
        phase(Phase.INITIALIZING, rayClusterStatus={"desiredWorkerReplicas": 1}),
    ),
    row(
        "3.2.6 Initializing: a RayCluster without the port of a dashboard is waited for",
        (*initializing(), cluster("ready", address="")),
        phase(Phase.INITIALIZING, dashboardURL=None),
    ),
    row(
        "3.2.7 Initializing: InteractiveMode waits for its user",
        WAITING,
        phase(Phase.WAITING, dashboardURL=ADDRESS),
    ),
    row(
        "3.2.8 Initializing: the submitter is created before Running",
        (*initializing(), cluster("ready")),
        phase(Phase.INITIALIZING),
        under_way=[f"create_submitter {JOB}"],
    ),
    row(
        "3.2.9 Initializing: HTTPMode is Running before anything is submitted",
        (*initializing(submission_mode=HTTP), cluster("ready")),
        phase(Phase.RUNNING, dashboardURL=ADDRESS, jobStatus=None),
    ),
    row(
        "3.2.9 Initializing: SidecarMode has its submitter in the head's Pod already",
        (*initializing(submission_mode=SIDECAR), cluster("ready")),
        phase(Phase.RUNNING),
    ),
    row(
        "3.3.1 Waiting: preRunningDeadlineSeconds",
        (
            *running(submission_mode=INTERACTIVE, pre_running_deadline_seconds=30),
            due(PRE_RUNNING),
        ),
        phase(Phase.FAILED, reason="PreRunningDeadlineExceeded"),
    ),
    row("3.3.2 Waiting: without spec.jobId nothing happens", WAITING, phase(Phase.WAITING)),
    row(
        "3.3.3 Waiting: spec.jobId becomes the job's",
        (*WAITING, NAMED),
        phase(Phase.RUNNING, jobId="mine"),
    ),
    row("3.4.1 Running: suspend", (*working(), SUSPEND), phase(Phase.SUSPENDING)),
    row(
        "3.4.2 Running: activeDeadlineSeconds, with Ray's last word kept",
        (*working(active_deadline_seconds=60, backoff_limit=2), due(ACTIVE)),
        phase(Phase.FAILED, reason="DeadlineExceeded", jobStatus="RUNNING", failed=1),
    ),
    row(
        "3.4.3 Running: the grace after Ray's end",
        (*working(), poll("SUCCEEDED", 40), due(DecisionKind.TRANSITION_GRACE)),
        phase(Phase.COMPLETE, reason=GRACE_EXCEEDED, succeeded=1),
    ),
    row(
        "3.4.4 Running: the status checks' time-out",
        (*working(backoff_limit=2), silence(40), due(DecisionKind.STATUS_CHECK)),
        phase(Phase.FAILED, reason="JobStatusCheckTimeoutExceeded", failed=1),
    ),
    row(
        "3.4.5 Running: a RayCluster that vanished is an attempt that failed (differs)",
        (*working(), cluster_gone(50)),
        phase(Phase.FAILED, reason="AppFailed"),
    ),
    row(
        "3.4.6 Running: the Service of the job's head is made",
        (*initializing(submission_mode=INTERACTIVE), *readied(1, INTERACTIVE), NAMED),
        phase(Phase.RUNNING),
        under_way=[f"create_service {JOB}-head-svc"],
    ),
    row(
        "3.4.6 Running: after a retry it leads to the other RayCluster",
        (
            *failed_attempts(1, backoff_limit=1),
            done(EffectKind.CREATE_CLUSTER, 101, uid="cluster-2"),
            cluster("ready", 110, attempt=2),
            done(EffectKind.CREATE_SUBMITTER, 111, uid="submitter-2"),
        ),
        phase(Phase.RUNNING),
        under_way=[f"update_service {JOB}-head-svc"],
    ),
    row(
        "3.4.6 Running: a selected RayCluster has no Service of the job's",
        (
            *selecting(submission_mode=HTTP),
            cluster("ready", name=SELECTED, uid="shared", owned=False),
        ),
        phase(Phase.RUNNING),
        under_way=[f"submit_entrypoint {submission_of()}"],
    ),
    row(
        "3.4.7 Running: the submitter's time-out, counted from when its end was seen (differs)",
        (
            *working(),
            submitter("Complete", 42),
            poll("RUNNING", 43),
            due(DecisionKind.SUBMITTER_FINISHED),
        ),
        phase(Phase.FAILED, reason=GRACE_EXCEEDED, jobStatus="FAILED"),
    ),
    row(
        "3.4.8 Running: 404 before the submitter has submitted says nothing",
        (*running(), not_found(30)),
        phase(Phase.RUNNING, message=None),
    ),
    row(
        "3.4.8 Running: 404 in HTTPMode before the submission: it is submitted",
        (*initializing(submission_mode=HTTP), cluster("ready")),
        phase(Phase.RUNNING),
        under_way=[f"submit_entrypoint {submission_of()}", f"create_service {JOB}-head-svc"],
    ),
    row(
        "3.4.8 Running: 404 in HTTPMode after the submission is a lost job (differs)",
        (*working(submission_mode=HTTP), not_found(40)),
        phase(Phase.FAILED, reason="AppFailed"),
    ),
    row(
        "3.4.8 Running: 404 after the submitter ended",
        (*running(), submitter("Complete", 42), not_found(43)),
        phase(Phase.FAILED, reason="AppFailed"),
    ),
    row(
        "3.4.8 Running: another error starts the silence",
        (*working(), silence(40)),
        phase(Phase.RUNNING, jobStatusCheckFailureStartTime=shown(40)),
    ),
    row(
        "3.4.8 Running: a good answer ends the silence",
        (*working(), silence(40), poll("RUNNING", 50)),
        phase(Phase.RUNNING, jobStatusCheckFailureStartTime=None),
    ),
    row(
        "3.5 Suspending: RayCluster and submitter are deleted",
        suspending(),
        phase(Phase.SUSPENDING),
        under_way=[f"delete_cluster {cluster_of()}", f"delete_submitter {JOB}"],
    ),
    row(
        "3.5 Suspending: it is atomic, spec.suspend is not read meanwhile",
        (*suspending(), manifest(61, generation=3, finalizer=True)),
        phase(Phase.SUSPENDING),
    ),
    row(
        "3.5 Retrying: RayCluster and submitter are deleted",
        (*working(backoff_limit=1), *failing()),
        phase(Phase.RETRYING),
        under_way=[f"delete_cluster {cluster_of()}", f"delete_submitter {JOB}"],
    ),
    row(
        "3.5 Retrying: a submitter that is still there keeps the next attempt waiting",
        (
            *working(backoff_limit=1),
            *failing(),
            *cleared()[:3],
            cluster_gone(60),
        ),
        phase(Phase.RETRYING),
    ),
    row(
        "3.6 Suspended: nothing happens before suspend is taken back",
        (*suspended(), cluster_gone(80)),
        phase(Phase.SUSPENDED),
        under_way=[],
        pending={},
    ),
    row(
        "3.7 Complete: final, an edit that is not valid changes nothing (differs)",
        (*succeeded(), BAD),
        phase(Phase.COMPLETE),
    ),
    row(
        "3.7 Failed: final, whatever comes later",
        (*working(), *failing(), poll("SUCCEEDED", 60), SUSPEND),
        phase(Phase.FAILED, jobStatus="FAILED"),
    ),
    row(
        "3.7 ValidationFailed: nothing is cleaned up, nothing counted, endTime is not set",
        (*working(), BAD),
        phase(Phase.VALIDATION_FAILED, failed=0, endTime=None),
        under_way=[],
    ),
    row(
        "4.5 An unknown mode submits nothing, and says so",
        (*running(submission_mode=UNKNOWN), not_found(30)),
        phase(
            Phase.RUNNING,
            message=f"The head does not know Ray job {submission_of()} yet, and in this "
            "submissionMode it is not submitted for you.",
        ),
    ),
)

COUNTERS = (
    row("3.8 A failure counts", (*working(), *failing()), phase(Phase.FAILED, failed=1)),
    row("3.8 A success counts", succeeded(), phase(Phase.COMPLETE, succeeded=1, failed=0)),
    row(
        "3.8 STOPPED counts nowhere",
        (*working(), poll("STOPPED", 40), submitter("Complete", 42)),
        phase(Phase.COMPLETE, succeeded=0, failed=0, jobStatus="STOPPED"),
    ),
    row(
        "3.8 backoffLimit N is followed by N + 1 failures and no more",
        (
            *failed_attempts(1, backoff_limit=1),
            done(EffectKind.CREATE_CLUSTER, 101, uid="cluster-2"),
            *readied(2),
            *failing(2),
        ),
        phase(Phase.FAILED, failed=2, reason="AppFailed", endTime=shown(142)),
    ),
    row(
        "3.8 DeadlineExceeded is never retried",
        (*working(active_deadline_seconds=60, backoff_limit=3), due(ACTIVE)),
        phase(Phase.FAILED, failed=1),
    ),
    row(
        "3.8 JobStatusCheckTimeoutExceeded is never retried",
        (*working(backoff_limit=3), silence(40), due(DecisionKind.STATUS_CHECK)),
        phase(Phase.FAILED, failed=1),
    ),
    row(
        "3.8 the counters survive suspension",
        (
            *failed_attempts(1, backoff_limit=1),
            manifest(101, generation=2, suspend=True, backoff_limit=1, finalizer=True),
        ),
        phase(Phase.SUSPENDING, failed=1),
    ),
    row(
        "3.8 ValidationFailed never counts",
        (manifest(problem="bad"),),
        phase(Phase.VALIDATION_FAILED, failed=0, succeeded=0),
    ),
)

REASONS = (
    row(
        "3.9 DeadlineExceeded",
        (*initializing(active_deadline_seconds=60), due(ACTIVE)),
        failure(
            "DeadlineExceeded",
            "The RayJob has passed the activeDeadlineSeconds. StartTime: 2026-11-21 12:00:00 "
            "+0000 UTC. ActiveDeadlineSeconds: 60",
        ),
    ),
    row(
        "3.9 PreRunningDeadlineExceeded",
        (*initializing(pre_running_deadline_seconds=60), due(PRE_RUNNING)),
        failure(
            "PreRunningDeadlineExceeded",
            "The RayJob has passed the preRunningDeadlineSeconds. StartTime: 2026-11-21 12:00:00 "
            "+0000 UTC. PreRunningDeadlineSeconds: 60",
        ),
    ),
    row(
        "3.9 JobDeploymentStatusTransitionGracePeriodExceeded, the grace, FAILED",
        (*working(), poll("FAILED", 40), due(DecisionKind.TRANSITION_GRACE)),
        failure(
            GRACE_EXCEEDED,
            "JobDeploymentStatus does not transition to Complete or Failed within the grace period "
            "after JobStatus reaches a terminal state.",
            status="FAILED",
        ),
    ),
    row(
        "3.9 JobDeploymentStatusTransitionGracePeriodExceeded, the grace, SUCCEEDED",
        (*working(), poll("SUCCEEDED", 40), due(DecisionKind.TRANSITION_GRACE)),
        phase(Phase.COMPLETE, reason=GRACE_EXCEEDED, jobStatus="SUCCEEDED"),
    ),
    row(
        "3.9 JobDeploymentStatusTransitionGracePeriodExceeded, the submitter's time-out",
        (
            *working(),
            submitter("Complete", 42),
            poll("RUNNING", 43),
            due(DecisionKind.SUBMITTER_FINISHED),
        ),
        failure(
            GRACE_EXCEEDED,
            "The RayJob submitter finished at 2026-11-21 12:00:40 but the ray job did not reach "
            "terminal state within 30s",
            status="FAILED",
        ),
    ),
    row(
        "3.9 JobStatusCheckTimeoutExceeded",
        (*working(), silence(40), due(DecisionKind.STATUS_CHECK)),
        failure(
            "JobStatusCheckTimeoutExceeded",
            "Job status checks have been failing since 2026-11-21 12:00:40; exceeded timeout of "
            "300s",
            status="RUNNING",
        ),
    ),
    row(
        "3.9 SubmissionFailed, K8sJobMode",
        (
            *running(),
            submitter("Failed", 42, reason="BackoffLimitExceeded", message="thrice"),
            not_found(43),
        ),
        failure(
            "SubmissionFailed",
            "Job submission has failed. Reason: BackoffLimitExceeded. Message: thrice",
        ),
    ),
    row(
        "3.9 SubmissionFailed, SidecarMode",
        (
            *running(submission_mode=SIDECAR),
            head_pod(42, finished="Failed", message=EXITED),
            not_found(43),
        ),
        failure("SubmissionFailed", EXITED),
    ),
    row(
        "3.9 SubmissionFailed, SidecarMode with SidecarSubmitterRestart",
        (
            *running(submission_mode=SIDECAR),
            head_pod(42, finished="Failed", message=USED_UP),
            not_found(43),
        ),
        failure("SubmissionFailed", USED_UP),
    ),
    row(
        "3.9 AppFailed, submitter failed while Ray says FAILED: Ray's message",
        (
            *working(),
            poll("FAILED", 40, message="exit 1"),
            submitter("Failed", 42, reason="BackoffLimitExceeded"),
        ),
        failure("AppFailed", "exit 1", status="FAILED"),
    ),
    row(
        "3.9 AppFailed, Ray says FAILED",
        (*working(), *failing()),
        failure("AppFailed", "ValueError: 42", status="FAILED"),
    ),
    row(
        "3.9 AppFailed, head Pod gone",
        (*running(submission_mode=SIDECAR), head_pod(20), head_pod_gone(40)),
        failure("AppFailed", "Ray head pod not found."),
    ),
    row(
        "3.9 AppFailed, 404 after the submitter finished",
        (*running(), submitter("Complete", 42), not_found(43)),
        failure("AppFailed", "Submitter completed but Ray job not found in RayCluster."),
    ),
    row(
        "3.9 ValidationFailed",
        (manifest(problem="bad"),),
        phase(Phase.VALIDATION_FAILED, reason="ValidationFailed", message="bad"),
    ),
)

TIMERS = (
    row(
        "3.11 active deadline: startTime, in Initializing and Running (and Waiting: differs)",
        running(active_deadline_seconds=60),
        phase(Phase.RUNNING),
        pending={"active_deadline": 60},
    ),
    row(
        "3.11 active deadline: startTime of each attempt",
        failed_attempts(1, backoff_limit=1, active_deadline_seconds=90),
        phase(Phase.INITIALIZING, startTime=shown(100)),
        pending={"active_deadline": 190},
    ),
    row(
        "3.11 pre-running deadline: startTime, in Initializing and Waiting",
        running(submission_mode=INTERACTIVE, pre_running_deadline_seconds=60),
        phase(Phase.WAITING),
        pending={"pre_running_deadline": 60},
    ),
    row(
        "3.11 transition grace: 300 s from Ray's end",
        (*working(), poll("SUCCEEDED", 40, ended_at=39)),
        phase(Phase.RUNNING),
        pending={"transition_grace": 339},
    ),
    row(
        "3.11 transition grace: from when it was seen, where Ray says no instant (differs)",
        (*working(), poll("SUCCEEDED", 40)),
        phase(Phase.RUNNING),
        pending={"transition_grace": 340},
    ),
    row(
        "3.11 status check: 300 s from the first silence",
        (*working(), silence(40)),
        phase(Phase.RUNNING),
        pending={"status_check": 340},
    ),
    row(
        "3.11 submitter finished: 30 s",
        (*working(), submitter("Complete", 42), poll("RUNNING", 43)),
        phase(Phase.RUNNING),
        pending={"submitter_finished": 72},
    ),
    row(
        "3.11 TTL: endTime",
        succeeded(shutdown_after_job_finishes=True, ttl_seconds_after_finished=30),
        phase(Phase.COMPLETE, endTime=shown(42)),
        pending={"ttl_shutdown": 72},
    ),
)

EVERY_ROW = (*TRANSITIONS, *CHECKS, *COUNTERS, *REASONS, *TIMERS)


@table(*EVERY_ROW)
def test_state_table(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def _transition(name: str) -> tuple[str, str]:
    before, _, rest = name.removeprefix("3.12 ").partition(" -> ")
    return before, rest.partition(":")[0]


def test_every_transition_has_a_row() -> None:
    """The table of the code and the rows above name the same transitions."""
    named = {_transition(row.rule) for row in TRANSITIONS}
    known = {
        (before.value or "New", after.value or "New")
        for before, followers in FOLLOWERS.items()
        for after in followers
    }
    assert named == known


def test_every_row_is_here() -> None:
    """The rows of the description, section by section; a row may have several tests."""
    found = {row.rule.split(" ")[0].rstrip(":") for row in EVERY_ROW}
    sections = {
        *("3.1", "3.2.1", "3.2.2", "3.2.3", "3.2.5", "3.2.6", "3.2.7", "3.2.8", "3.2.9"),
        *("3.3.1", "3.3.2", "3.3.3"),
        *("3.4.1", "3.4.2", "3.4.3", "3.4.4", "3.4.5", "3.4.6", "3.4.7", "3.4.8"),
        *("3.5", "3.6", "3.7", "3.8", "3.9", "3.11", "3.12", "4.5"),
    }
    assert found == sections
    reasons = {row.status["reason"] for row in REASONS if row.status is not None}
    assert reasons == {
        "DeadlineExceeded",
        "PreRunningDeadlineExceeded",
        GRACE_EXCEEDED,
        "JobStatusCheckTimeoutExceeded",
        "SubmissionFailed",
        "AppFailed",
        "ValidationFailed",
    }


def test_a_submitter_that_vanishes_counts_as_ended() -> None:
    played = play(RAYJOB, (*working(), submitter_gone(50), poll("SUCCEEDED", 51)))
    assert played.state.phase is Phase.COMPLETE
