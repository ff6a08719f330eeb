"""What `kubectl describe rayjob` tells: upstream's KubernetesEvents, and a few of ours."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import pytest

from jobledger.core.jobs import events as shared
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.job_deadline import passed_message
from jobledger.core.rayjob.events import lifecycle as facts
from jobledger.core.rayjob.names import no_cluster
from jobledger.core.rayjob.observations.observations import JobIdentity
from jobledger.core.rayjob.observations.pods import PodFact, PodLook
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.status.kubernetes_events import KubernetesEvent, kubernetes_events
from jobledger.core.values.ids import EffectId, StreamId

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
EFFECT = EffectId(UUID(int=7))
JOB = JobIdentity(
    stream_id=StreamId(UUID(int=1)),
    cluster="kind",
    namespace="ml",
    name="train",
    uid="u",
    created_at=NOON,
)


def done(kind: EffectKind, name: str, *, already: bool = False) -> shared.EffectSucceeded:
    return shared.EffectSucceeded(at=NOON, effect_id=EFFECT, kind=kind, name=name, already=already)


def failed(kind: EffectKind, name: str, trouble: str = "quota") -> shared.EffectFailed:
    return shared.EffectFailed(at=NOON, effect_id=EFFECT, kind=kind, name=name, trouble=trouble)


def faltered(kind: EffectKind, name: str) -> shared.EffectFaltered:
    return shared.EffectFaltered(at=NOON, effect_id=EFFECT, kind=kind, name=name, trouble="busy")


def granted(due_at: datetime = NOON) -> facts.RetryGranted:
    return facts.RetryGranted(
        at=NOON,
        attempt=2,
        backoff_limit=4,
        failed=2,
        reason="AppFailed",
        rule="failed attempt 2 is within backoffLimit 4",
        due_at=due_at,
    )


LEFT = tuple(
    PodFact(name=name, uid=name, role="worker", phase="Running")
    for name in ("train-x-head", "train-x-worker")
)


class Row(NamedTuple):
    event: facts.RayJobEvent
    type: str
    reason: str
    action: str
    note: str


UPSTREAM = (
    Row(
        facts.ManifestRejected(at=NOON, generation=1, kind="InvalidRayJobSpec", message="bad"),
        *("Warning", "InvalidRayJobSpec", "Validate", "ml/train: bad"),
    ),
    Row(
        done(EffectKind.CREATE_CLUSTER, "train-x"),
        *("Normal", "CreatedRayCluster", "Create", "Created RayCluster ml/train-x"),
    ),
    Row(
        failed(EffectKind.CREATE_CLUSTER, "train-x"),
        *("Warning", "FailedToCreateRayCluster", "Create"),
        "Failed to create RayCluster ml/train-x: quota",
    ),
    Row(
        faltered(EffectKind.CREATE_CLUSTER, "train-x"),
        *("Warning", "FailedToCreateRayCluster", "Create"),
        "Failed to create RayCluster ml/train-x: busy",
    ),
    Row(
        done(EffectKind.DELETE_CLUSTER, "train-x"),
        *("Normal", "DeletedRayCluster", "Delete", "Deleted cluster ml/train-x"),
    ),
    Row(
        failed(EffectKind.DELETE_CLUSTER, "train-x"),
        *("Warning", "FailedToDeleteRayCluster", "Delete"),
        "Failed to delete cluster ml/train-x: quota",
    ),
    Row(
        done(EffectKind.CREATE_SUBMITTER, "train"),
        *("Normal", "CreatedRayJobSubmitter", "Create", "Created Kubernetes Job ml/train"),
    ),
    Row(
        failed(EffectKind.CREATE_SUBMITTER, "train"),
        *("Warning", "FailedToCreateRayJobSubmitter", "Create"),
        "Failed to create new Kubernetes Job ml/train: quota",
    ),
    Row(
        done(EffectKind.DELETE_SUBMITTER, "train"),
        *("Normal", "DeletedRayJobSubmitter", "Delete", "Deleted submitter K8s Job ml/train"),
    ),
    Row(
        faltered(EffectKind.DELETE_SUBMITTER, "train"),
        *("Warning", "FailedToDeleteRayJobSubmitter", "Delete"),
        "Failed to delete submitter K8s Job ml/train: busy",
    ),
)
OURS = (
    Row(
        done(EffectKind.CLEAR_POD_GROUP, "ray-train-pg"),
        *("Normal", "BatchSchedulerCleanedUp", "Cleanup"),
        "Cleaned up batch scheduler resources for RayJob ml/train",
    ),
    Row(
        failed(EffectKind.CLEAR_POD_GROUP, "ray-train-pg"),
        *("Warning", "FailedToCleanupBatchScheduler", "Cleanup"),
        "Failed to cleanup batch scheduler resources for RayJob ml/train: quota",
    ),
    Row(
        done(EffectKind.CREATE_SERVICE, "train-head-svc"),
        *("Normal", "CreatedService", "Create", "Created the service ml/train-head-svc"),
    ),
    Row(
        failed(EffectKind.CREATE_SERVICE, "train-head-svc"),
        *("Warning", "FailedToCreateService", "Create"),
        "Failed to create the service ml/train-head-svc, quota",
    ),
    Row(
        done(EffectKind.UPDATE_SERVICE, "train-head-svc"),
        *("Normal", "UpdatedService", "Update", "Updated the service ml/train-head-svc"),
    ),
    Row(
        failed(EffectKind.SUSPEND_WORKERS, "train-x"),
        *("Warning", "FailedToUpdateRayCluster", "Update"),
        "Failed to suspend worker groups in cluster ml/train-x: quota",
    ),
    Row(
        failed(EffectKind.UPDATE_SERVICE, "train-head-svc"),
        *("Warning", "FailedToUpdateService", "Update"),
        "Failed to update the service ml/train-head-svc, quota",
    ),
    Row(
        done(EffectKind.SUSPEND_WORKERS, "train-x"),
        *("Normal", "UpdatedRayCluster", "Update"),
        "Set the `suspend` field to true for all worker groups in cluster ml/train-x",
    ),
    Row(
        facts.HeadPodVanished(at=NOON, name="train-x-head", uid="p"),
        *("Warning", "RayHeadPodLost", "Watch"),
        "Head Pod ml/train-x-head is gone while the job needs it",
    ),
    Row(
        facts.ClusterKept(at=NOON, name="train-x", uid="c", cause="it is somebody else's"),
        *("Warning", "RayClusterKept", "Keep"),
        "RayCluster ml/train-x is kept: it is somebody else's",
    ),
    Row(
        facts.ClusterGivenUp(at=NOON, attempt=1, name="train-x", cause="its head is gone"),
        *("Warning", "RayClusterGivenUp", "Retry"),
        "The next attempt gets a new RayCluster, not train-x: its head is gone",
    ),
    Row(
        facts.SuspensionPostponed(at=NOON, phase="Waiting"),
        *("Normal", "SuspensionPostponed", "Suspend"),
        "Waiting does not honour spec.suspend; it takes effect after that",
    ),
    Row(
        facts.PodsObserved(at=NOON, attempt=1, purpose=PodLook.CLEARING, total=2, pods=LEFT),
        *("Normal", "WaitingForPods", "Wait"),
        "2 Pods of attempt 1 are left: train-x-head, train-x-worker",
    ),
    Row(
        facts.PodsObserved(
            at=NOON, attempt=1, purpose=PodLook.CLEARING, total=0, trouble="403 Forbidden"
        ),
        *("Warning", "WaitingForPods", "Wait"),
        "Pods of attempt 1 may be left: 403 Forbidden",
    ),
    Row(
        failed(EffectKind.ADD_FINALIZER, "rayjob"),
        *("Warning", "FailedToUpdateRayJob", "Update"),
        "Failed to add the finalizer of RayJob ml/train: quota",
    ),
    Row(
        faltered(EffectKind.REMOVE_FINALIZER, "rayjob"),
        *("Warning", "FailedToUpdateRayJob", "Update"),
        "Failed to remove the finalizer of RayJob ml/train: busy",
    ),
    Row(
        failed(EffectKind.DELETE_JOB, "train"),
        *("Warning", "FailedToDeleteRayJob", "Delete"),
        "Failed to delete RayJob ml/train: quota",
    ),
    Row(
        failed(EffectKind.APPLY_POD_GROUP, "ray-train-pg"),
        *("Warning", "FailedToUpdatePodGroup", "Update"),
        "Failed to apply PodGroup ml/ray-train-pg: quota",
    ),
    Row(
        failed(EffectKind.FIND_CLUSTER, "shared", no_cluster("ml/shared")),
        *("Warning", "RayClusterNotFound", "Validate"),
        "RayCluster ml/shared set in the clusterSelector is not found. It must be created manually",
    ),
    Row(
        failed(EffectKind.FIND_CLUSTER, "shared"),
        *("Warning", "FailedToGetRayCluster", "Get"),
        "Failed to get RayCluster ml/shared: quota",
    ),
    Row(
        granted(),
        *("Warning", "AttemptFailed", "Retry"),
        "Attempt 2 failed (AppFailed); failed attempt 2 is within backoffLimit 4: retrying",
    ),
    Row(
        granted(NOON + timedelta(seconds=30)),
        *("Warning", "AttemptFailed", "Retry"),
        "Attempt 2 failed (AppFailed); failed attempt 2 is within backoffLimit 4: "
        "retrying not before 2026-11-21T12:00:30Z",
    ),
    Row(
        facts.RetryRefused(
            at=NOON,
            attempt=1,
            backoff_limit=0,
            failed=1,
            reason="AppFailed",
            rule="backoffLimit is 0",
        ),
        *("Warning", "AttemptFailed", "Fail"),
        "Attempt 1 failed (AppFailed); backoffLimit is 0: not retrying",
    ),
    Row(
        facts.JobFailed(
            at=NOON,
            attempt=1,
            reason="DeadlineExceeded",
            message=passed_message("RayJob", NOON, 90),
        ),
        *("Warning", "JobDeadlineExceeded", "Fail"),
        "The RayJob has passed its jobledger.dev/job-deadline-seconds over all attempts. "
        "StartTime: 2026-11-21 12:00:00 +0000 UTC. Seconds: 90",
    ),
    Row(
        facts.JobSuspended(at=NOON, attempt=1),
        *("Normal", "JobSuspended", "Suspend"),
        "Suspended; RayCluster and submitter of attempt 1 are gone",
    ),
    Row(
        facts.JobSuspended(at=NOON, attempt=0),
        *("Normal", "JobSuspended", "Suspend", "Suspended; no attempt has begun"),
    ),
    Row(
        facts.JobResumed(at=NOON),
        *("Normal", "JobResumed", "Resume", "Resumed; a new attempt begins"),
    ),
    Row(
        facts.ClusterVanished(at=NOON, name="train-x", uid="c", asked=False),
        *("Warning", "RayClusterLost", "Watch"),
        "RayCluster ml/train-x is gone, and its deletion was not asked for here",
    ),
    Row(
        facts.OrphanClusterFound(at=NOON, name="train-y", uid="c"),
        *("Warning", "OrphanRayCluster", "Delete"),
        "RayCluster ml/train-y belongs to no present attempt; deleting it",
    ),
    Row(
        facts.StatusCheckFailed(at=NOON, job_id="train-abcde", trouble="timed out"),
        *("Warning", "StatusCheckFailed", "Poll"),
        "The head does not tell the status of Ray job train-abcde: timed out",
    ),
)


@pytest.mark.parametrize("row", UPSTREAM + OURS, ids=lambda row: f"{row.reason} {row.note}")
def test_what_users_are_told(row: Row) -> None:
    (told,) = kubernetes_events(JOB, row.event)
    assert (told.type, told.reason, told.action, told.note) == row[1:]


@pytest.mark.parametrize(
    "event",
    [
        done(EffectKind.CREATE_CLUSTER, "train-x", already=True),
        done(EffectKind.DELETE_CLUSTER, "train-x", already=True),
        done(EffectKind.ADD_FINALIZER, "rayjob"),
        facts.JobCompleted(at=NOON, attempt=2, job_status=JobStatus.SUCCEEDED),
        failed(EffectKind.STOP_ENTRYPOINT, "train-abcde"),
        facts.ClusterVanished(at=NOON, name="train-x", uid="c", asked=True),
        facts.JobFailed(at=NOON, attempt=1, reason="AppFailed", message="exit 1"),
        facts.DeletionStarted(at=NOON),
        facts.PodsObserved(at=NOON, attempt=1, purpose=PodLook.CLEARING, total=0),
        facts.PodsObserved(at=NOON, attempt=1, purpose=PodLook.EVIDENCE, total=2, pods=LEFT),
    ],
    ids=lambda event: " ".join(
        (type(event).__name__, getattr(event, "kind", ""), getattr(event, "purpose", ""))
    ).strip(),
)
def test_what_goes_without_saying(event: facts.RayJobEvent) -> None:
    assert kubernetes_events(JOB, event) == ()


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("DeadlineExceeded", "The RayJob has passed the activeDeadlineSeconds"),
        ("AppFailed", passed_message("RayJob", NOON, 90)),
    ],
)
def test_another_deadline_or_failure_is_not_the_whole_jobs(reason: str, message: str) -> None:
    failed_so = facts.JobFailed(at=NOON, attempt=1, reason=reason, message=message)
    assert kubernetes_events(JOB, failed_so) == ()


def test_a_note_is_cut_where_the_api_server_would_refuse_it() -> None:
    told = kubernetes_events(
        JOB, facts.ManifestRejected(at=NOON, generation=1, kind="K", message="é" * 1024)
    )
    assert told == (KubernetesEvent("Warning", "K", "Validate", "ml/train: " + "é" * 507),)


def test_every_effect_on_an_object_of_the_job_is_told() -> None:
    told = {kind for kind in EffectKind if kubernetes_events(JOB, done(kind, "n"))}
    silent = {EffectKind.FIND_CLUSTER}
    ends = ("cluster", "submitter", "service", "workers", "clear_pod_group")
    assert told == {kind for kind in EffectKind if kind.value.endswith(ends)} - silent
