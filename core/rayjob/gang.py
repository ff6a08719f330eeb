"""What a batch scheduler needs to know, so that a job's Pods are placed together or not at all.

Volcano has a PodGroup per job, which must be there before the RayCluster: KubeRay makes none for
RayClusters of RayJobs. The submitter does not count among its members: it waits for the RayCluster,
and the RayCluster would wait for it. KubeRay adds the labels of Pods by itself.

Source: KubeRay's controllers/ray/batchscheduler (volcano, yunikorn, kai-scheduler).
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from core.ports.cluster import VOLCANO_POD_GROUPS
from core.rayjob.owning import owner_reference
from core.rayjob.submitter_container import default_container
from core.rayjob.validation_reading import texts
from core.values.documents import Json, Manifest, child, items, number, text
from core.values.quantities import Amounts, amounts, greatest, times, total

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
KAI_QUEUE = "kai.scheduler/queue"


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
    given = texts(child(job, "metadata", "labels"))
    if scheduler == VOLCANO:
        kept = {key: given[key] for key in (VOLCANO_QUEUE, PRIORITY_LABEL) if key in given}
        told = {
            "scheduling.k8s.io/group-name": pod_group_name(text(job, "metadata", "name")),
            "volcano.sh/task-spec": group,
        }
        return GangMetadata(labels=kept, annotations=told, scheduler=VOLCANO)
    if scheduler == YUNIKORN:
        labels = {theirs: given[ours] for ours, theirs in YUNIKORN_LABELS.items() if ours in given}
        told = _task_groups(job, group) if GANG_LABEL in given else {}
        return GangMetadata(labels=labels, annotations=told, scheduler=YUNIKORN)
    if scheduler == KAI:
        kept = {KAI_QUEUE: given[KAI_QUEUE]} if KAI_QUEUE in given else {}
        return GangMetadata(labels=kept, scheduler=KAI)
    return GangMetadata()


def _task_groups(job: Manifest, group: str) -> dict[str, str]:
    groups = [
        {
            "name": part.name,
            "minMember": part.members,
            "minResource": {name: str(found) for name, found in sorted(part.each.items())},
            **part.placing,
        }
        for part in _parts(job, least=False, with_submitter=True)
    ]
    told = {"yunikorn.apache.org/task-groups": json.dumps(groups, separators=(",", ":"))}
    return {**told, **({"yunikorn.apache.org/task-group-name": group} if group else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Pods of a job that are alike."""

    name: str
    members: int
    each: Amounts
    placing: Mapping[str, Json] = field(default_factory=dict)


def build_pod_group(job: Manifest, *, is_over: bool = False) -> Manifest:
    """Return the PodGroup of a job (Volcano); once it `is_over`, nobody has to be placed."""
    given = texts(child(job, "metadata", "labels"))
    cluster = child(job, "spec", "rayClusterSpec")
    scales = cluster.get("enableInTreeAutoscaling") is True
    parts = () if is_over else (*_parts(job, least=scales, with_submitter=False),)
    everybody = () if is_over else (*_parts(job, least=scales, with_submitter=True),)
    needed = total(times(part.each, part.members) for part in everybody)
    spec: dict[str, Json] = {
        "minMember": sum(part.members for part in parts),
        "minResources": {name: str(found) for name, found in sorted(needed.items())},
    }
    if VOLCANO_QUEUE in given:
        spec["queue"] = given[VOLCANO_QUEUE]
    if PRIORITY_LABEL in given:
        spec["priorityClassName"] = given[PRIORITY_LABEL]
    if VOLCANO_TOPOLOGY in given:
        tier = given.get(VOLCANO_TIER, "")
        highest: dict[str, Json] = {"highestTierAllowed": int(tier)} if tier.isdigit() else {}
        spec["networkTopology"] = {"mode": given[VOLCANO_TOPOLOGY], **highest}
    return {
        "apiVersion": VOLCANO_POD_GROUPS.api_version,
        "kind": VOLCANO_POD_GROUPS.kind,
        "metadata": {
            "name": pod_group_name(text(job, "metadata", "name")),
            "namespace": text(job, "metadata", "namespace"),
            "ownerReferences": [owner_reference(job)],
        },
        "spec": spec,
    }


def _parts(job: Manifest, *, least: bool, with_submitter: bool) -> Iterator[_Part]:
    """Yield the head, the worker groups as they are wanted (or at `least` are), the submitter."""
    spec = child(job, "spec")
    cluster = child(spec, "rayClusterSpec")
    yield _part(HEAD_GROUP, 1, child(cluster, "headGroupSpec", "template"))
    for group in items(cluster, "workerGroupSpecs"):
        least_wanted = number(group, "minReplicas") or 0
        replicas = number(group, "replicas")
        wanted = least_wanted if least or replicas is None else max(replicas, least_wanted)
        most = number(group, "maxReplicas")
        wanted = wanted if most is None else min(wanted, most)
        suspended = child(group).get("suspend") is True
        hosts = number(group, "numOfHosts") or 1
        members = 0 if suspended else wanted * hosts
        yield _part(text(group, "groupName"), members, child(group, "template"))
    mode = spec.get("submissionMode")
    if with_submitter and (mode == "K8sJobMode" or not isinstance(mode, str)):
        given = child(spec, "submitterPodTemplate")
        default: Manifest = {"spec": {"containers": [default_container(cluster)]}}
        yield _part(SUBMITTER_GROUP, 1, given or default)


def _part(name: str, members: int, template: Manifest) -> _Part:
    pod = child(template, "spec")
    needs = total(_needs(container) for container in items(pod, "containers"))
    for container in items(pod, "initContainers"):
        needs = greatest(needs, _needs(container))
    placing = {key: pod[key] for key in ("nodeSelector", "tolerations", "affinity") if key in pod}
    return _Part(name=name, members=members, each=needs, placing=placing)


def _needs(container: Json) -> Amounts:
    """Return what a container asks for; where it only says its limits, those."""
    limits = amounts(child(container, "resources", "limits"))
    return {**limits, **amounts(child(container, "resources", "requests"))}
