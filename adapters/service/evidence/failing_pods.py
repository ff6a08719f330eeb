"""Has Pods looked at the moment they are seen to fail or to go, and jobs that their user deletes.

Every change of a watched Pod passes here, so all but those in trouble are passed over at once
(`core.jobs.evidence.pod_failures`), and only of these something is kept: for whoever takes their
job over. Looks are taken by threads of their own, at which namespaces take turns: a kubelet that
hangs holds up neither a watch nor an effect.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from jobledger.adapters.service.evidence.capture import Capturer, SeenPod
from jobledger.adapters.service.objects.kept_children import CachedChild
from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.objects.packing import pack, unpack
from jobledger.adapters.service.work.slots import Slots
from jobledger.adapters.service.work.turn_pool import TurnPool
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import JobledgerError
from jobledger.core.jobs.evidence.pod_failures import trouble_of
from jobledger.core.jobs.evidence.scene import SceneObject
from jobledger.core.kinds import JobState, kind_of
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.ids import StreamId

log = get_logger(__name__)

LOOKS_AT_ONCE = 4
"""Pods that are looked at at once, of all jobs together."""

KEPT_MAX = 1000
"""Pods in trouble that are kept, those that were seen last; packed, a Pod has two or three kB."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A Pod in trouble of a job."""

    job_uid: str
    about: SceneObject
    packed: bytes


class FailingPods:
    """Takes in what watches tell of Pods. Safe to call from many threads."""

    def __init__(
        self,
        capturer: Capturer,
        live: ObjectCache,
        slots: Slots,
        kept_as: Mapping[Resource, tuple[str, ...]],
        pool: TurnPool[None] | None = None,
    ) -> None:
        """`kept_as` tells as what objects that have Pods are kept, of all kinds of job.

        `pool` takes the looks; None: one of its own.
        """
        self._capturer, self._live, self._slots = capturer, live, slots
        self._kept_as = kept_as
        self._pool = pool or TurnPool[None](LOOKS_AT_ONCE, "failing-pods")
        self._not_looked_at = Repeated(log, "pod_not_looked_at", time.monotonic)
        self.resources = tuple(kept_as)
        """Objects of these have Pods that are to be watched."""
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        """By UID."""
        self._of_jobs: dict[str, set[str]] = {}
        """UID of a job -> those of its Pods that are kept."""
        self._waiting: dict[str, _Kept] = {}
        """Pods that are to be looked at, though they may be gone by then."""

    def seen(self, resource: Resource, manifest: Manifest) -> None:
        """Take in a Pod, of whatever, by the label that Pods of a resource have."""
        if trouble_of(manifest) is None:
            return
        name = text(manifest, "metadata", "labels", resource.pod_label)
        owner, job = self._owner(resource, text(manifest, "metadata", "namespace"), name)
        if owner is None or job is None or self._slots.finished(job.identity.stream_id):
            return
        about = SceneObject(kind=resource.kind, name=name, uid=owner.uid)
        uid = text(manifest, "metadata", "uid")
        pod = _Kept(job.identity.uid, about, pack(manifest))
        self._keep(uid, pod)
        self._have_looked_at(uid, pod, job)

    def gone(self, uid: str) -> None:
        """Forget a Pod."""
        with self._lock:
            self._forget(uid)

    def resume(self, job_uid: str) -> None:
        """Look at Pods of a job that is worked on here from now on."""
        job = self._live.job(job_uid)
        with self._lock:
            pods = {uid: self._kept[uid] for uid in self._of_jobs.get(job_uid, ())}
        for uid, pod in pods.items():
            if job is not None:
                self._have_looked_at(uid, pod, job)

    def job_gone(self, job: CachedJob) -> None:
        """Look at what is left of a job whose object is gone, unless it had ended."""
        stream = job.identity.stream_id
        state = self._slots.state(stream)
        if state is None or kind_of(state).is_final(state) or state.deleted_at is not None:
            return
        look = partial(self._capturer.after_deletion, stream, job, state)
        self._pool.submit(job.identity.namespace, partial(self._logged, stream, look))

    def stop(self) -> None:
        """End; looks under way are left to their own limits."""
        self._pool.stop()

    def _owner(
        self, resource: Resource, namespace: str, name: str
    ) -> tuple[CachedChild | None, CachedJob | None]:
        """Return the object of that name, and the job that it belongs to."""
        for kind in self._kept_as[resource]:
            child = self._live.child_named(kind, namespace, name)
            job = self._live.owner_of(child) if child is not None else None
            if job is not None:
                return child, job
        return None, None

    def _keep(self, uid: str, pod: _Kept) -> None:
        with self._lock:
            self._forget(uid)
            self._kept[uid] = pod
            self._of_jobs.setdefault(pod.job_uid, set()).add(uid)
            while len(self._kept) > KEPT_MAX:
                self._forget(next(iter(self._kept)))

    def _forget(self, uid: str) -> None:
        kept = self._kept.pop(uid, None)
        if kept is None:
            return
        others = self._of_jobs[kept.job_uid]
        others.discard(uid)
        if not others:
            del self._of_jobs[kept.job_uid]

    def _have_looked_at(self, uid: str, pod: _Kept, job: CachedJob) -> None:
        with self._lock:
            is_waiting = uid in self._waiting
            self._waiting[uid] = pod
        if not is_waiting:
            stream, look = job.identity.stream_id, partial(self._look, uid, job)
            self._pool.submit(job.identity.namespace, partial(self._logged, stream, look))

    def _look(self, uid: str, job: CachedJob) -> None:
        stream = job.identity.stream_id
        with self._lock:
            pod = self._waiting.pop(uid)
        state = self._slots.state(stream)
        if state is not None and _is_of_present(job, state, pod.about):
            self._capturer.of_pod(stream, job, state, SeenPod(pod.about, unpack(pod.packed)))

    def _logged(self, stream: StreamId, look: Callable[[], None]) -> None:
        """Look; what keeps it from that may have passed at the next change of the Pod."""
        try:
            look()
        except JobledgerError as error:
            self._not_looked_at.warn_of_one(error, stream=str(stream))
        except Exception:  # a bug of ours must not look as if nothing had failed
            log.exception("pod_look_broken", stream=str(stream))


def _is_of_present(job: CachedJob, state: JobState, about: SceneObject) -> bool:
    """Return whether an object is of the attempt that is under way, of a job that goes on."""
    kind = kind_of(state)
    if kind.is_final(state) or state.deleted_at is not None:
        return False
    return kind.evidence.object_of(job.identity, state, about) is not None
