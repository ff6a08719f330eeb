"""Acts, statuses and Kubernetes Events of the service, sent to a real API server."""

from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from jobledger.adapters.kinds.rayjob.acting.attempt_names import AttemptNames
from jobledger.adapters.kinds.rayjob.acting.effects import act
from jobledger.adapters.kube.client import KubernetesCluster
from jobledger.adapters.kube.connection import ConnectionSettings, connect
from jobledger.adapters.service.effects.context import Done, World
from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.status.status_writer import Publisher
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.job_listener import JobListener
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.telemetry.clock import SystemClock
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.jobs.pending.effects import DesiredEffect, EffectKind, OpenEffect
from jobledger.core.log.keyed_digests import digest
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.values.documents import Manifest, child, text
from jobledger.core.values.ids import effect_id_of, observation_id
from tests.support.api import Api, rayjob
from tests.support.apiserver import ApiServer
from tests.support.memory.ray_jobs import MemoryRayJobs
from tests.support.plugged import actings, watchings
from tests.support.service_world import DOOR, own_door

Document = dict[str, Any]

JOB_ID = "train-abcde"
NAMES = AttemptNames(number=1, job_id=JOB_ID, cluster="train-x2x2x")


@dataclass
class Desk:
    """The service's hands without its head."""

    api: Api
    """An administrator, in a namespace of this test."""
    cluster: KubernetesCluster
    """The API server as the controller sees it."""
    clock: SystemClock = field(default_factory=SystemClock)
    inbox: Inbox = field(default_factory=Inbox)
    live: ObjectCache = field(default_factory=ObjectCache)
    metrics: Metrics = field(default_factory=lambda: Metrics(CollectorRegistry()))

    def __post_init__(self) -> None:
        around = EventHandlers(
            own_door(), self.inbox, self.live, Confirmations(), watchings(), lambda _: None
        )
        self.jobs = JobListener(around, "RayJob")
        self.publisher = Publisher(
            self.cluster, self.live, self.inbox, self.clock, self.metrics, lambda _: True
        )

    def job(self, *finalizers: str, **spec: object) -> CachedJob:
        """Create a RayJob and let the watch see it."""
        manifest = rayjob("train", **spec)
        manifest["metadata"]["finalizers"] = list(finalizers)
        return self.see(self.submit(manifest))

    def submit(self, manifest: Document) -> Document:
        """Create a RayJob and return it as it was made."""
        reply = self.api.create("ray.io/v1/rayjobs", manifest, fieldValidation="Strict")
        assert reply.code == 201, reply
        return dict(reply.body)

    def see(self, manifest: Manifest) -> CachedJob:
        """Let the watch see a RayJob."""
        self.jobs.seen(manifest, self.clock.now())
        found = self.live.job(text(manifest, "metadata", "uid"))
        assert found is not None
        return found

    def now(self, name: str = "train") -> Document:
        """Return the RayJob as it is."""
        return dict(self.cluster.get(RAYJOBS, self.api.namespace, name) or {})

    def publish(self, job: CachedJob, status: Manifest) -> Document:
        """Publish a status and return what the API server then shows."""
        task = self.publisher.offer(job.identity, [status], job.kind)
        assert task is not None, "there is something to write"
        assert task() is None, "it was written"
        return dict(child(self.now(job.identity.name), "status"))

    def do(self, job: CachedJob, kind: EffectKind, name: str = "", **wanted: str) -> Done:
        """Carry out an effect that was decided on the specification as it is."""
        cause = observation_id(job.identity.stream_id, "a test")
        effect = OpenEffect(
            effect_id=effect_id_of(cause, kind.value, name),
            attempt=1,
            desired=DesiredEffect(kind=kind, name=name, **wanted),
            digest=digest(DOOR.redaction_key, child(job.manifest, "spec")),
        )
        world = World(self.cluster, MemoryRayJobs(self.clock.now), self.live, own_door(), actings())
        return act(world, job, effect, NAMES)


def desk_in(server: ApiServer, api: Api) -> Desk:
    """Return a desk in the namespace of `api`."""
    settings = ConnectionSettings(kubeconfig=str(server.kubeconfig("controller")))
    return Desk(api, KubernetesCluster(connect(settings)))
