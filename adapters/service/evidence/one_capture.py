"""Asks for everything that is known of one failure at once, by a deadline.

What has not come by then is recorded as missing. A silent Pod holds up nobody for longer than that;
its thread ends by the transport's own limit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from jobledger.adapters.service.evidence.captured import Found, RawLog, kept_logs, told_by_ray
from jobledger.adapters.service.evidence.own_pods import own_pods, own_uid
from jobledger.adapters.service.evidence.run_log import RunLog
from jobledger.adapters.service.objects.declared_secrets import secrets_of_pods
from jobledger.adapters.service.objects.head_tokens import read_token
from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.adapters.service.work.turn_pool import TurnPool
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import JobledgerError, LedgerError, ObjectChanged
from jobledger.core.jobs.evidence.evidence import (
    LOG_BYTES_MAX,
    LOGS_MAX,
    TIME_MAX,
    ContainerEnd,
    Missing,
    PodEvidence,
    RayEvidence,
    SeenKubernetesEvent,
)
from jobledger.core.jobs.evidence.pods import (
    came_after,
    kubernetes_events_kept,
    log_end,
    pods_kept,
    trouble,
    waits_quietly,
)
from jobledger.core.jobs.evidence.scene import SceneObject
from jobledger.core.jobs.evidence.untouched import missing_pods_of
from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.log.redaction.redact import LateSecrets
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import PODS, Cluster
from jobledger.core.ports.evidence import EvidenceStore, PodWitness
from jobledger.core.ports.ray_jobs import RayJobs
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

EVENTS_ABOUT_PODS_MAX = 4
"""Pods about which Kubernetes Events are asked for, those in the greatest trouble."""

WHY_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureParts:
    """What capturing needs."""

    cluster: Cluster
    witness: PodWitness
    ray: RayJobs
    live: ObjectCache
    store: EvidenceStore
    inbox: Inbox
    clock: Clock
    limit: timedelta = TIME_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Of what evidence is captured."""

    stream: StreamId
    job: CachedJob
    attempt: int
    occasion: str
    kind: str
    """Kind of the object that goes, or ran."""
    name: str
    """Its name; empty: only the head is asked."""
    uid: str = ""
    """Its UID, as the log knows it; empty if it does not."""
    address: str = ""
    """`host:port` of the head; empty: it is not asked."""
    job_id: str = ""
    is_well: bool = False
    """Unless a Pod says otherwise: the program has ended by itself, or somebody ends it while it
    runs, and this is not why."""
    began: Instant | None = None
    """When the Ray job did, if it is known."""
    warned_of: tuple[SceneObject, ...] = ()
    """What keeps Pods from being created: the object itself, or Jobs of it."""
    is_untouched: bool = False
    """Whether no controller has taken the object up: nothing but that can be said of it."""
    pod: Manifest | None = None
    """The one Pod that is looked at, as it was seen, and is the job's own; None: all of them."""


class Capture:
    """One capture."""

    def __init__(self, parts: CaptureParts, pool: TurnPool[None], scene: Scene) -> None:
        self._parts = parts
        self._pool = pool
        self._scene = scene
        self._found = Found()
        self._uid = ""
        known = parts.live.job(scene.job.identity.uid)
        self._redactor = known.redactor if known is not None else scene.job.redactor
        self._until = parts.clock.monotonic() + parts.limit.total_seconds()

    def made(self) -> EvidenceSeen:
        """Return the observation."""
        began = self._parts.clock.monotonic()
        if self._scene.pod is not None:
            self._take([self._scene.pod])
            self._ask(dict(self._questions_about_logs(self._found.pods)))
        else:
            self._ask_about_all()
        with self._found.lock:
            self._found.is_over = True
        return self._observation(began)

    def _ask_about_all(self) -> None:
        if self._scene.is_untouched:
            untouched = missing_pods_of(self._scene.kind, self._scene.name)
            self._miss(untouched.what, untouched.why)
            return
        if self._scene.name:
            self._ask({"Pods": self._find_own})
        self._ask(dict(self._first_questions()))
        if self._uid:
            self._ask(dict(self._questions_about_pods()))

    def _ask(self, questions: Mapping[str, Callable[[], None]]) -> None:
        """Ask all at once; what has not come by the deadline is missing."""
        namespace = self._scene.job.identity.namespace
        asked: dict[Future[None], str] = {
            self._pool.submit(namespace, partial(self._answered, what, question)): what
            for what, question in questions.items()
        }
        left = max(0.0, self._until - self._parts.clock.monotonic())
        _, late = wait(asked, timeout=left)
        seconds = self._parts.limit.total_seconds()
        for future in late:
            future.cancel()
            self._miss(asked[future], f"no answer within {seconds:g} s")

    def _answered(self, what: str, question: Callable[[], None]) -> None:
        try:
            question()
        except (JobledgerError, LedgerError) as error:
            self._miss(what, str(error))
        except Exception as error:  # a bug of ours must not look like silence of the Pod
            log.exception("evidence_question_broken", what=what)
            self._miss(what, f"an internal error ({type(error).__name__})")

    def _miss(self, what: str, why: str) -> None:
        with self._found.lock:
            if not self._found.is_over:
                self._found.missing.setdefault(what, why)

    def _first_questions(self) -> Iterator[tuple[str, Callable[[], None]]]:
        scene = self._scene
        if self._uid:
            yield "Pods", self._pods
        if self._uid and not scene.is_well:
            yield self._about_the_whole()
        for one in scene.warned_of:
            if one.kind not in (scene.kind, PODS.kind):
                yield self._about(one.kind, one.name, one.uid)
        if scene.address and scene.job_id:
            yield "the Ray job", self._ray
            yield "log of the driver", self._driver_log

    def _about_the_whole(self) -> tuple[str, Callable[[], None]]:
        return self._about(self._scene.kind, self._scene.name, self._uid)

    def _about(self, kind: str, name: str, uid: str) -> tuple[str, Callable[[], None]]:
        return f"Events of {kind} {name}", partial(self._events, kind, name, uid)

    def _questions_about_pods(self) -> Iterator[tuple[str, Callable[[], None]]]:
        pods = self._found.pods
        if self._scene.is_well and any(self._is_odd(pod) for pod in pods):
            yield self._about_the_whole()
        for pod in pods[:EVENTS_ABOUT_PODS_MAX]:
            if trouble(pod) or waits_quietly(pod):
                yield self._about("Pod", pod.name, pod.uid)
        yield from self._questions_about_logs(self._worth_a_log(pods))

    def _questions_about_logs(
        self, pods: Iterable[PodEvidence]
    ) -> Iterator[tuple[str, Callable[[], None]]]:
        for pod in pods:
            container = worst_container(pod)
            if container is not None:
                yield f"log of Pod {pod.name}", partial(self._pod_log, pod, container)

    def _is_odd(self, pod: PodEvidence) -> bool:
        return trouble(pod) > 0 or came_after(pod, self._scene.began)

    def _worth_a_log(self, pods: Sequence[PodEvidence]) -> Sequence[PodEvidence]:
        """Return the Pods whose logs are kept: in trouble; all, if no head has the driver's."""
        worth = [pod for pod in pods if trouble(pod) or self._scene.kind != "RayCluster"]
        return worth[: LOGS_MAX - 1]

    def _find_own(self) -> None:
        """Find out which object of the name is the job's own: nothing is asked of another."""
        parts, scene = self._parts, self._scene
        kind, name = scene.kind, scene.name
        self._uid = own_uid(parts.cluster, parts.live, scene.job, kind, name, scene.uid)
        if not self._uid:
            self._miss("Pods", f"{kind} {name} is not there, or not the job's own")

    def _pods(self) -> None:
        scene, parts = self._scene, self._parts
        about = SceneObject(kind=scene.kind, name=scene.name, uid=self._uid)
        self._take(own_pods(parts.cluster, parts.live, scene.job.identity.namespace, about))

    def _take(self, pods: Sequence[Manifest]) -> None:
        """Keep what Pods say, and learn first what they declare."""
        self._learn(secrets_of_pods(pods))
        kept = pods_kept(pods, self._scrub)
        with self._found.lock:
            if not self._found.is_over:
                self._found.pods = kept

    def _events(self, kind: str, name: str, uid: str) -> None:
        namespace = self._scene.job.identity.namespace
        named = self._parts.witness.events_about(namespace, kind, name)
        told = [event for event in named if text(event, "involvedObject", "uid") == uid]
        with self._found.lock:
            if not self._found.is_over:
                self._found.events += told

    def _ray(self) -> None:
        scene = self._scene
        info = self._parts.ray.info(scene.address, scene.job_id, self._token())
        told = RayEvidence(
            job_id=scene.job_id,
            status=info.status,
            message=info.message,
            error_type=info.error_type,
            exit_code=info.exit_code,
        )
        with self._found.lock:
            if not self._found.is_over:
                self._found.ray = told

    def _driver_log(self) -> None:
        scene = self._scene
        content = self._parts.ray.log_tail(scene.address, scene.job_id, self._token())
        self._keep("driver", "", *log_end(content))

    def _token(self) -> str:
        parts = self._parts
        return read_token(parts.cluster, parts.live, self._scene.job, self._scene.address)

    def _pod_log(self, pod: PodEvidence, container: ContainerEnd) -> None:
        parts, namespace = self._parts, self._scene.job.identity.namespace

        def look() -> Manifest | None:
            there = parts.cluster.get(PODS, namespace, pod.name)
            if there is not None and text(there, "metadata", "uid") != pod.uid:
                # A log is asked for by name: what was read may be that one's.
                raise ObjectChanged("another Pod has its name by now")
            return there

        run = RunLog(
            read=partial(parts.witness.pod_log, namespace, pod.name, container.name),
            run=container,
            look=look,
            keep=partial(self._keep, pod.name, container.name),
        )
        if lost := run.kept():
            self._miss(f"log of Pod {pod.name} before {container.name} was started again", lost)

    def _keep(self, source: str, container: str, end: str, cut: bool) -> None:  # noqa: FBT001 as `log_end` says it
        with self._found.lock:
            if not self._found.is_over:
                about = source, container
                others = (one for one in self._found.logs if (one.source, one.container) != about)
                self._found.logs = [*others, RawLog(source, container, end, cut)]

    def _learn(self, secrets: frozenset[str]) -> None:
        """Let the job's redactor know what its Pods declare, whoever put it there."""
        uid = self._scene.job.identity.uid
        more = LateSecrets.of(secrets)
        job = self._parts.live.learn(uid, more)
        self._redactor = (self._redactor if job is None else job.redactor).learning(more)

    def _scrub(self, content: str) -> str:
        return self._redactor.text(content, LOG_BYTES_MAX) if content else ""

    def _observation(self, began: float) -> EvidenceSeen:
        """Return what came, redacted with all that is known by now."""
        scene, found = self._scene, self._found
        events: tuple[SeenKubernetesEvent, ...] = kubernetes_events_kept(found.events, self._scrub)
        logs = sorted(
            kept_logs(found, self._redactor, self._parts.store, self._parts.clock.now()),
            key=lambda kept: (kept.source != "driver", kept.source),
        )
        missing = (
            Missing(what=what, why=self._scrub(why)[:WHY_CHARACTERS_MAX])
            for what, why in found.missing.items()
        )
        return EvidenceSeen(
            id=observation_id(scene.stream, "evidence", scene.occasion),
            at=self._parts.clock.now(),
            attempt=scene.attempt,
            occasion=scene.occasion,
            pods=found.pods,
            logs=tuple(logs),
            kubernetes_events=events,
            ray=told_by_ray(found.ray, self._redactor),
            missing=tuple(missing),
            took_milliseconds=round((self._parts.clock.monotonic() - began) * 1000),
        )


def worst_container(pod: PodEvidence) -> ContainerEnd | None:
    """Return the container whose log is kept: one that ended badly, else one that ran."""
    ended = [one for one in pod.containers if one.exit_code not in (None, 0)]
    ran = [one for one in pod.containers if one.state != "waiting"]
    return next(iter((*ended, *ran)), None)
