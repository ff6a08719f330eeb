"""A namespace with two tenants, and the service that controls the jobs of one of them.

The tenant may create jobs and look at them, no more. The stranger may also create the kinds of
objects that jobs are made of; both are impersonated, so that their rights are what RBAC says.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.service.observing.mapper import identify
from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.forensics.story.explain import explain
from jobledger.core.ports.cluster import BATCH_JOBS, RAYJOBS, TRAINJOBS, Resource
from jobledger.core.values.documents import Manifest, child, items, text
from jobledger.core.values.ids import StreamId
from tests.adapters.real_api.polled_cluster import PolledCluster
from tests.adapters.service.stories import is_let_go
from tests.support.api import Api, Reply, eventually
from tests.support.apiserver import ApiServer
from tests.support.data_plane import DataPlane
from tests.support.memory.clock import SimulatedClock
from tests.support.memory.event_store import MemoryEventStore
from tests.support.memory.history import MemoryHistory
from tests.support.memory.leases import MemoryLeases
from tests.support.memory.ray_jobs import MemoryRayJobs
from tests.support.memory.replicas import MemoryReplicas
from tests.support.memory.snapshots import MemorySnapshots
from tests.support.service_world import DOOR
from tests.support.train_world import TrainWorld

SECRET = "hunter2-of-somebody-else"
"""Stands in every object of a stranger, and must stand nowhere else."""
RBAC = "rbac.authorization.k8s.io/v1"
STRANGERS_KINDS = {
    "": ["configmaps", "secrets", "services", "pods"],
    "batch": ["jobs"],
    "ray.io": ["rayclusters"],
    "jobset.x-k8s.io": ["jobsets"],
    "scheduling.x-k8s.io": ["podgroups"],
    "scheduling.volcano.sh": ["podgroups"],
}

Document = dict[str, Any]


def path_of(resource: Resource) -> str:
    """Return `group/version/plural`."""
    return f"{resource.api_version}/{resource.plural}"


JOBS: Mapping[str, Document] = {
    "RayJob": {"ray.io": ["rayjobs"]},
    "TrainJob": {"trainer.kubeflow.org": ["trainjobs"]},
    "Job": {"batch": ["jobs"]},
}
"""Kind of job -> what whoever may create such jobs may create."""


def tenants_of(api: Api, kinds: Iterable[str] = ("RayJob", "TrainJob")) -> tuple[Api, Api]:
    """Return the tenant and the stranger of a namespace, with the least rights for what they do."""
    jobs = {group: plurals for kind in kinds for group, plurals in JOBS[kind].items()}
    return user_of(api, "tenant", jobs), user_of(api, "stranger", STRANGERS_KINDS)


def user_of(api: Api, name: str, may_create: dict[str, list[str]], *more: str) -> Api:
    """Return a user who may create, see and delete such objects; and `more`, by its verbs."""
    group = RBAC.partition("/")[0]
    verbs = ["create", "get", "list", "delete", *more]
    rules = [
        {"apiGroups": [key], "resources": kinds, "verbs": verbs}
        for key, kinds in may_create.items()
    ]
    made = [
        api.create(f"{RBAC}/roles", {"metadata": {"name": name}, "rules": rules}),
        api.create(
            f"{RBAC}/rolebindings",
            {
                "metadata": {"name": name},
                "roleRef": {"apiGroup": group, "kind": "Role", "name": name},
                "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
            },
        ),
    ]
    assert [reply.code for reply in made] == [201, 201], made
    group_of_one, (one, *_) = next(iter(may_create.items()))
    eventually(partial(_may_create, api, name, group_of_one, one), f"{name} has its rights")
    return Api(api.url, api.pool, api.namespace, {**api.headers, "Impersonate-User": name})


def _may_create(api: Api, user: str, group: str, plural: str) -> bool:
    """Return whether the API server knows of a user's rights by now; it hears of them late."""
    what = {"namespace": api.namespace, "verb": "create", "group": group, "resource": plural}
    asked = api.create(
        "authorization.k8s.io/v1/localsubjectaccessreviews",
        {
            "metadata": {"namespace": api.namespace},
            "spec": {"user": user, "resourceAttributes": what},
        },
    )
    return bool(asked.body.get("status", {}).get("allowed"))


@dataclass
class StrangersWorld(TrainWorld):
    """The whole service in one process, against a namespace of a real API server."""

    server: ApiServer = field(kw_only=True)
    api: Api = field(kw_only=True)
    kinds: tuple[str, ...] = field(kw_only=True, default=("RayJob", "TrainJob"))
    """The kinds of jobs that are controlled, and that the tenant may create."""

    def __post_init__(self) -> None:
        self.job_kinds = self.kinds
        self.tenant, self.stranger = tenants_of(self.api, self.kinds)
        settings = ConnectionSettings(kubeconfig=str(self.server.kubeconfig("controller")))
        client = KubernetesCluster(connect(settings))
        self.clock = SimulatedClock(datetime.now(UTC))
        self.lease_table = MemoryLeases(self.clock.now)
        self.replica_list = MemoryReplicas(self.lease_table, self.clock.now)
        self.store = MemoryEventStore(self.lease_table)
        self.projections, self.history = self.store, MemoryHistory(self.store)
        self.snapshots = MemorySnapshots(self.store)
        self.polled = PolledCluster(client, self.api.namespace, self.clock.now)
        self.cluster = self.polled
        self.ray = MemoryRayJobs(self.clock.now)
        self.plane = DataPlane(self.cluster, self.ray, self.exit_codes)
        self.deaths = self._runs = 0
        self.service = self.start_service()

    def step(self) -> bool:
        """Let everybody do one thing."""
        self.clock.advance(0.001)
        told = self.cluster.deliver()
        moved = self.service.step()
        self._renew()
        return told or moved

    def submit(self, resource: Resource, manifest: Document) -> tuple[Manifest, StreamId]:
        """Create a job as the tenant; return it and its stream."""
        made = accepted(self.tenant.create(path_of(resource), manifest))
        self.polled.is_stale = True
        return made, identify(DOOR.cluster, made).stream_id

    def place(self, resource: Resource, manifest: Document) -> Manifest:
        """Create an object as the stranger."""
        self.polled.is_stale = True
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        return accepted(self.stranger.create(path_of(resource), head | manifest))

    def now(self, resource: Resource, name: str) -> Document:
        """Return an object as an administrator sees it, empty if there is none."""
        reply = self.api.get(path_of(resource), name)
        return dict(reply.body) if reply.code == 200 else {}

    def remove(self, resource: Resource, name: str) -> None:
        """Delete an object as the stranger."""
        assert self.stranger.delete(path_of(resource), name).code == 200
        self.polled.is_stale = True

    def pass_time(self, seconds: float) -> None:
        """Let time pass; then everybody does what there is to do."""
        self.clock.advance(seconds)
        self.run(lambda: True, "everything that is due")

    def is_over(self, stream: StreamId) -> bool:
        """Return whether the service has let go of a job."""
        return is_let_go(self, stream)

    def condition_of(self, job: Manifest, kind: str) -> Document:
        """Return a condition of a TrainJob or Job."""
        found = self.now(kind_of(job), text(job, "metadata", "name"))
        listed = items(found, "status", "conditions")
        return next((dict(child(one)) for one in listed if text(one, "type") == kind), {})

    def explained(self, stream: StreamId) -> str:
        """Return what `jobledger explain` says of a job; empty before anything is known of it."""
        events = tuple(self.store.read_stream(stream))
        if not events:
            return ""
        account = explain(Dossier(events=events, evidence=reader_of({}), origin="a test"))
        return "\n".join(sentence.text for sentence in account.sentences)

    def everything_told(self, job: Manifest, stream: StreamId) -> str:
        """Return all that was written anywhere about a job: log, status, Kubernetes Events."""
        log = repr([item.record.data for item in self.store.read_stream(stream)])
        status = repr(self.now(kind_of(job), text(job, "metadata", "name")).get("status"))
        core = self.api.list("v1/events").body["items"]
        return "\n".join([log, status, repr(core), self.explained(stream)])


def kind_of(job: Manifest) -> Resource:
    """Return the kind of a job."""
    return {"TrainJob": TRAINJOBS, "Job": BATCH_JOBS}.get(text(job, "kind"), RAYJOBS)


def accepted(reply: Reply) -> Document:
    """Return the object of an answer that says yes."""
    assert reply.code in (200, 201), reply.message
    return dict(reply.body)
