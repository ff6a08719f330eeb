"""The Node object of the agent: registered once, confirmed from time to time."""

from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.core.errors import ObjectExists, ObjectNotFound, RequestForbidden, RequestInvalid
from jobledger.core.ports.cluster import Cluster, Resource
from jobledger.core.values.documents import Json
from jobledger.core.values.instants import rfc3339

NODES = Resource("", "v1", "nodes", "Node")

HEARTBEAT_SECONDS = 40.0
"""Between two confirmations.

A real cluster forgets a node after some 40 to 60 seconds at most when its lease is not renewed,
but nobody here judges it.
"""


class NodeRegistration:
    """A reconciler with one key: the node's name."""

    def __init__(self, cluster: Cluster, clock: SystemClock) -> None:
        self._cluster, self._clock = cluster, clock

    def reconcile(self, namespace: str, name: str) -> float | None:
        """Register the node if it is missing and confirm that it is ready.

        An API server that knows no Nodes, or grants us none, is left alone.
        """
        del namespace
        try:
            self._create(name)
            self._cluster.merge_patch(
                NODES, "", name, {"status": self._status()}, subresource="status"
            )
        except (ObjectNotFound, RequestForbidden, RequestInvalid):
            return None
        return HEARTBEAT_SECONDS

    def _create(self, name: str) -> None:
        if self._cluster.get(NODES, "", name) is not None:
            return
        labels: dict[str, Json] = {"kubernetes.io/hostname": name}
        try:
            self._cluster.create(
                NODES,
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": name, "labels": labels},
                    "spec": {},
                },
            )
        except ObjectExists:
            return

    def _status(self) -> dict[str, Json]:
        now = rfc3339(self._clock.now())
        ready: dict[str, Json] = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "message": "the sandbox's node agent runs",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        return {
            "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        }
