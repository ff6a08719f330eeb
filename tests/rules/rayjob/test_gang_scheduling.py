"""What batch schedulers are told: Volcano's PodGroup, and metadata of what is made."""

import json
from typing import Any

import pytest

from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.policy import Policy
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.manifests.gang_scheduling import build_pod_group
from jobledger.core.rayjob.manifests.manifests import build_cluster, build_submitter
from jobledger.core.rayjob.spec.installation import Installation
from jobledger.core.rayjob.spec.spec import DeletionPolicy, DeletionRule
from jobledger.core.values.documents import Json, Manifest, child, items, text
from tests.rules.rayjob.jobs import WORKERS, Change, rayjob
from tests.support.rayjob_builders import (
    HTTP,
    JOB,
    cluster,
    cluster_gone,
    cluster_of,
    done,
    due,
    manifest,
    poll,
    refused,
)
from tests.support.rayjob_stories import SELECTED, seen
from tests.support.rows import Outlook, check_outlook, table

GROUPED: dict[str, Any] = {"policy": Policy(batch_scheduler="volcano")}
GROUP = f"ray-{JOB}-pg"
APPLY, CLEAR = EffectKind.APPLY_POD_GROUP, EffectKind.CLEAR_POD_GROUP
BEGUN = (*seen(**GROUPED), done(APPLY, 0.7))
SUSPENDED = manifest(60, generation=2, suspend=True, finalizer=True, **GROUPED)
PAUSED = Policy(batch_scheduler="volcano", retry_delay_seconds=600)
BETWEEN = (
    *seen(submission_mode=HTTP, backoff_limit=1, policy=PAUSED),
    done(APPLY, 0.7),
    done(EffectKind.CREATE_CLUSTER, 1, uid="cluster-1"),
    cluster("ready"),
    done(EffectKind.SUBMIT_ENTRYPOINT, 11),
    done(EffectKind.CREATE_SERVICE, 12),
    poll("FAILED", 40),
    done(EffectKind.DELETE_CLUSTER, 41, uid="cluster-1"),
    cluster_gone(42),
)
"""A first attempt has failed, nothing of it is left, and the next one has to wait."""
STAYS = (
    *seen(submission_mode=HTTP, **GROUPED),
    done(APPLY, 0.7),
    done(EffectKind.CREATE_CLUSTER, 1, uid="cluster-1"),
    cluster("ready"),
    done(EffectKind.SUBMIT_ENTRYPOINT, 11),
    done(EffectKind.CREATE_SERVICE, 12),
)
"""A job at work whose RayCluster nothing deletes."""
WORKERS_GO = (
    DeletionRule(
        policy=DeletionPolicy.WORKERS,
        job_status="SUCCEEDED",
        phase="",
        ttl_seconds=30,
        source="deletionRules[0]",
    ),
)
SHRINKS = (
    *seen(submission_mode=HTTP, deletion_rules=WORKERS_GO, has_deletion_strategy=True, **GROUPED),
    *STAYS[len(seen(**GROUPED)) :],
    poll("SUCCEEDED", 40),
)
"""A job that has ended, whose workers are suspended half a minute later."""
QUEUED = {"metadata.labels": {"volcano.sh/queue-name": "gold", "ray.io/priority-class-name": "p1"}}


@table(
    Outlook(
        rule="Volcano's PodGroup is there before the RayCluster",
        story=seen(**GROUPED),
        under_way=[f"apply_pod_group {GROUP}"],
    ),
    Outlook(
        rule="then the RayCluster is made",
        story=BEGUN,
        under_way=[f"create_cluster {cluster_of()}"],
    ),
    Outlook(
        rule="a PodGroup that is refused is tried again, and said",
        story=(*seen(**GROUPED), refused(APPLY, 0.7, "no such kind")),
        status={"jobDeploymentStatus": "Initializing", "message": "no such kind"},
        pending={"effect_retry": 10.7},
        under_way=[],
    ),
    Outlook(
        rule="a job that is suspended asks for nobody any more",
        story=(
            *BEGUN,
            done(EffectKind.CREATE_CLUSTER, 1, uid="cluster-1"),
            SUSPENDED,
            done(EffectKind.DELETE_CLUSTER, 61, uid="cluster-1"),
            cluster_gone(62),
        ),
        status={"jobDeploymentStatus": "Suspended"},
        under_way=[f"clear_pod_group {GROUP}"],
    ),
    Outlook(
        rule="nor does one that ended, once its RayCluster is gone",
        story=(
            *seen(submission_mode=HTTP, shutdown_after_job_finishes=True, **GROUPED),
            done(APPLY, 0.7),
            done(EffectKind.CREATE_CLUSTER, 1, uid="cluster-1"),
            cluster("ready"),
            done(EffectKind.SUBMIT_ENTRYPOINT, 11),
            done(EffectKind.CREATE_SERVICE, 12),
            poll("SUCCEEDED", 40),
            due(DecisionKind.TTL_SHUTDOWN),
            done(EffectKind.DELETE_CLUSTER, 41, uid="cluster-1"),
            cluster_gone(42),
        ),
        status={"jobDeploymentStatus": "Complete"},
        under_way=[f"clear_pod_group {GROUP}"],
    ),
    Outlook(
        rule="while the RayCluster of an ended job stays, only its Pods are asked for",
        story=(*STAYS, poll("SUCCEEDED", 40)),
        status={"jobDeploymentStatus": "Complete"},
        under_way=[f"clear_pod_group {GROUP}"],
    ),
    Outlook(
        rule="once that is said, nothing is to be done",
        story=(*STAYS, poll("SUCCEEDED", 40), done(CLEAR, 41)),
        under_way=[],
    ),
    Outlook(
        rule="while it runs, the PodGroup stays as it is",
        story=(*STAYS, poll("RUNNING", 40)),
        status={"jobDeploymentStatus": "Running"},
        under_way=[],
    ),
    Outlook(
        rule="somebody deletes the RayCluster of an ended job: nobody is asked for",
        story=(*STAYS, poll("SUCCEEDED", 40), done(CLEAR, 41), cluster_gone(50)),
        under_way=[f"clear_pod_group {GROUP}"],
    ),
    Outlook(
        rule="and not even while it goes",
        story=(
            *STAYS,
            poll("SUCCEEDED", 40),
            done(CLEAR, 41),
            cluster("ready", 50, deleting=True),
        ),
        under_way=[f"clear_pod_group {GROUP}"],
    ),
    Outlook(
        rule="that is said once",
        story=(
            *STAYS,
            poll("SUCCEEDED", 40),
            done(CLEAR, 41),
            cluster("ready", 50, deleting=True),
            done(CLEAR, 51),
            cluster_gone(60),
        ),
        under_way=[],
    ),
    Outlook(
        rule="workers that are about to be suspended are no more counted before",
        story=(*SHRINKS, done(CLEAR, 41), due(DecisionKind.DELETION_RULE, 70)),
        under_way=[f"suspend_workers {cluster_of()}"],
    ),
    Outlook(
        rule="once they are suspended, only the head is asked for",
        story=(
            *SHRINKS,
            done(CLEAR, 41),
            due(DecisionKind.DELETION_RULE, 70),
            done(EffectKind.SUSPEND_WORKERS, 71, uid="cluster-1"),
        ),
        under_way=[f"clear_pod_group {GROUP}"],
    ),
    Outlook(
        rule="between two attempts nobody is asked for either",
        story=BETWEEN,
        status={"jobDeploymentStatus": "Retrying"},
        under_way=[f"clear_pod_group {GROUP}"],
    ),
    Outlook(
        rule="the next attempt waits until nobody is asked for: late, it would ask for nobody",
        story=(*BETWEEN, due(DecisionKind.RETRY, 700)),
        status={"jobDeploymentStatus": "Retrying"},
        under_way=[f"clear_pod_group {GROUP}"],
    ),
    Outlook(
        rule="then it asks anew",
        story=(*BETWEEN, due(DecisionKind.RETRY, 700), done(CLEAR, 701)),
        status={"jobDeploymentStatus": "Initializing"},
        under_way=[f"apply_pod_group {GROUP}"],
    ),
    Outlook(
        rule="a job that is resumed waits for it as well",
        story=(
            *BEGUN,
            done(EffectKind.CREATE_CLUSTER, 1, uid="cluster-1"),
            SUSPENDED,
            done(EffectKind.DELETE_CLUSTER, 61, uid="cluster-1"),
            cluster_gone(62),
            manifest(70, generation=3, finalizer=True, **GROUPED),
        ),
        status={"jobDeploymentStatus": "Suspended"},
        under_way=[f"clear_pod_group {GROUP}"],
    ),
    Outlook(
        rule="a shared RayCluster is nobody's to group",
        story=seen(cluster_selector=SELECTED, **GROUPED),
        under_way=[f"find_cluster {SELECTED}"],
    ),
    Outlook(
        rule="without Volcano there is no PodGroup",
        story=seen(policy=Policy(batch_scheduler="yunikorn")),
        under_way=[f"create_cluster {cluster_of()}"],
    ),
)
def test_pod_groups(row: Outlook) -> None:
    check_outlook(RAYJOB, row)


def sized(change: Change | None = None, *, replicas: int = 2) -> dict[str, Any]:
    """Return a job whose head asks for 1 CPU, and each worker for 500m and 1Gi."""
    head = {"requests": {"cpu": "1"}, "limits": {"cpu": "4", "memory": "2Gi"}}
    worker = {"limits": {"cpu": "500m", "memory": "1Gi"}}
    return rayjob(
        {
            "spec.rayClusterSpec.headGroupSpec.template.spec.containers.0.resources": head,
            f"{WORKERS}.template.spec.containers.0.resources": worker,
            f"{WORKERS}.replicas": replicas,
            **(change or {}),
        }
    )


def test_the_submitter_counts_among_the_resources_and_not_among_the_members() -> None:
    spec = child(build_pod_group(sized()), "spec")
    assert spec == {"minMember": 3, "minResources": {"cpu": "2500m", "memory": "4296Mi"}}


def test_the_submitter_beside_the_head_asks_as_well() -> None:
    spec = child(build_pod_group(sized({"spec.submissionMode": "SidecarMode"})), "spec")
    assert spec == {"minMember": 3, "minResources": {"cpu": "2500m", "memory": "4296Mi"}}


def test_volcano_is_told_what_the_job_says_in_annotations() -> None:
    group = build_pod_group(sized({"metadata.annotations": {"volcano.sh/x": "y"}}))
    assert child(group, "metadata", "annotations") == {"volcano.sh/x": "y"}


def test_with_an_autoscaler_the_least_number_of_workers_counts() -> None:
    job = sized({"spec.rayClusterSpec.enableInTreeAutoscaling": True}, replicas=5)
    assert child(build_pod_group(job), "spec")["minMember"] == 2


GROUPS: list[tuple[str, dict[str, Any], int, str, int]] = [
    ("the replicas", {"replicas": 3}, 4, "2500m", 1),
    ("hosts for each replica", {"replicas": 3, "numOfHosts": 2}, 7, "4", 1),
    ("no more than the limit", {"replicas": 3, "maxReplicas": 2}, 3, "2500m", 1),
    ("no less than the minimum", {"replicas": 1, "minReplicas": 3, "numOfHosts": 2}, 7, "2", 7),
    ("nobody, where nothing is said", {}, 1, "1", 1),
    ("nobody of a suspended group", {"replicas": 3, "minReplicas": 3, "suspend": True}, 1, "1", 1),
]
"""What is said of the workers; Pods and CPUs with the head; Pods where they are scaled."""


@pytest.mark.parametrize(
    ("group", "members", "cpu", "least"),
    [row[1:] for row in GROUPS],
    ids=[row[0] for row in GROUPS],
)
def test_workers_count_as_their_group_says(
    group: dict[str, Any], members: int, cpu: str, least: int
) -> None:
    (worker,) = items(sized(), "spec", "rayClusterSpec", "workerGroupSpecs")
    pods = {key: child(worker)[key] for key in ("groupName", "template")}
    job = sized({WORKERS: {**pods, **group}, "spec.submissionMode": "HTTPMode"})
    spec = child(build_pod_group(job), "spec")
    assert (spec["minMember"], child(spec, "minResources")["cpu"]) == (members, cpu)
    scaled = {**job, "spec": {**job["spec"]}}
    scaled["spec"]["rayClusterSpec"] = {
        **job["spec"]["rayClusterSpec"],
        "enableInTreeAutoscaling": True,
    }
    assert child(build_pod_group(scaled), "spec")["minMember"] == least


@pytest.mark.parametrize(
    ("tier", "highest"), [("2", {"highestTierAllowed": 2}), ("two", {}), ("", {})]
)
def test_the_topology_is_that_of_the_labels(tier: str, highest: dict[str, int]) -> None:
    labels = {
        "volcano.sh/network-topology-mode": "hard",
        "volcano.sh/network-topology-highest-tier-allowed": tier,
    }
    group = build_pod_group(sized({"metadata.labels": labels}))
    assert child(group, "spec")["networkTopology"] == {"mode": "hard", **highest}


def test_the_group_goes_with_the_job() -> None:
    (owner,) = items(build_pod_group(sized()), "metadata", "ownerReferences")
    assert (text(owner, "kind"), child(owner)["controller"]) == ("RayJob", True)


def test_the_queue_and_the_priority_are_those_of_the_labels() -> None:
    group = build_pod_group(sized(QUEUED))
    assert text(group, "metadata", "name") == "ray-train-pg"
    assert text(group, "spec", "queue") == "gold"
    assert text(group, "spec", "priorityClassName") == "p1"


def test_once_it_is_over_nobody_is_asked_for() -> None:
    assert child(build_pod_group(sized(), is_over=True), "spec") == {
        "minMember": 0,
        "minResources": {},
    }


def test_after_the_end_the_pods_of_what_is_left_are_asked_for() -> None:
    job = sized({"spec.submissionMode": "SidecarMode"})
    left = build_cluster(job, "train-x2x2x", 1, job_id="x")
    spec = child(build_pod_group(job, is_over=True, left=left), "spec")
    assert spec == {"minMember": 3, "minResources": {"cpu": "2500m", "memory": "4296Mi"}}
    groups: Json = [
        {**child(group), "suspend": True} for group in items(left, "spec", "workerGroupSpecs")
    ]
    smaller = {**left, "spec": {**child(left, "spec"), "workerGroupSpecs": groups}}
    spec = child(build_pod_group(job, is_over=True, left=smaller), "spec")
    assert spec == {"minMember": 1, "minResources": {"cpu": "1500m", "memory": "2248Mi"}}


def made(scheduler: str, job: dict[str, Any]) -> tuple[Manifest, Manifest]:
    installation = Installation(batch_scheduler=scheduler)
    submitter = build_submitter(
        job,
        cluster=None,
        cluster_name="train-x2x2x",
        address="head:8265",
        job_id="x",
        runtime_env=None,
        attempt=1,
        installation=installation,
    )
    raycluster = build_cluster(job, "train-x2x2x", 1, installation=installation)
    return raycluster, child(submitter, "spec", "template")


def test_volcano_finds_the_group_and_the_queue_on_both() -> None:
    raycluster, pod = made("volcano", sized(QUEUED))
    for item, task in ((raycluster, ""), (pod, "submittergroup")):
        annotations = child(item, "metadata", "annotations")
        assert annotations["scheduling.k8s.io/group-name"] == "ray-train-pg"
        assert annotations["volcano.sh/task-spec"] == task
        assert child(item, "metadata", "labels")["volcano.sh/queue-name"] == "gold"
    assert text(pod, "spec", "schedulerName") == "volcano"


def test_yunikorn_finds_application_queue_and_groups() -> None:
    labels = {
        "yunikorn.apache.org/app-id": "app-1",
        "yunikorn.apache.org/queue": "root.ml",
        "ray.io/gang-scheduling-enabled": "true",
    }
    raycluster, pod = made("yunikorn", sized({"metadata.labels": labels}))
    for item in (raycluster, pod):
        found = child(item, "metadata", "labels")
        assert (found["applicationId"], found["queue"]) == ("app-1", "root.ml")
        groups = json.loads(
            text(item, "metadata", "annotations", "yunikorn.apache.org/task-groups")
        )
        assert [(group["name"], group["minMember"]) for group in groups] == [
            ("headgroup", 1),
            ("workers", 1),
            ("submittergroup", 1),
        ]
        assert groups[1]["minResource"] == {"cpu": "500m", "memory": "1Gi"}
    group = text(pod, "metadata", "annotations", "yunikorn.apache.org/task-group-name")
    assert group == "submittergroup"


def test_task_groups_that_the_user_wrote_stay_as_they_are() -> None:
    own = {"metadata.annotations": {"yunikorn.apache.org/task-groups": "[mine]"}}
    labels = {"metadata.labels": {"ray.io/gang-scheduling-enabled": ""}}
    for item in made("yunikorn", sized({**own, **labels})):
        annotations = child(item, "metadata", "annotations")
        assert annotations["yunikorn.apache.org/task-groups"] == "[mine]"


def test_kai_finds_the_queue() -> None:
    _, pod = made("kai-scheduler", sized({"metadata.labels": {"kai.scheduler/queue": "gold"}}))
    assert text(pod, "metadata", "labels", "kai.scheduler/queue") == "gold"
    assert text(pod, "spec", "schedulerName") == "kai-scheduler"


@pytest.mark.parametrize("mode", ["HTTPMode", "SidecarMode"])
def test_only_in_k8sjobmode_the_raycluster_carries_metadata(mode: str) -> None:
    job = sized({"spec.submissionMode": mode})
    installation = Installation(batch_scheduler="volcano")
    raycluster = build_cluster(job, "train-x2x2x", 1, installation=installation)
    assert "scheduling.k8s.io/group-name" not in child(raycluster, "metadata", "annotations")


def test_without_a_scheduler_nothing_is_added() -> None:
    raycluster, pod = made("", sized(QUEUED))
    assert "scheduling.k8s.io/group-name" not in child(raycluster, "metadata", "annotations")
    assert "schedulerName" not in child(pod, "spec")
