"""Captures evidence before every deletion and when an attempt has failed.

Bounded in time: everything is asked for at once (`Capture`). Nothing is captured twice: what the
log has already is not asked for again.
"""

import threading
from dataclasses import replace

from jobledger.adapters.service.evidence.one_capture import Capture, CaptureParts, Scene
from jobledger.adapters.service.evidence.own_pods import own_pods, own_uid
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.work.turn_pool import TurnPool
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.jobs.evidence.pods import pods_kept, trouble
from jobledger.core.jobs.evidence.scene import SceneObject, waiting_occasion
from jobledger.core.jobs.pending.effects import OpenEffect
from jobledger.core.kinds import JobState, kind_of
from jobledger.core.values.ids import StreamId

log = get_logger(__name__)

THREADS = 8
"""Questions that may be open at once, of all jobs together; namespaces take turns at them."""

OCCASIONS_MAX = 2000
"""Captures that are remembered until the log tells of them."""

IN_TROUBLE = 2
"""Of a Pod (`core.jobs.evidence.pods.trouble`): it waits or has failed, and not only restarted."""


class Capturer:
    """Captures evidence. Safe to call from many threads."""

    def __init__(self, parts: CaptureParts) -> None:
        self._parts = parts
        self._pool: TurnPool[None] = TurnPool(THREADS, "evidence")
        self._lock = threading.Lock()
        self._occasions: dict[tuple[StreamId, str], None] = {}

    def before(self, stream: StreamId, job: CachedJob, state: JobState, effect: OpenEffect) -> None:
        """Capture what an effect is about to remove; nothing, for an effect that removes nothing.

        Never raises: what could not be had must not keep the effect from being carried out.
        """
        kind, wanted = kind_of(state), effect.desired
        about = kind.evidence.going(job.identity, state, wanted, is_over=kind.is_final(state))
        if about is None:
            return
        occasion = f"{wanted.kind}/{effect.effect_id}"
        scene = _scene(stream, job, state, occasion, about)
        if scene is not None and self._is_new(stream, state, occasion):
            self.capture(scene)

    def after_failure(
        self, stream: StreamId, job: CachedJob, state: JobState, attempt: int, about: SceneObject
    ) -> None:
        """Capture what is left of an object of an attempt that failed. Never raises."""
        occasion = f"failure/{attempt}"
        if about.kind != kind_of(state).evidence.whole(job.identity, state).kind:
            occasion += f"/{about.kind}"
        scene = _scene(stream, job, state, occasion, about)
        if scene is not None and self._is_new(stream, state, occasion):
            # The next attempt may have begun.
            self.capture(replace(scene, attempt=attempt))

    def while_waiting(
        self, stream: StreamId, job: CachedJob, state: JobState, about: SceneObject
    ) -> bool:
        """Capture why Pods of an attempt wait, if some are in trouble; return whether some are.

        Raises as the cluster does. Nothing is kept of an attempt whose Pods are well.
        """
        scene = _scene(stream, job, state, "", about)
        if scene is None:
            return False
        cluster, namespace, kind = self._parts.cluster, job.identity.namespace, about.kind
        uid = own_uid(cluster, self._parts.live, job, kind, about.name, about.uid)
        found = own_pods(cluster, namespace, kind, about.name, uid) if uid else ()
        if not any(trouble(pod) >= IN_TROUBLE for pod in pods_kept(found, str)):
            return False
        whole = kind_of(state).evidence.whole(job.identity, state).kind
        beside = "" if kind == whole else kind
        scene = replace(scene, occasion=waiting_occasion(scene.attempt, beside))
        if self._is_new(stream, state, scene.occasion):
            self.capture(scene)
        return True

    def stop(self) -> None:
        """End; questions under way are left to their own limits."""
        self._pool.stop()

    def _is_new(self, stream: StreamId, state: JobState, occasion: str) -> bool:
        if occasion in state.captured:
            return False
        with self._lock:
            if (stream, occasion) in self._occasions:
                return False
            self._occasions[stream, occasion] = None
            while len(self._occasions) > OCCASIONS_MAX:
                del self._occasions[next(iter(self._occasions))]
            return True

    def capture(self, scene: Scene) -> None:
        """Ask everybody at once, and tell what came by the deadline."""
        try:
            seen = Capture(self._parts, self._pool, scene).made()
        except Exception:  # evidence is never worth an effect; the line names the job
            log.exception("evidence_broken", stream=str(scene.stream), occasion=scene.occasion)
            return
        self._parts.inbox.put(scene.stream, seen)


def _scene(
    stream: StreamId, job: CachedJob, state: JobState, occasion: str, about: SceneObject
) -> Scene | None:
    known = kind_of(state).evidence.scene(state, about.kind)
    if known is None:
        return None
    return Scene(
        stream=stream,
        job=job,
        attempt=known.attempt,
        occasion=occasion,
        kind=about.kind,
        name=about.name,
        uid=about.uid,
        address=known.address,
        job_id=known.job_id,
        is_well=known.is_well,
        began=known.began,
    )
