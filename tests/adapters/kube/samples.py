"""Small objects, and clients that wait for nothing long."""

from typing import Any

from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.transport import Transport
from jobledger.adapters.kube.watching.reflector import Reflector
from jobledger.adapters.kube.watching.timing import WatchPace
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.core.ports.cluster import RAYJOBS
from tests.contracts.cluster_listener import RecordingListener
from tests.support.canned_server import CannedServer

QUICK = WatchPace(
    silence_seconds=30.0, first_pause_seconds=0.001, longest_pause_seconds=0.002, page_limit=2
)


def rayjob(name: str, version: int, **metadata: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON
    """Return a RayJob as the API server would send it."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": f"uid-{name}",
            "resourceVersion": str(version),
            **metadata,
        },
        "spec": {"entrypoint": "python train.py"},
    }


def bookmark(version: int) -> dict[str, Any]:
    """Return the object of a BOOKMARK event."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"resourceVersion": str(version), "creationTimestamp": None},
        "spec": {},
    }


def transport_to(server: CannedServer, *, read_timeout_seconds: float = 20.0) -> Transport:
    """Return what sends requests to the server."""
    return connect(
        ConnectionSettings(host=server.url, read_timeout_seconds=read_timeout_seconds), {}
    )


def watch_on(
    server: CannedServer, listener: RecordingListener, pace: WatchPace = QUICK
) -> Reflector:
    """Start watching the server's RayJobs."""
    return KubernetesWatches(transport_to(server), pace=pace).watch(RAYJOBS, listener)
