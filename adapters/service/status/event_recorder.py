"""Sends Kubernetes Events for `kubectl describe`.

They are a courtesy: not logged, sent once, dropped when the queue is full or the API server
refuses. Namespaces take turns: those of a tenant with many jobs keep nobody else's waiting, and
where there is no more room theirs are dropped. Where one takes long, as a webhook can make it, the
namespace waits for its next turn.
"""

import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from jobledger.adapters.service.work.rotation import Rotation
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.catalogue import JobEvent
from jobledger.core.errors import ClusterError, ObjectExists, RequestForbidden
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.status.kubernetes_events import KubernetesEvent
from jobledger.core.kinds import AnyKind, JobState
from jobledger.core.ports.clock import Clock
from jobledger.core.ports.cluster import CORE_EVENTS, KUBERNETES_EVENTS, Cluster
from jobledger.core.values.documents import Json
from jobledger.core.values.instants import Instant, rfc3339

log = get_logger(__name__)

QUEUE_MAX = 10_000

SLOW_SECONDS = 5.0
"""One that took longer makes its namespace wait for its next turn; an API server that is only busy
is quicker."""
REST_FACTOR = 10.0
"""So many times as long as that one took it waits: others wait for a call of its seldom."""

IS_ENDING = "because it is being terminated"
"""What the API server says of a new object in a namespace that is being deleted, with 403.
Source: Kubernetes, the admission plug-in NamespaceLifecycle.
"""

NAME_MAX = 253
"""Characters of an object's name; a job's may be as long by itself."""


@dataclass(frozen=True, slots=True)
class _Message:
    kind: AnyKind
    identity: JobIdentity
    at: Instant
    told: KubernetesEvent


class EventRecorder:
    """One thread that sends."""

    def __init__(self, cluster: Cluster, metrics: Metrics, instance: str, clock: Clock) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._instance = instance
        self._clock = clock
        self._refused = Repeated(log, "kubernetes_events_refused", clock.monotonic)
        self._ready = threading.Condition()
        self._waiting: Rotation[_Message] = Rotation()
        self._resting: dict[str, float] = {}
        """Namespace -> the monotonic instant until which it waits for its next turn."""
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to send, once."""
        with self._ready:
            if self._thread is None and not self._stopping:
                self._thread = threading.Thread(target=self._run, name="herald", daemon=True)
                self._thread.start()

    def announce(
        self,
        identity: JobIdentity,
        events: Sequence[JobEvent],
        kind: AnyKind,
        before: JobState,
    ) -> None:
        """Send what users are told of events, whatever was before; never waits."""
        del before
        for event in events:
            for told in kind.kubernetes_events(identity, event):
                self._take_in(_Message(kind, identity, event.at, told))

    def _take_in(self, message: _Message) -> None:
        """Take one in; where there is no more room, drop one of whoever has the most."""
        with self._ready:
            self._waiting.append(message.identity.namespace, message)
            if len(self._waiting) > QUEUE_MAX:
                self._waiting.drop_of_longest()
                self._metrics.kubernetes_events.labels("dropped").inc()
            self._ready.notify()

    def stop(self, timeout_seconds: float = 5.0) -> None:
        """Send what is queued, for a while, and end."""
        with self._ready:
            self._stopping = True
            thread = self._thread
            self._ready.notify()
        if thread is not None:
            thread.join(timeout_seconds)

    def _run(self) -> None:
        while (message := self._awaited()) is not None:
            self._send(message)

    def run_once(self) -> bool:
        """Send one of those that are queued; return whether there was one."""
        with self._ready:
            message = self._next()
        if message is not None:
            self._send(message)
        return message is not None

    def _awaited(self) -> _Message | None:
        """Wait for the next to be sent; None once all are and it is to end."""
        with self._ready:
            while True:
                if (message := self._next()) is not None:
                    return message
                if self._stopping:
                    return None
                waits = min(self._resting.values(), default=0.0) - self._clock.monotonic()
                self._ready.wait(max(waits, 0.0) if len(self._waiting) else None)

    def _next(self) -> _Message | None:
        """Return whose turn it is; those of a namespace that rests go out last, at the end."""
        now = self._clock.monotonic()
        self._resting = {one: until for one, until in self._resting.items() if until > now}
        found = self._waiting.pop(lambda namespace: namespace not in self._resting)
        if found is None and self._stopping:
            found = self._waiting.pop()
        return found[1] if found is not None else None

    def _send(self, message: _Message) -> None:
        begun = self._clock.monotonic()
        self._create(message)
        took = self._clock.monotonic() - begun
        if took > SLOW_SECONDS:
            with self._ready:
                self._resting[message.identity.namespace] = begun + took * (1 + REST_FACTOR)

    def _create(self, message: _Message) -> None:
        try:
            if message.kind.is_told_in_core_events:
                self._cluster.create(CORE_EVENTS, self._core_manifest(message))
            else:
                self._cluster.create(KUBERNETES_EVENTS, self._manifest(message))
        except ObjectExists:
            self._metrics.kubernetes_events.labels("already").inc()
        except ClusterError as error:
            self._metrics.kubernetes_events.labels("refused").inc()
            self._tell_refused(error, message)
        except Exception:  # a courtesy that cannot be put into words must not silence the others
            self._metrics.kubernetes_events.labels("refused").inc()
            log.exception("kubernetes_event_broken", reason=message.told.reason)
        else:
            self._metrics.kubernetes_events.labels("sent").inc()

    def _tell_refused(self, error: ClusterError, message: _Message) -> None:
        """Say once a minute in which namespace somebody refuses Events: nothing else shows it.

        Of a namespace that is being deleted it is no news.
        """
        namespace = message.identity.namespace
        if isinstance(error, RequestForbidden) and IS_ENDING not in str(error):
            self._refused.warn_of_one(error, namespace=namespace)
        else:
            log.debug("kubernetes_event_refused", error=str(error))

    def _manifest(self, message: _Message) -> dict[str, Json]:
        told = message.told
        return {
            "apiVersion": KUBERNETES_EVENTS.api_version,
            "kind": "Event",
            "metadata": _metadata(message),
            "eventTime": _micro(message.at),
            "reportingController": message.kind.reporting_controller,
            "reportingInstance": self._instance[:128],
            "action": told.action,
            "reason": told.reason,
            "type": told.type,
            "note": told.note,
            "regarding": _regarding(message),
        }

    def _core_manifest(self, message: _Message) -> dict[str, Json]:
        """Return the event in the older form, with first and last instant.

        The Kubeflow SDK passes over those without.
        """
        told = message.told
        return {
            "apiVersion": CORE_EVENTS.api_version,
            "kind": "Event",
            "metadata": _metadata(message),
            "involvedObject": _regarding(message),
            "type": told.type,
            "reason": told.reason,
            "message": told.note,
            "action": told.action,
            "count": 1,
            "firstTimestamp": rfc3339(message.at),
            "lastTimestamp": rfc3339(message.at),
            "eventTime": _micro(message.at),
            "source": {"component": message.kind.reporting_controller},
            "reportingComponent": message.kind.reporting_controller,
            "reportingInstance": self._instance[:128],
        }


def _micro(at: Instant) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _metadata(message: _Message) -> dict[str, Json]:
    """Return namespace and name; the name follows from what is said, so nothing is told twice."""
    identity, told = message.identity, message.told
    mark = f"{identity.uid}\x1f{told.reason}\x1f{told.note}\x1f{_micro(message.at)}"
    suffix = hashlib.sha256(mark.encode()).hexdigest()[:16]
    begins = identity.name[: NAME_MAX - len(suffix) - 1].rstrip("-.")
    return {"namespace": identity.namespace, "name": f"{begins}.{suffix}"}


def _regarding(message: _Message) -> dict[str, Json]:
    identity, resource = message.identity, message.kind.resource
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "namespace": identity.namespace,
        "name": identity.name,
        "uid": identity.uid,
    }
