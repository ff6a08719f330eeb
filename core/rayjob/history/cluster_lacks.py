"""Tells what a RayCluster lacks until it is ready, from its own status.

Source: ray-operator/apis/ray/v1/raycluster_types.go (RayClusterStatus, RayClusterConditionType).
"""

from collections.abc import Iterator

from jobledger.core.values.documents import Manifest


def lacks(status: Manifest) -> Iterator[str]:
    """Yield what keeps a RayCluster from being ready; nothing where its status does not say."""
    conditions = status.get("conditions")
    for item in conditions if isinstance(conditions, list) else ():
        if not isinstance(item, dict):
            continue
        name, holds = item.get("type"), item.get("status")
        if (name, holds) in (("HeadPodReady", "False"), ("ReplicaFailure", "True")):
            said = [str(part) for part in (item.get("reason"), item.get("message")) if part]
            what = "the head Pod is not ready" if name == "HeadPodReady" else "a Pod is not made"
            yield f"{what} ({': '.join(said)})" if said else what
    wanted, ready = status.get("desiredWorkerReplicas"), status.get("readyWorkerReplicas")
    if isinstance(wanted, int) and isinstance(ready, int) and ready < wanted:
        yield f"{ready} of {wanted} workers are ready"
