"""Acts, statuses and Kubernetes Events of the service, sent to a real API server."""

from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry

from adapters.kube.client import KubernetesCluster
from adapters.kube.connection import ConnectionSettings, connect
from adapters.memory.ray_jobs import MemoryRayJobs
from adapters.service.acting import AttemptNames, Done, World
from adapters.service.acts import act
from adapters.service.confirmations import Confirmations
from adapters.service.inbox import Inbox
from adapters.service.live import LiveJob, LiveObjects
from adapters.service.publishing import Publisher
from adapters.service.surroundings import Surroundings
from adapters.service.watching import JobListener
from adapters.telemetry.clock import SystemClock
from adapters.telemetry.metrics import Metrics
from core.jobs.effects import EffectKind, OpenEffect, WantedEffect
from core.log.redaction import digest
from core.ports.cluster import RAYJOBS
from core.values.documents import Manifest, child, text
from core.values.ids import effect_id_of, observation_id
from tests.support.api import Api, rayjob
from tests.support.apiserver import ApiServer
from tests.support.service_world import DOOR, own_door

Document = dict[str, Any]

JOB_ID = "train-abcde"
NAMES = AttemptNames(number=1, job_id=JOB_ID)


@dataclass
class Desk:
    """The service's hands without its head."""

    api: Api
    """An administrator, in a namespace of this test."""
    cluster: KubernetesCluster
    """The API server as the controller sees it."""
    clock: SystemClock = field(default_factory=SystemClock)
    inbox: Inbox = field(default_factory=Inbox)
    live: LiveObjects = field(default_factory=LiveObjects)
    metrics: Metrics = field(default_factory=lambda: Metrics(CollectorRegistry()))

    def __post_init__(self) -> None:
        around = Surroundings(own_door(), self.inbox, self.live, Confirmations(), lambda _: None)
        self.jobs = JobListener(around)
        self.publisher = Publisher(
            self.cluster, self.live, self.inbox, self.clock, self.metrics, lambda _: True
        )

    def job(self, *finalizers: str, **spec: object) -> LiveJob:
        """Create a RayJob and let the watch see it."""
        manifest = rayjob("train", **spec)
        manifest["metadata"]["finalizers"] = list(finalizers)
        return self.see(self.submit(manifest))

    def submit(self, manifest: Document) -> Document:
        """Create a RayJob and return it as it was made."""
        reply = self.api.create("ray.io/v1/rayjobs", manifest, fieldValidation="Strict")
        assert reply.code == 201, reply
        return dict(reply.body)

    def see(self, manifest: Manifest) -> LiveJob:
        """Let the watch see a RayJob."""
        self.jobs.seen(manifest, self.clock.now())
        found = self.live.job(text(manifest, "metadata", "uid"))
        assert found is not None
        return found

    def now(self, name: str = "train") -> Document:
        """Return the RayJob as it is."""
        return dict(self.cluster.get(RAYJOBS, self.api.namespace, name) or {})

    def publish(self, job: LiveJob, status: Manifest) -> Document:
        """Publish a status and return what the API server then shows."""
        task = self.publisher.offer(job.identity, [status])
        assert task is not None, "there is something to write"
        assert task() is None, "it was written"
        return dict(child(self.now(job.identity.name), "status"))

    def do(self, job: LiveJob, kind: EffectKind, name: str = "", **wanted: str) -> Done:
        """Carry out an effect that was decided on the specification as it is."""
        cause = observation_id(job.identity.stream_id, "a test")
        effect = OpenEffect(
            effect_id=effect_id_of(cause, kind.value, name),
            attempt=1,
            wanted=WantedEffect(kind=kind, name=name, **wanted),
            digest=digest(DOOR.redaction_key, child(job.manifest, "spec")),
        )
        world = World(self.cluster, MemoryRayJobs(self.clock.now), self.live, own_door())
        return act(world, job, effect, NAMES)


def desk_in(server: ApiServer, api: Api) -> Desk:
    """Return a desk in the namespace of `api`."""
    settings = ConnectionSettings(kubeconfig=str(server.kubeconfig("controller")))
    return Desk(api, KubernetesCluster(connect(settings)))
