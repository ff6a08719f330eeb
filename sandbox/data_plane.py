"""The sandbox's data plane: what makes RayClusters, JobSets, batch Jobs and Pods live.

All of it is an ordinary client: the API server may be the sandbox's own or a real one.
"""

from pathlib import Path
from urllib.parse import urlsplit

import structlog

from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    JOBSETS,
    PODS,
    RAYCLUSTERS,
    SERVICES,
    Cluster,
    Resource,
    Subscription,
    Watches,
)
from jobledger.sandbox.agent.agent import NodeAgent
from jobledger.sandbox.controllers.batch_job.controller import BatchJobController
from jobledger.sandbox.controllers.jobset.controller import JobSetController, JobSetStores
from jobledger.sandbox.controllers.loop import ControllerLoop
from jobledger.sandbox.controllers.raycluster.controller import (
    RayClusterController,
    RayClusterStores,
)
from jobledger.sandbox.controllers.store import Store
from jobledger.sandbox.pod_names import PodNames
from jobledger.sandbox.service_proxy import ServiceProxy

SYNC_LIMIT_SECONDS = 10.0
"""So long the start waits for the first list of each resource; then it goes on without."""

_log = structlog.get_logger("sandbox")


class DataPlane:
    """Simulated controllers, node agent and service proxy, wired to one API server.

    Args:
        cluster: the API server.
        watches: its watches.
        work_dir: where Pods have their files; created if missing, one data plane at a time.
        batch_jobs: whether to play the batch Job controller (not beside a
            kube-controller-manager).
        rayclusters: whether to play the RayCluster controller (not beside KubeRay).
        jobsets: whether to play the JobSet controller (not beside the real one, nor where the
            API server does not know JobSets).
    """

    def __init__(
        self,
        cluster: Cluster,
        watches: Watches,
        *,
        work_dir: Path,
        batch_jobs: bool = True,
        rayclusters: bool = True,
        jobsets: bool = True,
    ) -> None:
        self._watches = watches
        self._loop = ControllerLoop("sandbox-controllers")
        self._pods, self._services = Store(), Store()
        self._watched: list[tuple[Resource, Store]] = [
            (SERVICES, self._services),
            (PODS, self._pods),
        ]
        self._proxy = ServiceProxy(self._services, self._pods)
        self._names = PodNames(self._services, self._pods, work_dir.resolve() / "names")
        self.agent = NodeAgent(cluster, self._pods, work_dir.resolve())
        self._controllers: list[RayClusterController | JobSetController | BatchJobController] = []
        if rayclusters:
            clusters = Store()
            self._watched.append((RAYCLUSTERS, clusters))
            stores = RayClusterStores(clusters=clusters, pods=self._pods, services=self._services)
            self._controllers.append(RayClusterController(cluster, stores, self._loop))
        jobs = Store()
        if batch_jobs or jobsets:
            self._watched.append((BATCH_JOBS, jobs))
        if jobsets:
            wanted = Store()
            self._watched.append((JOBSETS, wanted))
            sets = JobSetStores(jobsets=wanted, jobs=jobs, services=self._services)
            self._controllers.append(JobSetController(cluster, sets, self._loop))
        if batch_jobs:
            self._controllers.append(BatchJobController(cluster, jobs, self._pods, self._loop))
        self._subscriptions: list[Subscription] = []

    @property
    def proxy_url(self) -> str:
        """The service proxy, for the standard proxy variables; known once started."""
        return self._proxy.url

    def start(self, api_url: str = "") -> None:
        """Watch, and begin to act; `api_url` is where the service proxy leads besides."""
        self._proxy.api = urlsplit(api_url)
        self._proxy.begin()
        self._names.start()
        self.agent.start(self._proxy.url, self._names.directory)
        for controller in self._controllers:
            controller.start()
        self._loop.start()
        for resource, store in self._watched:
            self._subscriptions.append(self._watches.watch(resource, store))
            # parts before owners, or a controller would miss what is there already
            if not store.wait_until_synced(SYNC_LIMIT_SECONDS):
                _log.warning("sandbox_watch_slow", resource=resource.plural)

    def stop(self) -> None:
        """Stop watching, kill every process, end every thread; objects stay as they are."""
        for subscription in self._subscriptions:
            subscription.stop()
        self._subscriptions.clear()
        self._loop.stop()
        self.agent.stop()
        self._proxy.end()
