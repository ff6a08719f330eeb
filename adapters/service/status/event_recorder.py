"""Sends Kubernetes Events for `kubectl describe`.

They are a courtesy: not logged, sent once, dropped when the queue is full or the API server
refuses. Namespaces take turns: those of a tenant with many jobs keep nobody else's waiting, and
where there is no more room theirs are dropped.
"""

import contextlib
import hashlib
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from jobledger.adapters.service.work.rotation import Rotation
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.metrics import Metrics
from jobledger.core.catalogue import JobEvent
from jobledger.core.errors import ClusterError, ObjectExists
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.status.kubernetes_events import KubernetesEvent
from jobledger.core.kinds import AnyKind, JobState
from jobledger.core.ports.cluster import CORE_EVENTS, KUBERNETES_EVENTS, Cluster
from jobledger.core.values.documents import Json
from jobledger.core.values.instants import Instant, rfc3339

log = get_logger(__name__)

QUEUE_MAX = 10_000

NAME_MAX = 253
"""Characters of an object's name; a job's may be as long by itself."""


@dataclass(frozen=True, slots=True)
class _Message:
    kind: AnyKind
    identity: JobIdentity
    at: Instant
    told: KubernetesEvent


class _InTurns(queue.Queue["_Message | None"]):
    """A queue in which namespaces take turns; the mark of the end, None, comes last."""

    def _init(self, maxsize: int) -> None:
        del maxsize
        self._messages: Rotation[_Message] = Rotation()
        self._marks = 0

    def _qsize(self) -> int:
        return len(self._messages) + self._marks

    def _put(self, item: _Message | None) -> None:
        if item is None:
            self._marks += 1
        else:
            self._messages.append(item.identity.namespace, item)

    def offer(self, message: _Message) -> bool:
        """Take a message in; return whether one was dropped for it, of whoever has the most."""
        with self.mutex:
            self._put(message)
            is_full = self._qsize() > self.maxsize
            if is_full:
                self._messages.drop_of_longest()
            else:
                self.unfinished_tasks += 1
            self.not_empty.notify()
        return is_full

    def _get(self) -> _Message | None:
        if (found := self._messages.pop()) is not None:
            return found[1]
        self._marks -= 1
        return None


class EventRecorder:
    """One thread that sends."""

    def __init__(self, cluster: Cluster, metrics: Metrics, instance: str) -> None:
        self._cluster = cluster
        self._metrics = metrics
        self._instance = instance
        self._queue = _InTurns(QUEUE_MAX)
        self._lock = threading.Lock()
        self._stopping = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to send, once."""
        with self._lock:
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
                if self._queue.offer(_Message(kind, identity, event.at, told)):
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
            if message.kind.is_told_in_core_events:
                self._cluster.create(CORE_EVENTS, self._core_manifest(message))
            else:
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
