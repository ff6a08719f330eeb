"""A site on a real API server: its controller manager makes Pods of Jobs, our node agent runs them.

The controller has the rights of `ops/rbac.yaml`, the user may submit and look. RayClusters are
simulated by the sandbox's controller, as an ordinary client.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.core.ports.cluster import ObjectListener, Resource, Subscription, Watches
from jobledger.sandbox.data_plane import DataPlane
from tests.acceptance.node import Node
from tests.acceptance.site import Site
from tests.acceptance.witness import BATCH_JOBS, JOBSETS, RAYCLUSTERS, RAYJOBS, TRAINJOBS
from tests.support.api import CONFIGMAPS, PODS, SERVICES, Api, own_namespace
from tests.support.apiserver import ApiServer
from tests.support.processes import Terminal
from tests.support.waiting import wait_until

GONE_SECONDS = 120.0
"""Limit until nothing is left: garbage is collected when a busy controller manager gets to it."""


class InNamespace(Watches):
    """Watches of one namespace: other tests have a node agent of their own."""

    def __init__(self, watches: Watches, namespace: str) -> None:
        self._watches, self._namespace = watches, namespace

    def watch(
        self,
        resource: Resource,
        listener: ObjectListener,
        *,
        namespace: str = "",
        selector: str = "",
        is_optional: bool = False,
    ) -> Subscription:
        """Start telling `listener` of the objects of the one namespace."""
        del namespace, is_optional
        return self._watches.watch(resource, listener, namespace=self._namespace, selector=selector)


@contextmanager
def real_site(
    server: ApiServer,
    terminal: Terminal,
    ledger_url: str,
    controller: str = "controller",
    *,
    rayclusters: bool = True,
) -> Iterator[Site]:
    """Give a namespace with a data plane, an empty ledger and a terminal that knows both.

    The service acts as the user `controller`. RayClusters are simulated if `rayclusters`; if not,
    somebody else makes Pods of them.
    """
    admin, user = server.api(), server.api("user")
    pods = terminal.directory / "pods"
    with (
        own_namespace(admin) as api,
        _data_plane(server, pods, api.namespace, rayclusters=rayclusters) as plane,
    ):
        try:
            yield Site(
                api=Api(user.url, user.pool, api.namespace, user.headers),
                terminal=terminal.with_environment(
                    KUBECONFIG=str(server.kubeconfig(controller)),
                    HTTP_PROXY=plane.proxy_url,
                    NO_PROXY="127.0.0.1,localhost",
                    DATABASE_URL=ledger_url,
                    JOBLEDGER_DATA_DIR=str(terminal.directory / "data"),
                ),
                database_url=ledger_url,
                proxy_url=plane.proxy_url,
                running_on=Node(plane.agent, api),
            )
        finally:
            leave_nothing(api)
    for client in (admin, user):
        client.pool.clear()


@contextmanager
def _data_plane(
    server: ApiServer, directory: Path, namespace: str, *, rayclusters: bool
) -> Iterator[DataPlane]:
    transport = connect(ConnectionSettings(kubeconfig=str(server.kubeconfig())), {})
    plane = DataPlane(
        KubernetesCluster(transport, field_manager="sandbox"),
        InNamespace(KubernetesWatches(transport), namespace),
        work_dir=directory,
        batch_jobs=False,
        rayclusters=rayclusters,
        jobsets=False,
    )
    plane.start()
    try:
        yield plane
    finally:
        plane.stop()


def leave_nothing(api: Api) -> None:
    """Delete everything, and wait until all is gone and the agent has let go of the last Pod."""
    for item in api.list(RAYJOBS).body["items"]:
        api.merge(RAYJOBS, item["metadata"]["name"], {"metadata": {"finalizers": None}})
    kinds = (RAYJOBS, TRAINJOBS, JOBSETS, RAYCLUSTERS, BATCH_JOBS, CONFIGMAPS, SERVICES)
    for resource in kinds:
        api.request("DELETE", api.path(resource), {"propagationPolicy": "Background"})
    for resource in (RAYJOBS, RAYCLUSTERS, BATCH_JOBS, SERVICES, PODS):
        wait_until(
            lambda resource=resource: api.list(resource).body["items"] == [],  # type: ignore[misc]  # a default argument binds the loop's value
            f"no {resource} is left",
            GONE_SECONDS,
        )
