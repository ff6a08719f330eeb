"""What happens when a RayJob is seen for the first time: valid, not valid, foreign, taken over."""

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import (
    DeletionStarted,
    JobAdopted,
    JobDiscovered,
    JobSuspended,
    ManifestRejected,
)
from jobledger.core.rayjob.observations.observations import SeenStatus
from tests.support.rayjob_builders import (
    ADDRESS,
    IDENTITY,
    INTERACTIVE,
    after,
    cluster,
    cluster_of,
    done,
    due,
    manifest,
    poll,
    shown,
)
from tests.support.rayjob_events import asked, received, scheduled, started
from tests.support.rayjob_stories import Story
from tests.support.rows import WHEN, Outlook, Row, check, check_outlook, table

FOUND = JobDiscovered(at=WHEN, identity=IDENTITY)
ADDED = asked(EffectKind.ADD_FINALIZER)
CREATED = asked(EffectKind.CREATE_CLUSTER, cluster_of())


@table(
    Row(
        rule="a valid job begins its first attempt at once: names are fixed before all else (T1)",
        when=manifest(),
        then=(FOUND, received(), started(), ADDED, CREATED),
    ),
    Row(
        rule="a finalizer that is there is not added again",
        when=manifest(finalizer=True),
        then=(FOUND, received(manifest(finalizer=True)), started(attempt=1), CREATED),
    ),
    Row(
        rule="both deadlines of an attempt are scheduled when it begins",
        when=manifest(active_deadline_seconds=60, pre_running_deadline_seconds=20),
        then=(
            FOUND,
            received(manifest(active_deadline_seconds=60, pre_running_deadline_seconds=20)),
            started(),
            ADDED,
            CREATED,
            scheduled(DecisionKind.ACTIVE_DEADLINE, 60, "activeDeadlineSeconds 60 of this attempt"),
            scheduled(
                DecisionKind.PRE_RUNNING_DEADLINE,
                20,
                "preRunningDeadlineSeconds 20 of this attempt",
            ),
        ),
    ),
    Row(
        rule="a submission id that the user chose is kept",
        when=manifest(job_id="mine"),
        then=(FOUND, received(manifest(job_id="mine")), started(job_id="mine"), ADDED, CREATED),
    ),
    Row(
        rule="in InteractiveMode nobody is asked to submit, so there is no submission id",
        when=manifest(submission_mode=INTERACTIVE),
        then=(
            FOUND,
            received(manifest(submission_mode=INTERACTIVE)),
            started(job_id=""),
            ADDED,
            CREATED,
        ),
    ),
    Row(
        rule="a selected RayCluster is used by its name and never created",
        when=manifest(cluster_selector="shared"),
        then=(
            FOUND,
            received(manifest(cluster_selector="shared")),
            started(cluster_name="shared"),
            ADDED,
            asked(EffectKind.FIND_CLUSTER, "shared"),
        ),
    ),
    Row(
        rule="a job created suspended begins no attempt, and no child is made (T6)",
        when=manifest(suspend=True),
        then=(
            FOUND,
            received(manifest(suspend=True)),
            JobSuspended(at=WHEN, attempt=0),
            asked(EffectKind.ADD_FINALIZER, attempt=0),
        ),
    ),
    Row(
        rule="a job that is not valid is said to be so, and nothing is done (T10)",
        when=manifest(problem="backoffLimit must be positive"),
        then=(
            FOUND,
            received(manifest(problem="backoffLimit must be positive")),
            ManifestRejected(
                at=WHEN,
                generation=1,
                kind="InvalidRayJobSpec",
                message="backoffLimit must be positive",
            ),
        ),
    ),
    Row(
        rule="a job that somebody else manages is not ours to remember",
        when=manifest(managed_by="kueue.x-k8s.io/multikueue"),
    ),
    Row(
        rule="managedBy may name KubeRay's operator: that is us",
        when=manifest(managed_by="ray.io/kuberay-operator"),
        then=(
            FOUND,
            received(manifest(managed_by="ray.io/kuberay-operator")),
            started(),
            ADDED,
            CREATED,
        ),
    ),
    Row(
        rule="a job that is being deleted when it is first seen is never started",
        when=manifest(deleting=True),
        then=(FOUND, received(manifest(deleting=True)), DeletionStarted(at=after(0))),
    ),
    Row(
        rule="a job that is being deleted and has our finalizer is let go",
        when=manifest(deleting=True, finalizer=True),
        then=(
            FOUND,
            received(manifest(deleting=True, finalizer=True)),
            DeletionStarted(at=after(0)),
            asked(EffectKind.REMOVE_FINALIZER, attempt=0),
        ),
    ),
    Row(rule="news of a cluster of a job that nobody knows is no news", when=cluster()),
    Row(rule="an answer about a job that nobody knows is no news", when=poll()),
)
def test_first_sight(row: Row) -> None:
    check(RAYJOB, row)


def seen_status(phase: str, **fields: object) -> SeenStatus:
    """Return the status that another controller left on the first attempt of the job."""
    defaults: dict[str, object] = {
        "job_id": "theirs-1",
        "cluster_name": "train-theirs",
        "started_at": after(-60),
    }
    return SeenStatus(phase=phase, **(defaults | fields))  # type: ignore[arg-type] # by name


COMPLETE = seen_status(
    "Complete", job_status="SUCCEEDED", address=ADDRESS, ended_at=after(-5), succeeded=1
)
FAILED = seen_status(
    "Failed", job_status="FAILED", reason="AppFailed", ended_at=after(-5), failed=3
)


@table(
    Row(
        rule="a job that was Complete is taken over as Complete and never run again",
        when=manifest(status=COMPLETE, finalizer=True),
        then=(
            FOUND,
            received(manifest(status=COMPLETE, finalizer=True)),
            JobAdopted(at=WHEN, status=COMPLETE),
        ),
    ),
    Row(
        rule="a job that had failed is taken over as Failed and never run again",
        when=manifest(status=FAILED, backoff_limit=5),
        then=(
            FOUND,
            received(manifest(status=FAILED, backoff_limit=5)),
            JobAdopted(at=WHEN, status=FAILED),
        ),
    ),
    Row(
        rule="what is final stays final even if the manifest is not valid",
        when=manifest(status=COMPLETE, problem="bad"),
        then=(
            FOUND,
            received(manifest(status=COMPLETE, problem="bad")),
            JobAdopted(at=WHEN, status=COMPLETE),
        ),
    ),
)
def test_taking_over_what_has_ended(row: Row) -> None:
    check(RAYJOB, row)


def adopted(status: SeenStatus, **spec: object) -> Story:
    """Return the story of a take-over."""
    return (manifest(status=status, finalizer=True, **spec),)  # type: ignore[arg-type] # a spec


@table(
    Outlook(
        rule="taken over in Complete, its cluster is shut down after what is left of the ttl",
        story=adopted(COMPLETE, shutdown_after_job_finishes=True, ttl_seconds_after_finished=30),
        status={"jobDeploymentStatus": "Complete", "succeeded": 1, "startTime": shown(-60)},
        pending={"ttl_shutdown": 25},
    ),
    Outlook(
        rule="taken over in Initializing, the cluster under the published name is made or found",
        story=adopted(seen_status("Initializing")),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": "train-theirs"},
        under_way=["create_cluster train-theirs"],
    ),
    Outlook(
        rule="taken over in Initializing with its cluster ready, it goes on to Running",
        story=(
            *adopted(seen_status("Initializing"), submission_mode=INTERACTIVE),
            cluster(name="train-theirs", uid="c"),
        ),
        status={"jobDeploymentStatus": "Waiting", "dashboardURL": ADDRESS},
    ),
    Outlook(
        rule="taken over in Running, nothing is made and the head is asked",
        story=(
            *adopted(seen_status("Running", job_status="RUNNING", address=ADDRESS)),
            poll("RUNNING", job_id="theirs-1", message="half way"),
        ),
        status={"jobDeploymentStatus": "Running", "message": "half way", "jobId": "theirs-1"},
        under_way=["create_service train-head-svc"],
    ),
    Outlook(
        rule="an end that others left on a job that goes on is not shown",
        story=adopted(
            seen_status("Running", job_status="RUNNING", address=ADDRESS, ended_at=after(-5))
        ),
        status={"jobDeploymentStatus": "Running", "endTime": None},
    ),
    Outlook(
        rule="taken over in Retrying, the old cluster goes before the next attempt begins",
        story=adopted(seen_status("Retrying", job_status="FAILED", failed=1), backoff_limit=2),
        status={"jobDeploymentStatus": "Retrying", "failed": 1},
        under_way=["delete_cluster train-theirs"],
        pending={"retry": -60},
    ),
    Outlook(
        rule="the attempt after a take-over in Retrying has the next number",
        story=(
            *adopted(seen_status("Retrying", job_status="FAILED", failed=1), backoff_limit=2),
            due(DecisionKind.RETRY, 1),
            done(EffectKind.DELETE_CLUSTER, 2, gone=True),
        ),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of(2)},
    ),
    Outlook(
        rule="taken over in Suspended, it waits; nothing is asked for",
        story=adopted(SeenStatus(phase="Suspended", started_at=after(-60)), suspend=True),
        status={"jobDeploymentStatus": "Suspended", "rayClusterName": None},
        under_way=[],
    ),
    Outlook(
        rule="one that waits since its creation had no attempt: its first is that of its admission",
        story=(
            *adopted(SeenStatus(phase="Suspended", started_at=after(-60)), suspend=True),
            manifest(5, generation=2, finalizer=True),
        ),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of(1)},
        under_way=[f"create_cluster {cluster_of(1)}"],
    ),
    Outlook(
        rule="also where KubeRay still shows the names that it had reserved",
        story=(
            *adopted(seen_status("Initializing"), suspend=True),
            manifest(5, generation=2, finalizer=True),
        ),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of(1)},
    ),
    Outlook(
        rule="or is giving them up",
        story=adopted(seen_status("Suspending"), suspend=True),
        status={"jobDeploymentStatus": "Suspended", "rayClusterName": None},
        under_way=[],
        facts={"attempt": None},
    ),
    Outlook(
        rule="one that was edited may have run before: its status does not tell",
        story=(
            manifest(
                0,
                generation=3,
                suspend=True,
                finalizer=True,
                status=SeenStatus(phase="Suspended", started_at=after(-60)),
            ),
            manifest(5, generation=4, finalizer=True),
        ),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of(2)},
    ),
    Outlook(
        rule="taken over between two attempts, the failures so far still count",
        story=adopted(SeenStatus(phase="", started_at=after(-60), failed=2), backoff_limit=2),
        status={"jobDeploymentStatus": "Initializing", "failed": 2},
    ),
    Outlook(
        rule="taken over in ValidationFailed and corrected since, it goes on",
        story=adopted(SeenStatus(phase="ValidationFailed", reason="ValidationFailed")),
        status={"jobDeploymentStatus": "Initializing", "reason": None},
    ),
    Outlook(
        rule="a phase that no version knows counts as none",
        story=adopted(SeenStatus(phase="Dreaming", failed=1)),
        status={"jobDeploymentStatus": "Initializing", "failed": 1},
    ),
)
def test_taking_over(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


@table(
    Outlook(
        rule="Running without the head's address: the RayCluster is looked for, and then its head",
        story=adopted(seen_status("Running")),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": "train-theirs"},
        under_way=["create_cluster train-theirs"],
    ),
    Outlook(
        rule="Running without the name of a submission, which nobody could be asked about",
        story=adopted(seen_status("Running", job_id="", address=ADDRESS)),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of()},
        under_way=[f"create_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="Running in InteractiveMode without one: it waits for its user again",
        story=(
            *adopted(
                seen_status("Running", job_id="", address=ADDRESS), submission_mode=INTERACTIVE
            ),
            cluster(name="train-theirs", uid="c"),
        ),
        status={"jobDeploymentStatus": "Waiting", "rayClusterName": "train-theirs"},
    ),
    Outlook(
        rule="Running without the name of a RayCluster",
        story=adopted(seen_status("Running", cluster_name="", address=ADDRESS)),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of()},
    ),
    Outlook(
        rule="Running since nobody knows when: no crash, and one RayCluster (13.23)",
        story=(
            *adopted(seen_status("Running", started_at=None), active_deadline_seconds=60),
            cluster(name="train-theirs", uid="c"),
        ),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of()},
        under_way=[f"create_cluster {cluster_of()}", "delete_cluster train-theirs"],
        pending={"active_deadline": 60},
    ),
    Outlook(
        rule="Complete since nobody knows when: the shutdown counts from now (13.23)",
        story=(
            *adopted(
                seen_status("Complete", job_status="SUCCEEDED"),
                shutdown_after_job_finishes=True,
                ttl_seconds_after_finished=30,
            ),
        ),
        status={"jobDeploymentStatus": "Complete", "endTime": shown(0)},
        pending={"ttl_shutdown": 30},
    ),
    Outlook(
        rule="Retrying without a RayCluster: there is none to wait for",
        story=(
            *adopted(seen_status("Retrying", cluster_name="", failed=1), backoff_limit=1),
            due(DecisionKind.RETRY, 1),
        ),
        status={"jobDeploymentStatus": "Initializing", "rayClusterName": cluster_of(2)},
    ),
)
def test_taking_over_a_status_that_somebody_has_spoilt(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
