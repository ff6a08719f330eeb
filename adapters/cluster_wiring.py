"""Composition root of the connection to the API server."""

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.adapters.settings import Settings

WATCH_KINDS = 14
OTHER_THREADS = 24
"""Beside watches and workers: evidence, looks at Pods, polls, Kubernetes Events."""

JUDGED_AT_ONCE = 50
"""Requests, by a server without a ledger: each may ask the API server."""


def cluster_connection(settings: Settings) -> ConnectionSettings:
    """Return how the API server is reached: one connection per thread that asks or watches."""
    watches = WATCH_KINDS * max(1, len(settings.namespaces))
    return ConnectionSettings(
        kubeconfig=settings.kubeconfig,
        context=settings.context,
        connections=settings.workers + watches + OTHER_THREADS,
    )


def kubernetes_cluster(settings: Settings) -> KubernetesCluster:
    """Return the API server, for commands that read and write single objects."""
    return KubernetesCluster(connect(cluster_connection(settings)))


def judging_cluster(settings: Settings) -> KubernetesCluster:
    """Return the API server, for servers that ask it about the requests that they get."""
    connection = ConnectionSettings(
        kubeconfig=settings.kubeconfig, context=settings.context, connections=JUDGED_AT_ONCE
    )
    return KubernetesCluster(connect(connection))


def kubernetes_watches(settings: Settings) -> KubernetesWatches:
    """Return the watches of the API server, for commands that follow objects."""
    return KubernetesWatches(connect(cluster_connection(settings)))
