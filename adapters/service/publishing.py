"""Writing `.status`: level-triggered, newest state first, no phase that users wait for left out.

States that follow each other go out as one write if they are of the same phase. A write is made
only if the status
differs from the last one written; what an older CRD prunes is noticed in the answer and not sent
again. A refusal is final only once the watch says that the object is gone: until then it is tried
again, because
what an API server answers while it restarts means nothing.
"""

import functools
import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from adapters.service.inbox import Inbox
from adapters.service.leftovers import patch_of_leftovers
from adapters.service.live import LiveJob, LiveObjects
from adapters.service.workers import Task
from adapters.telemetry.logging import get_logger
from adapters.telemetry.metrics import Metrics
from core.errors import ClusterError, RequestInvalid, RequestThrottled
from core.jobs.observations import StatusWritten
from core.log.chain import canonical, data_sha
from core.ports.clock import Clock
from core.ports.cluster import RAYJOBS, Cluster
from core.rayjob.observations import JobIdentity
from core.rayjob.status import FIELDS
from core.values.documents import Json, Manifest, child, text
from core.values.ids import StreamId, observation_id

log = get_logger(__name__)

FIELD_MANAGER = "jobledger"
COPY_DELAY_SECONDS = 1.0
"""How long a change of nothing but the copied RayCluster status waits to go out with another."""

PAUSE_FIRST_SECONDS, PAUSE_MAX_SECONDS = 0.25, 30.0
LEASE_PAUSE_SECONDS = 1.0
"""Pause while this process does not trust its lease; it may be renewed, or found lost."""


class _AnotherObject(Exception):
    """A status was written to an object that has the job's name and another UID."""

    def __init__(self, answer: Manifest) -> None:
        self.answer = answer
        super().__init__(text(answer, "metadata", "uid"))


@dataclass(slots=True)
class _Outbox:
    """What is still to be written for one job."""

    identity: JobIdentity
    waiting: deque[Manifest] = field(default_factory=deque)
    not_before: float = 0.0
    """Monotonic instant before which the last of them, a mere copy, need not be written."""
    offered: Manifest | None = None
    """The newest status that was offered."""
    shown: Manifest | None = None
    """The last status written by this process."""
    written: bytes = b""
    """Its canonical form."""
    version: str = ""
    """The resourceVersion it made."""
    failures: int = 0
    task: int = 0
    """Number of the task that is under way; 0: none."""
    resting: bool = False
    """Whether that task waits for `not_before`."""
    retired: bool = False
    """Whether it is to be dropped once nothing waits in it."""


@dataclass(frozen=True, slots=True)
class Publisher:
    """Keeps the outboxes. `offer` is called by the turn, what it returns by the workers."""

    cluster: Cluster
    live: LiveObjects
    inbox: Inbox
    clock: Clock
    metrics: Metrics
    may_act: Callable[[StreamId], bool]
    outboxes: dict[StreamId, _Outbox] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def offer(self, identity: JobIdentity, statuses: list[Manifest]) -> Task | None:
        """Take statuses to be written, in order; return a task for the workers that does it.

        None, if nothing is to be written or an earlier task will do: it is under way, or waits
        after a failure.
        """
        with self.lock:
            box = self.outboxes.setdefault(identity.stream_id, _Outbox(identity))
            box.retired = False
            for status in statuses:
                self._time(box, status)
                last = box.waiting[-1] if box.waiting else None
                if last is not None and self._may_skip(box, last, status):
                    box.waiting.pop()
                box.waiting.append(status)
            self._drop_written(box)
            in_haste = box.resting and not self._early(box)
            if not box.waiting or (box.task and not in_haste):
                return None
            box.task, box.resting = next(self.numbers), False  # one that rests is not waited for
            return functools.partial(self._publish, identity.stream_id, box.task)

    def _may_skip(self, box: _Outbox, last: Manifest, status: Manifest) -> bool:
        """Return whether `last` need not be written, because `status` comes right after it.

        It is of the same phase, or differs from what users see by the copy only.
        """
        if _phase(last) in ("", _phase(status)):
            return True
        shown = box.shown if not box.failures else None
        return shown is not None and _without_copy(shown) == _without_copy(last)

    def _drop_written(self, box: _Outbox) -> None:
        """Drop what is there already; after a failure nobody knows what is."""
        while box.waiting and not box.failures and canonical(box.waiting[0]) == box.written:
            box.waiting.popleft()

    def _early(self, box: _Outbox) -> float:
        """Return for how many seconds a mere copy may still wait for company."""
        early = box.not_before - self.clock.monotonic()
        return early if len(box.waiting) == 1 and early > 0 else 0.0

    def _time(self, box: _Outbox, status: Manifest) -> None:
        """Let what only copies the RayCluster's status wait a moment for company."""
        only_copy = box.offered is not None and _without_copy(box.offered) == _without_copy(status)
        idle = not box.waiting
        if not only_copy:
            box.not_before = 0.0
        elif idle:
            box.not_before = self.clock.monotonic() + COPY_DELAY_SECONDS
        box.offered = status

    def forget(self, stream: StreamId) -> None:
        """Drop the outbox of a job that is gone."""
        with self.lock:
            self.outboxes.pop(stream, None)

    def retire(self, stream: StreamId) -> None:
        """Drop the outbox of a job in which nothing is left to do, once it is empty."""
        with self.lock:
            box = self.outboxes.get(stream)
            if box is not None:
                box.retired = True
                self._drop_if_done(box)

    def streams(self) -> list[StreamId]:
        """Return the jobs that have an outbox."""
        with self.lock:
            return list(self.outboxes)

    def _publish(self, stream: StreamId, task: int) -> float | None:
        """Write what waits.

        Returns the pause before another try, or None if there is nothing left.
        """
        while True:
            with self.lock:
                box = self.outboxes.get(stream)
                if box is None or box.task != task:
                    return None
                self._drop_written(box)
                if not box.waiting:
                    box.task = 0
                    self._drop_if_done(box)
                    return None
                early = self._early(box)
                box.resting = early > 0
                if box.resting:
                    return early
                status = box.waiting[0]
            if not self.may_act(stream):
                return LEASE_PAUSE_SECONDS
            pause = self._write(box, status)
            if pause is not None:
                return pause

    def _drop_if_done(self, box: _Outbox) -> None:
        stream = box.identity.stream_id
        if box.retired and not box.waiting and self.outboxes.get(stream) is box:
            del self.outboxes[stream]

    def _write(self, box: _Outbox, status: Manifest) -> float | None:
        job = self.live.job(box.identity.uid)
        if job is None:
            self._over(box, "object_gone")
            return None
        if not box.written and not box.failures and _shows(job, status):
            self._note_written(box, status)
            return None
        try:
            answer = self._apply(box, job, status)
        except _AnotherObject as error:
            self._take_back(error.answer)
            self._over(box, "object_gone")
            return None
        except RequestInvalid as error:
            return None if self._passed_over(box, status) else self._failed(box, error)
        except ClusterError as error:
            return self._failed(box, error)
        except Exception as error:  # a bug of ours must not end the writing of this status for good
            log.exception("status_broken", stream=str(box.identity.stream_id))
            return self._failed(box, error)
        self.metrics.status_writes.labels("written").inc()
        self._note_written(box, status)
        version = box.version = text(answer, "metadata", "resourceVersion")
        written = StatusWritten(
            id=observation_id(box.identity.stream_id, "status written", version),
            at=self.clock.now(),
            phase=_phase(status),
            resource_version=version,
            status_sha=data_sha(status).hex(),
        )
        self.inbox.put(box.identity.stream_id, written)
        return None

    def _note_written(self, box: _Outbox, status: Manifest) -> None:
        with self.lock:
            box.shown, box.written, box.failures = status, canonical(status), 0
            if box.waiting and box.waiting[0] is status:
                box.waiting.popleft()

    def _apply(self, box: _Outbox, job: LiveJob, status: Manifest) -> Manifest:
        """Apply the status.

        Fields of other writers that should be empty are then cleared by a patch.

        Raises:
            _AnotherObject: by now another object has the name, and got the status.
        """
        identity = box.identity
        metadata: dict[str, Json] = {"name": identity.name, "namespace": identity.namespace}
        if box.written and not job.guarded:
            metadata["resourceVersion"] = _newer(job.version, box.version)
        manifest: dict[str, Json] = {
            "apiVersion": RAYJOBS.api_version,
            "kind": RAYJOBS.kind,
            "metadata": {**metadata, "uid": identity.uid},
            "status": status,
        }
        answer = self.cluster.apply(
            RAYJOBS, manifest, field_manager=FIELD_MANAGER, subresource="status"
        )
        if text(answer, "metadata", "uid") != identity.uid:
            raise _AnotherObject(answer)
        shown = {key: value for key, value in child(answer, "status").items() if key in FIELDS}
        left = patch_of_leftovers(shown, status)
        if not left:
            return answer
        patch: dict[str, Json] = {
            "metadata": {"resourceVersion": text(answer, "metadata", "resourceVersion")},
            "status": left,
        }
        return self.cluster.merge_patch(
            RAYJOBS, identity.namespace, identity.name, patch, subresource="status"
        )

    def _take_back(self, answer: Manifest) -> None:
        """Empty the status of an object that got the one of its predecessor of the same name.

        Source: an API server takes no notice of a UID in what is applied to a status.
        """
        uid, version = text(answer, "metadata", "uid"), text(answer, "metadata", "resourceVersion")
        namespace, name = text(answer, "metadata", "namespace"), text(answer, "metadata", "name")
        log.warning("status_on_another_object", job=f"{namespace}/{name}", uid=uid)
        patch: dict[str, Json] = {
            "metadata": {"resourceVersion": version},
            "status": dict.fromkeys(child(answer, "status")),
        }
        with self.lock:
            for box in self.outboxes.values():
                if box.identity.uid == uid:
                    box.written, box.shown = b"", None
        try:
            self.cluster.merge_patch(RAYJOBS, namespace, name, patch, subresource="status")
        except ClusterError as error:
            log.warning("status_not_taken_back", job=f"{namespace}/{name}", error=str(error))

    def _passed_over(self, box: _Outbox, status: Manifest) -> bool:
        """Drop a status that the API server will never take, if a newer one waits behind it."""
        with self.lock:
            if len(box.waiting) < 2 or box.waiting[0] is not status:  # noqa: PLR2004 a newer one
                return False
            box.waiting.popleft()
        self.metrics.status_writes.labels("refused").inc()
        return True

    def _failed(self, box: _Outbox, error: Exception) -> float:
        self.metrics.status_writes.labels("failed").inc()
        box.failures += 1
        log.warning(
            "status_not_written",
            job=f"{box.identity.namespace}/{box.identity.name}",
            error=str(error),
            failures=box.failures,
        )
        pause = min(PAUSE_FIRST_SECONDS * (1 << min(box.failures, 16)), PAUSE_MAX_SECONDS)
        if isinstance(error, RequestThrottled) and error.retry_after_seconds is not None:
            return max(pause, error.retry_after_seconds)
        return pause

    def _over(self, box: _Outbox, outcome: str) -> None:
        self.metrics.status_writes.labels(outcome).inc()
        with self.lock:
            box.waiting.clear()


def _without_copy(status: Manifest) -> dict[str, Json]:
    return {key: value for key, value in status.items() if key != "rayClusterStatus"}


def _shows(job: LiveJob, status: Manifest) -> bool:
    """Return whether an object already shows a status: after a start most do.

    Asked of the object as the watch last told it whole; later versions are not kept.
    """
    manifest = job.manifest
    if text(manifest, "metadata", "resourceVersion") != job.version:
        return False
    shown = child(manifest, "status")
    return all(shown.get(name) == status.get(name) for name in FIELDS)


def _newer(one: str, other: str) -> str:
    """Return the newer of two resourceVersions; the first if they cannot be compared."""
    comparable = one.isdigit() and other.isdigit()
    return other if comparable and int(other) > int(one) else one


def _phase(status: Manifest) -> str:
    return text(status, "jobDeploymentStatus")
