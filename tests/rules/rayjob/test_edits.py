"""Edits of a job that goes on: nothing is doubled, nothing of others deleted, nobody trapped.

What an attempt began with (its RayCluster, how its entrypoint gets to the head, its id) stays with
it; an edit of these counts for the next attempt. All else is heard at once.
"""

from msgspec.structs import replace

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import ManifestReceived
from jobledger.core.rayjob.observations.observations import INVALID_STATUS, ManifestSeen, Problem
from jobledger.core.rayjob.spec.spec import SubmissionMode
from jobledger.core.rayjob.state import wants_poll
from tests.support.rayjob_builders import (
    HTTP,
    INTERACTIVE,
    SIDECAR,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    manifest,
    outdated,
    poll,
    submission_of,
    submitter_gone,
)
from tests.support.rayjob_events import received
from tests.support.rayjob_stories import (
    SELECTED,
    Story,
    built,
    failed_attempts,
    failing,
    initializing,
    readied,
    running,
    seen,
    selecting,
    succeeded,
    suspending,
    working,
)
from tests.support.rows import Outlook, Row, check, check_outlook, play, table

K8S = SubmissionMode.K8S_JOB
DELETE = EffectKind.DELETE_CLUSTER
SHARED = cluster("ready", 41, name=SELECTED, uid="shared", owned=False)
OWN = f"delete_cluster {cluster_of()}"


def edited(at: float = 35, generation: int = 2, **spec: object) -> ManifestSeen:
    """Return a look at the job after an edit."""
    return manifest(at, generation=generation, finalizer=True, **spec)  # type: ignore[arg-type] # a spec


def on_a_shared_one(**spec: object) -> Story:
    """Return a job whose entrypoint runs on a RayCluster of somebody else's."""
    return (
        *selecting(submission_mode=HTTP, **spec),
        cluster("ready", 10, name=SELECTED, uid="shared", owned=False),
        done(EffectKind.SUBMIT_ENTRYPOINT, 11),
        poll("RUNNING", 30, started_at=25),
    )


@table(
    Outlook(
        rule="selector taken out: what the attempt runs on stays somebody else's, and is kept",
        story=(
            *on_a_shared_one(),
            edited(submission_mode=HTTP, shutdown_after_job_finishes=True),
            poll("SUCCEEDED", 40, started_at=25, ended_at=39),
        ),
        status={"jobDeploymentStatus": "Complete", "rayClusterName": SELECTED},
        under_way=[],
        pending={},
    ),
    Outlook(
        rule="selector taken out, retries allowed: the next attempt has a RayCluster of its own",
        story=(
            *on_a_shared_one(),
            edited(submission_mode=HTTP, backoff_limit=1),
            poll("FAILED", 40, started_at=25, ended_at=39, exit_code=1),
            due(DecisionKind.RETRY, 44),
        ),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of(2)},
        under_way=[f"create_cluster {cluster_of(2)}"],
    ),
    Outlook(
        rule="selector taken out and suspended: nothing is deleted, the next attempt is its own",
        story=(
            *on_a_shared_one(),
            edited(submission_mode=HTTP, suspend=True, shutdown_after_job_finishes=True),
            edited(60, 3, submission_mode=HTTP),
        ),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of(2)},
        under_way=[f"create_cluster {cluster_of(2)}"],
    ),
    Outlook(
        rule="selector added: the attempt's own RayCluster is still shut down, the other untouched",
        story=(
            *working(submission_mode=HTTP),
            edited(
                submission_mode=HTTP, cluster_selector=SELECTED, shutdown_after_job_finishes=True
            ),
            SHARED,
            poll("SUCCEEDED", 45, started_at=25, ended_at=44),
            due(DecisionKind.TTL_SHUTDOWN),
        ),
        status={"jobDeploymentStatus": "Complete", "rayClusterName": cluster_of()},
        under_way=[OWN],
        facts={"orphans": ()},
    ),
    Outlook(
        rule="selector added: that the selected RayCluster goes is no loss",
        story=(
            *working(submission_mode=HTTP),
            edited(submission_mode=HTTP, cluster_selector=SELECTED),
            SHARED,
            cluster_gone(42, name=SELECTED, uid="shared"),
        ),
        status={"jobDeploymentStatus": "Running", "rayClusterName": cluster_of()},
        under_way=[],
    ),
    Outlook(
        rule="selector added while suspended: the resumed job runs on the selected RayCluster",
        story=(
            *suspending(),
            done(DELETE, 61, uid="cluster-1"),
            done(EffectKind.DELETE_SUBMITTER, 61, uid="submitter-1", gone=True),
            cluster_gone(70),
            edited(80, 3, submission_mode=HTTP, cluster_selector=SELECTED),
            cluster("ready", 81, name=SELECTED, uid="shared", owned=False),
        ),
        status={"jobDeploymentStatus": "Running", "rayClusterName": SELECTED},
        under_way=[f"submit_entrypoint {submission_of(2)}"],
    ),
)
def test_the_selector_counts_for_the_next_attempt(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


@table(
    Outlook(
        rule="K8sJobMode to HTTPMode: nothing is submitted beside the submitter",
        story=(*working(), edited(submission_mode=HTTP)),
        status={"jobDeploymentStatus": "Running", "jobStatus": "RUNNING"},
        under_way=[],
    ),
    Outlook(
        rule="K8sJobMode to HTTPMode: the job still ends with its submitter (13.22)",
        story=(
            *working(),
            edited(submission_mode=HTTP),
            poll("SUCCEEDED", 40, started_at=25, ended_at=39),
        ),
        status={"jobDeploymentStatus": "Running", "jobStatus": "SUCCEEDED"},
    ),
    Outlook(
        rule="HTTPMode to K8sJobMode before the head took it: it is handed in all the same",
        story=(
            *initializing(submission_mode=HTTP),
            cluster("ready"),
            edited(11, submission_mode=K8S),
            outdated(EffectKind.SUBMIT_ENTRYPOINT, 12),
        ),
        status={"jobDeploymentStatus": "Running"},
        under_way=["create_service train-head-svc", f"submit_entrypoint {submission_of()}"],
    ),
    Outlook(
        rule="HTTPMode to InteractiveMode: the attempt does not wait for anybody",
        story=(
            *initializing(submission_mode=HTTP),
            edited(5, submission_mode=INTERACTIVE),
            cluster("ready"),
        ),
        status={"jobDeploymentStatus": "Running"},
        under_way=[f"submit_entrypoint {submission_of()}", "create_service train-head-svc"],
    ),
    Outlook(
        rule="K8sJobMode to SidecarMode once the RayCluster is made: the submitter is made still",
        story=(*initializing(), edited(5, submission_mode=SIDECAR), cluster("ready")),
        status={"jobDeploymentStatus": "Initializing"},
        under_way=["create_submitter train"],
    ),
    Outlook(
        rule="K8sJobMode to SidecarMode before: the submitter is beside the head, and only there",
        story=(
            *seen(),
            edited(0.7, submission_mode=SIDECAR),
            outdated(EffectKind.CREATE_CLUSTER, 0.8),
            *built(),
            cluster("ready"),
        ),
        status={"jobDeploymentStatus": "Running"},
        under_way=["create_service train-head-svc"],
    ),
    Outlook(
        rule="InteractiveMode to HTTPMode before: the entrypoint is handed in under a name of ours",
        story=(
            *seen(submission_mode=INTERACTIVE),
            edited(0.7, submission_mode=HTTP),
            outdated(EffectKind.CREATE_CLUSTER, 0.8),
            *built(),
            cluster("ready"),
        ),
        status={"jobDeploymentStatus": "Running", "jobId": submission_of()},
        under_way=[f"submit_entrypoint {submission_of()}", "create_service train-head-svc"],
    ),
    Outlook(
        rule="HTTPMode to InteractiveMode before: the job waits for its user",
        story=(
            *seen(submission_mode=HTTP),
            edited(0.7, submission_mode=INTERACTIVE),
            outdated(EffectKind.CREATE_CLUSTER, 0.8),
            *built(),
            cluster("ready"),
        ),
        status={"jobDeploymentStatus": "Waiting", "jobId": None},
        under_way=[],
    ),
    Outlook(
        rule="the next attempt goes the new way",
        story=(
            *working(backoff_limit=1),
            edited(submission_mode=HTTP, backoff_limit=1),
            *failing(),
            done(DELETE, 43, uid="cluster-1"),
            done(EffectKind.DELETE_SUBMITTER, 43, uid="submitter-1"),
            due(DecisionKind.RETRY, 44),
            submitter_gone(50),
            cluster_gone(100),
            *built(2),
            cluster("ready", 110, attempt=2),
        ),
        status={"jobDeploymentStatus": "Running"},
        under_way=[f"submit_entrypoint {submission_of(2)}", "update_service train-head-svc"],
    ),
)
def test_the_submission_mode_is_settled_with_the_raycluster(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


RENAMED = edited(job_id="another")
FEWER = edited(150, backoff_limit=0)


@table(
    Row(
        rule="a jobId that is changed while the Ray job runs is the next attempt's",
        given=working(),
        when=RENAMED,
        then=(received(RENAMED),),
    ),
    Row(
        rule="a backoffLimit that is lowered below status.failed ends nothing that goes on",
        given=(*failed_attempts(2, backoff_limit=3), *built(3), *readied(3)),
        when=edited(250, backoff_limit=0),
        then=(received(edited(250, backoff_limit=0)),),
    ),
)
def test_edits_that_bring_nothing(row: Row) -> None:
    check(RAYJOB, row)


@table(
    Outlook(
        rule="backoffLimit below status.failed: the failure of the running attempt is the last",
        story=(
            *failed_attempts(2, backoff_limit=3),
            *built(3),
            *readied(3),
            edited(230, backoff_limit=0),
            *failing(3),
        ),
        status={"jobDeploymentStatus": "Failed", "failed": 3, "reason": "AppFailed"},
        pending={},
    ),
    Outlook(
        rule="backoffLimit lowered while Retrying: the retry that was granted is made",
        story=(
            *failed_attempts(1, backoff_limit=1)[:-2],
            edited(60, backoff_limit=0),
            submitter_gone(70),
            cluster_gone(100),
        ),
        status={"jobDeploymentStatus": "Initializing", "failed": 1},
        under_way=[f"create_cluster {cluster_of(2)}"],
    ),
    Outlook(
        rule="suspend, resume, suspend in the same breath: once through, and it stays suspended",
        story=(
            *working(),
            edited(60, 2, suspend=True),
            edited(60.1, 3),
            edited(60.2, 4, suspend=True),
            done(DELETE, 61, uid="cluster-1", gone=True),
            done(EffectKind.DELETE_SUBMITTER, 61, uid="submitter-1", gone=True),
        ),
        status={"jobDeploymentStatus": "Suspended", "rayClusterName": None},
        under_way=[],
    ),
    Outlook(
        rule="suspended and resumed before the RayCluster was even made: one is made, not two",
        story=(
            *seen(),
            edited(0.6, 2, suspend=True),
            edited(0.7, 3),
            done(DELETE, 2, gone=True),
        ),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of(2)},
        under_way=[f"create_cluster {cluster_of(2)}"],
    ),
    Outlook(
        rule="a runtimeEnvYAML made invalid before the submitter is made: none is made from it",
        story=(
            *initializing(),
            cluster("ready"),
            edited(10.5, problem="failed to unmarshal RuntimeEnvYAML: (not shown): yaml: bad"),
        ),
        status={"jobDeploymentStatus": "ValidationFailed", "rayClusterName": cluster_of()},
        under_way=[],
    ),
    Outlook(
        rule="a runtimeEnvYAML repaired again: the submitter is made, on the same RayCluster",
        story=(
            *initializing(),
            cluster("ready"),
            edited(10.5, problem="failed to unmarshal RuntimeEnvYAML: (not shown): yaml: bad"),
            edited(20, 3),
        ),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of()},
        under_way=["create_submitter train"],
    ),
    Outlook(
        rule="a ttl that is changed after the shutdown deletes nothing twice",
        story=(
            *succeeded(shutdown_after_job_finishes=True),
            due(DecisionKind.TTL_SHUTDOWN),
            done(DELETE, 43, uid="cluster-1"),
            cluster_gone(50),
            edited(60, shutdown_after_job_finishes=True, ttl_seconds_after_finished=5),
        ),
        status={"jobDeploymentStatus": "Complete"},
        under_way=[],
        pending={},
    ),
    Outlook(
        rule="a correction brings back what was said before the mistake",
        story=(
            *working(backoff_limit=1),
            *failing(),
            manifest(60, generation=2, finalizer=True, problem="bad", backoff_limit=1),
            edited(70, generation=3, backoff_limit=1),
        ),
        status={
            "jobDeploymentStatus": "Retrying",
            "reason": "AppFailed",
            "message": "ValueError: 42",
        },
    ),
    Outlook(
        rule="a mode that no longer fits the phase that is shown waits for the next attempt",
        story=(
            *seen(submission_mode=INTERACTIVE),
            *built(),
            *readied(mode=INTERACTIVE),
            replace(
                edited(35, submission_mode=HTTP),
                problem=Problem(kind=INVALID_STATUS, message="cannot be `Waiting`"),
            ),
        ),
        status={"jobDeploymentStatus": "Waiting"},
        said=[ManifestReceived],
    ),
    Outlook(
        rule="an edit in the middle of the shutdown does not bring another",
        story=(
            *succeeded(shutdown_after_job_finishes=True),
            due(DecisionKind.TTL_SHUTDOWN),
            edited(43, shutdown_after_job_finishes=True, ttl_seconds_after_finished=500),
        ),
        under_way=[OWN],
        pending={},
    ),
)
def test_what_edits_lead_to(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def test_the_head_is_asked_about_the_submission_that_the_attempt_began_with() -> None:
    state = play(RAYJOB, (*running(), RENAMED)).state
    assert wants_poll(state)
    assert state.attempt is not None
    assert state.attempt.job_id == submission_of()
