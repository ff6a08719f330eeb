"""Which Pods a RayCluster wants: its head and its worker groups, by number."""

from dataclasses import dataclass

from jobledger.core.values.documents import Json, Manifest, child, items, number, text

MAX_INT32 = 2**31 - 1

HEAD_GROUP = "headgroup"
"""Source: KubeRay's constant for the head's group label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerGroup:
    """One worker group and how many Pods it wants."""

    name: str
    spec: Json
    hosts: int
    is_suspended: bool
    smallest: int
    largest: int
    wanted: int
    """Pods wanted now: replicas within their limits, times hosts; 0 while suspended."""


def worker_groups(cluster: Manifest) -> list[WorkerGroup]:
    """Return the worker groups of a RayCluster."""
    found = []
    for spec in items(cluster, "spec", "workerGroupSpecs"):
        hosts = number(spec, "numOfHosts") or 1
        smallest = number(spec, "minReplicas") or 0
        most = number(spec, "maxReplicas")
        largest = MAX_INT32 if most is None else most
        replicas = number(spec, "replicas")
        replicas = smallest if replicas is None else replicas
        is_suspended = child(spec).get("suspend") is True
        wanted = 0 if is_suspended else min(max(replicas, smallest), largest) * hosts
        found.append(
            WorkerGroup(
                name=text(spec, "groupName"),
                spec=spec,
                hosts=hosts,
                is_suspended=is_suspended,
                smallest=smallest,
                largest=largest,
                wanted=wanted,
            )
        )
    return found


def head_service_name(cluster: Manifest) -> str:
    """Return the name of the head Service."""
    own = text(cluster, "spec", "headGroupSpec", "headService", "metadata", "name")
    return own or f"{text(cluster, 'metadata', 'name')}-head-svc"


def head_container(cluster: Manifest) -> Json:
    """Return the first container of the head's template, or None."""
    found = items(cluster, "spec", "headGroupSpec", "template", "spec", "containers")
    return found[0] if found else None
