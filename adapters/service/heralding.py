"""Sending Kubernetes Events: what happened, for whoever reads `kubectl describe`.

They are a courtesy: not logged, sent once, dropped when the queue is full or the API server
refuses.
"""

import contextlib
import hashlib
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.telemetry.logging import get_logger
from adapters.telemetry.metrics import Metrics
from core.errors import ClusterError, ObjectExists
from core.ports.cluster import KUBERNETES_EVENTS, RAYJOBS, Cluster
from core.rayjob.events import RayJobEvent
from core.rayjob.kubernetes_events import KubernetesEvent, kubernetes_events
from core.rayjob.observations import JobIdentity
from core.values.documents import Json
from core.values.instants import Instant

log = get_logger(__name__)

QUEUE_MAX = 10_000
REPORTING_CONTROLLER = "rayjob-controller"
"""As upstream names itself, so that dashboards and filters keep working."""


@dataclass(frozen=True, slots=True)
class _Message:
    identity: JobIdentity
    at: Instant
    told: KubernetesEvent


class Herald:
    """One thread that sends."""

    def __init__(self, cluster: Cluster, metrics: Metrics, instance: str) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._instance = instance
        self._queue: queue.Queue[_Message | None] = queue.Queue(QUEUE_MAX)
        self._lock = threading.Lock()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to send, once."""
        with self._lock:
            if self._thread is None and not self._stopping:
                self._thread = threading.Thread(target=self._run, name="herald", daemon=True)
                self._thread.start()

    def announce(self, identity: JobIdentity, events: Sequence[RayJobEvent]) -> None:
        """Send what users are told of events; never waits."""
        for event in events:
            for told in kubernetes_events(identity, event):
                try:
                    self._queue.put_nowait(_Message(identity, event.at, told))
                except queue.Full:
                    self._metrics.kubernetes_events.labels("dropped").inc()

    def stop(self, timeout_seconds: float = 5.0) -> None:
        """Send what is queued, for a while, and end."""
        with self._lock:
            self._stopping = True
            thread = self._thread
        if thread is None:
            return
        self._end_of_queue()
        thread.join(timeout_seconds)

    def _end_of_queue(self) -> None:
        """Put the mark of the end behind what is queued; a full queue loses its oldest."""
        while True:
            try:
                self._queue.put_nowait(None)
            except queue.Full:
                with contextlib.suppress(queue.Empty):
                    self._queue.get_nowait()
                    self._metrics.kubernetes_events.labels("dropped").inc()
            else:
                return

    def _run(self) -> None:
        while (message := self._queue.get()) is not None:
            self._send(message)

    def run_once(self) -> bool:
        """Send one of those that are queued; return whether there was one."""
        try:
            message = self._queue.get_nowait()
        except queue.Empty:
            return False
        if message is not None:
            self._send(message)
        return message is not None

    def _send(self, message: _Message) -> None:
        try:
            self._cluster.create(KUBERNETES_EVENTS, self._manifest(message))
        except ObjectExists:
            self._metrics.kubernetes_events.labels("already").inc()
        except ClusterError as error:
            self._metrics.kubernetes_events.labels("refused").inc()
            log.debug("kubernetes_event_refused", error=str(error))
        except Exception:  # a courtesy that cannot be put into words must not silence the others
            self._metrics.kubernetes_events.labels("refused").inc()
            log.exception("kubernetes_event_broken", reason=message.told.reason)
        else:
            self._metrics.kubernetes_events.labels("sent").inc()

    def _manifest(self, message: _Message) -> dict[str, Json]:
        identity, told = message.identity, message.told
        at = message.at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        mark = f"{identity.uid}\x1f{told.reason}\x1f{told.note}\x1f{at}"
        suffix = hashlib.sha256(mark.encode()).hexdigest()[:16]
        return {
            "apiVersion": KUBERNETES_EVENTS.api_version,
            "kind": "Event",
            "metadata": {"namespace": identity.namespace, "name": f"{identity.name}.{suffix}"},
            "eventTime": at,
            "reportingController": REPORTING_CONTROLLER,
            "reportingInstance": self._instance[:128],
            "action": told.action,
            "reason": told.reason,
            "type": told.type,
            "note": told.note,
            "regarding": {
                "apiVersion": RAYJOBS.api_version,
                "kind": RAYJOBS.kind,
                "namespace": identity.namespace,
                "name": identity.name,
                "uid": identity.uid,
            },
        }
