"""Adds what batch schedulers need to place a job's Pods together or not at all.

Volcano has a PodGroup per job, which must be there before the RayCluster: KubeRay makes none for
RayClusters of RayJobs. The submitter does not count among its members: it waits for the RayCluster,
and the RayCluster would wait for it. KubeRay adds the labels of Pods by itself.

Source: KubeRay's controllers/ray/batchscheduler (volcano, yunikorn, kai-scheduler).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from jobledger.core.ports.cluster import VOLCANO_POD_GROUPS
from jobledger.core.rayjob.manifests.owner_references import owner_reference
from jobledger.core.rayjob.manifests.submitter_container import default_container
from jobledger.core.rayjob.spec.go_values import texts
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.pod_requests import requests_or_limits
from jobledger.core.values.quantities import Amounts, times, total

VOLCANO, YUNIKORN, KAI = "volcano", "yunikorn", "kai-scheduler"
SUBMITTER_GROUP, HEAD_GROUP = "submittergroup", "headgroup"

PRIORITY_LABEL = "ray.io/priority-class-name"
GANG_LABEL = "ray.io/gang-scheduling-enabled"
VOLCANO_QUEUE = "volcano.sh/queue-name"
VOLCANO_TOPOLOGY = "volcano.sh/network-topology-mode"
VOLCANO_TIER = "volcano.sh/network-topology-highest-tier-allowed"
YUNIKORN_LABELS: Mapping[str, str] = {
    "yunikorn.apache.org/app-id": "applicationId",
    "yunikorn.apache.org/queue": "queue",
}
"""Label of a RayJob -> label of what is made for it."""
TASK_GROUPS = "yunikorn.apache.org/task-groups"
TASK_GROUP_NAME = "yunikorn.apache.org/task-group-name"
KAI_QUEUE = "kai.scheduler/queue"

_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class GangMetadata:
    """What is added to a child for the scheduler."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    scheduler: str = ""
    """Of Pods: who places them."""


def pod_group_name(job_name: str) -> str:
    """Return the name of a job's PodGroup."""
    return f"ray-{job_name}-pg"


def gang_metadata(job: Manifest, scheduler: str, group: str = "") -> GangMetadata:
    """Return what is added to a RayCluster, or to the template of the submitter's Pod.

    `group` is the part of the job that a Pod belongs to; empty for a RayCluster, which has many.
    """
    labels = texts(child(job, "metadata", "labels"))
    given = {key: value for key, value in labels.items() if value}
    if scheduler == VOLCANO:
        kept = {key: given[key] for key in (VOLCANO_QUEUE, PRIORITY_LABEL) if key in given}
        told = {
            "scheduling.k8s.io/group-name": pod_group_name(text(job, "metadata", "name")),
            "volcano.sh/task-spec": group,
        }
        return GangMetadata(labels=kept, annotations=told, scheduler=VOLCANO)
    if scheduler == YUNIKORN:
        kept = {theirs: given[ours] for ours, theirs in YUNIKORN_LABELS.items() if ours in given}
        told = _task_groups(job, group) if GANG_LABEL in labels else {}
        return GangMetadata(labels=kept, annotations=told, scheduler=YUNIKORN)
    if scheduler == KAI:
        kept = {KAI_QUEUE: given[KAI_QUEUE]} if KAI_QUEUE in given else {}
        return GangMetadata(labels=kept, scheduler=KAI)
    return GangMetadata()


def _task_groups(job: Manifest, group: str) -> dict[str, str]:
    """Return the annotations for YuniKorn; task groups that the user wrote stay as they are."""
    own = text(job, "metadata", "annotations", TASK_GROUPS)
    spec = child(job, "spec")
    submitter = _part(SUBMITTER_GROUP, _submitter_template(spec))
    groups = [
        {
            "name": part.name,
            "minMember": part.least,
            "minResource": {name: str(found) for name, found in sorted(part.each.items())},
            **part.placing,
        }
        for part in (*parts_of(child(spec, "rayClusterSpec")), submitter)
    ]
    told = {TASK_GROUPS: own or json.dumps(groups, separators=(",", ":"))}
    return {**told, **({TASK_GROUP_NAME: group} if group else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Pods of a job that are alike."""

    name: str
    pod: Manifest
    """The specification of each."""
    each: Amounts
    """What one Pod asks for."""
    placing: Mapping[str, Json]
    members: int
    """How many Pods there are to be."""
    replicas: int
    """How many are asked for, whatever the limits of the group say."""
    least: int
    """How many there are at least, autoscaling or not."""
    suspended: bool


def build_pod_group(
    job: Manifest, *, is_over: bool = False, left: Manifest | None = None
) -> Manifest:
    """Return the PodGroup of a job (Volcano).

    Once it `is_over`, only what is `left` has to be placed: a RayCluster, or nobody.
    """
    given = texts(child(job, "metadata", "labels"))
    if not is_over:
        members, needed = _size(child(job, "spec"))
    elif left is None:
        members, needed = 0, {}
    else:
        members, needed = _cluster_size(child(left, "spec"))
    spec: dict[str, Json] = {
        "minMember": members,
        "minResources": {name: str(found) for name, found in sorted(needed.items())},
    }
    if VOLCANO_QUEUE in given:
        spec["queue"] = given[VOLCANO_QUEUE]
    if PRIORITY_LABEL in given:
        spec["priorityClassName"] = given[PRIORITY_LABEL]
    if VOLCANO_TOPOLOGY in given:
        tier = given.get(VOLCANO_TIER, "")
        readable = _WHOLE_NUMBER.fullmatch(tier)
        highest: dict[str, Json] = {"highestTierAllowed": int(tier)} if readable else {}
        spec["networkTopology"] = {"mode": given[VOLCANO_TOPOLOGY], **highest}
    return {
        "apiVersion": VOLCANO_POD_GROUPS.api_version,
        "kind": VOLCANO_POD_GROUPS.kind,
        "metadata": {
            "name": pod_group_name(text(job, "metadata", "name")),
            "namespace": text(job, "metadata", "namespace"),
            "annotations": dict(texts(child(job, "metadata", "annotations"))),
            "ownerReferences": [owner_reference(job)],
        },
        "spec": spec,
    }


def _size(spec: Manifest) -> tuple[int, Amounts]:
    """Return how many Pods are placed together, and what everybody asks for.

    The submitter asks, but does not count. Upstream counts the Pods within the limits of their
    group, and their needs by `replicas` alone.
    """
    members, needed = _cluster_size(child(spec, "rayClusterSpec"))
    return members, total((needed, _submitter_needs(spec)))


def _cluster_size(cluster: Manifest) -> tuple[int, Amounts]:
    """Return how many Pods a RayCluster has and what they ask for; suspended groups have none."""
    scales = cluster.get("enableInTreeAutoscaling") is True
    parts = [part for part in parts_of(cluster) if not part.suspended]
    members = sum(part.least if scales else part.members for part in parts)
    return members, total(
        times(part.each, part.least if scales else part.replicas) for part in parts
    )


def _submitter_needs(spec: Manifest) -> Amounts:
    """Return what the submitter asks for: a Pod of its own, or a container beside the head."""
    mode = spec.get("submissionMode")
    if mode == "SidecarMode":
        return requests_or_limits(default_container(child(spec, "rayClusterSpec")))
    if mode == "K8sJobMode" or not isinstance(mode, str):
        return _part(SUBMITTER_GROUP, _submitter_template(spec)).each
    return {}


def _submitter_template(spec: Manifest) -> Manifest:
    given = child(spec, "submitterPodTemplate")
    containers = [default_container(child(spec, "rayClusterSpec"))]
    return given or {"spec": {"containers": containers}}


def parts_of(cluster: Manifest) -> Iterator[Part]:
    """Yield the head and the groups of workers."""
    yield _part(HEAD_GROUP, child(cluster, "headGroupSpec", "template"))
    for group in items(cluster, "workerGroupSpecs"):
        least, most = number(group, "minReplicas") or 0, number(group, "maxReplicas")
        replicas, hosts = number(group, "replicas"), number(group, "numOfHosts")
        each = 1 if hosts is None else hosts
        wanted = max(replicas or 0, least)
        yield _part(
            text(group, "groupName"),
            child(group, "template"),
            members=each * (wanted if most is None else min(wanted, most)),
            replicas=each * (replicas or 0),
            least=each * least,
            suspended=child(group).get("suspend") is True,
        )


def _part(
    name: str,
    template: Manifest,
    *,
    members: int = 1,
    replicas: int = 1,
    least: int = 1,
    suspended: bool = False,
) -> Part:
    """Return Pods that are alike; what their init containers ask for is not counted."""
    pod = child(template, "spec")
    return Part(
        name=name,
        pod=pod,
        each=total(requests_or_limits(container) for container in items(pod, "containers")),
        placing={
            key: pod[key] for key in ("nodeSelector", "tolerations", "affinity") if key in pod
        },
        members=members,
        replicas=replicas,
        least=least,
        suspended=suspended,
    )
