"""Captures evidence before every deletion and when an attempt has failed.

Bounded in time: everything is asked for at once (`Capture`). Nothing is captured twice: what the
log has already is not asked for again.
"""

import threading
from dataclasses import dataclass, replace

from jobledger.adapters.service.evidence.absent_pods import KeptAway, kept_away
from jobledger.adapters.service.evidence.one_capture import Capture, CaptureParts, Scene
from jobledger.adapters.service.evidence.own_pods import is_own_pod, own_pods, own_uid
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.work.turn_pool import TurnPool
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.jobs.control.ownership import controller_of
from jobledger.core.jobs.evidence.pod_failures import trouble_of
from jobledger.core.jobs.evidence.pods import pods_kept, troubles_of
from jobledger.core.jobs.evidence.scene import DELETED, SceneObject, waiting_occasion
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect
from jobledger.core.kinds import JobState, kind_of
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId

log = get_logger(__name__)

THREADS = 8
"""Questions that may be open at once, of all jobs together; namespaces take turns at them."""

OCCASIONS_MAX = 2000
"""Captures that are remembered until the log tells of them."""

TRIES_OF_ONE_CAPTURE = 12
"""Of a deletion that is refused: an hour of tries, once their pauses are the longest."""

WAITING_MAX = 4
"""Captures of one attempt while its Pods wait, each for something else than the one before."""


@dataclass(frozen=True, slots=True)
class SeenPod:
    """A Pod as its watch told of it, and the object that it is of by its labels."""

    about: SceneObject
    manifest: Manifest


class Capturer:
    """Captures evidence. Safe to call from many threads."""

    def __init__(self, parts: CaptureParts) -> None:
        self._parts = parts
        self._pool: TurnPool[None] = TurnPool(THREADS, "evidence")
        self._pod_pool: TurnPool[None] = TurnPool(THREADS, "evidence-of-pods")
        """Of single Pods apart: where their kubelets hang, no deletion waits for that."""
        self._lock = threading.Lock()
        self._occasions: dict[tuple[StreamId, str], None] = {}

    def before(self, stream: StreamId, job: CachedJob, state: JobState, effect: OpenEffect) -> None:
        """Capture what an effect is about to remove; nothing, for an effect that removes nothing.

        Of what is refused again and again, once in so many tries: it was captured before the first.
        Never raises: what could not be had must not keep the effect from being carried out.
        """
        kind, wanted = kind_of(state), effect.desired
        about = kind.evidence.going(job.identity, state, wanted, is_over=kind.is_final(state))
        refusals = sum(one.times for one in state.refused if one.key == wanted.key)
        if about is None or refusals % TRIES_OF_ONE_CAPTURE:
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
        self,
        stream: StreamId,
        job: CachedJob,
        state: JobState,
        about: SceneObject,
        before: frozenset[str],
    ) -> frozenset[str]:
        """Capture why Pods of an attempt wait or are not there, unless `before` they did so too.

        Return for what they wait, in a word each; nothing if they are there and well. Raises as the
        cluster does.
        """
        scene = _scene(stream, job, state, "", about)
        if scene is None:
            return frozenset()
        cluster, namespace, kind = self._parts.cluster, job.identity.namespace, about.kind
        uid = own_uid(cluster, self._parts.live, job, kind, about.name, about.uid)
        own = SceneObject(kind=kind, name=about.name, uid=uid)
        found = own_pods(cluster, self._parts.live, namespace, own) if uid else ()
        troubles, away = troubles_of(pods_kept(found, str)), KeptAway()
        if not troubles:
            away = kept_away(cluster, self._parts.witness, state, namespace, own, found)
            troubles = away.words
        if troubles and troubles != before:
            whole = kind_of(state).evidence.whole(job.identity, state).kind
            beside = "" if kind == whole else kind
            occasion = self._next_waiting(stream, state, scene.attempt, beside, again=bool(before))
            if occasion:
                told = replace(scene, warned_of=away.warned, is_untouched=away.is_untouched)
                self.capture(replace(told, occasion=occasion))
        return troubles

    def _next_waiting(
        self, stream: StreamId, state: JobState, attempt: int, beside: str, *, again: bool
    ) -> str:
        """Return the occasion for what Pods wait for now; empty if enough is kept, or it is known.

        What an earlier service has captured is taken for what they wait for still.
        """
        for time in range(1, WAITING_MAX + 1 if again else 2):
            occasion = waiting_occasion(attempt, beside, time)
            if self._is_new(stream, state, occasion):
                return occasion
        return ""

    def of_pod(self, stream: StreamId, job: CachedJob, state: JobState, seen: SeenPod) -> None:
        """Capture a Pod of the present attempt that failed or goes, as it was seen.

        Raises as the cluster does, where that has to say whose Pod it is.
        """
        about, pod = seen.about, seen.manifest
        rules = kind_of(state).evidence
        scene = _scene(stream, job, state, "", about)
        known = rules.scene(state, about.kind)
        told, controller = trouble_of(pod), controller_of(pod)
        if scene is None or known is None or told is None or controller is None:
            return
        earlier = rules.earlier_attempt(state, pod)
        going = any(rules.before.get(one.desired.kind) == about.kind for one in state.effects)
        is_over = known.is_over or known.is_well or going or earlier > 0
        occasion = told.occasion(
            earlier or scene.attempt,
            (*state.captured, *self._under_way(stream)),
            well_too=about.kind in rules.well_pods_of and not is_over,
        )
        where = job.identity.namespace
        parts = self._parts
        if not occasion or not is_own_pod(parts.cluster, parts.live, where, controller, about):
            return
        if self._is_new(stream, state, occasion):
            attempt = earlier or scene.attempt
            self.capture(replace(scene, occasion=occasion, attempt=attempt, pod=pod))

    def after_deletion(self, stream: StreamId, job: CachedJob, state: JobState) -> None:
        """Capture what is left of a job that its user deleted before it had ended. Never raises."""
        rules, let_go = kind_of(state).evidence, f"{EffectKind.REMOVE_FINALIZER}/"
        captured = *state.captured, *self._under_way(stream)
        if any(one.startswith(let_go) for one in captured):
            return  # that was before it was let go
        for about in (rules.whole(job.identity, state), *rules.beside(state)):
            scene = _scene(stream, job, state, "", about)
            if scene is None or not about.name:
                continue
            occasion = f"{DELETED}/{scene.attempt}/{about.kind}"
            if self._is_new(stream, state, occasion):
                self.capture(replace(scene, occasion=occasion))

    def stop(self) -> None:
        """End; questions under way are left to their own limits."""
        self._pool.stop()
        self._pod_pool.stop()

    def _under_way(self, stream: StreamId) -> list[str]:
        """Return the occasions of captures of a job of which the log may not tell yet."""
        with self._lock:
            return [occasion for whose, occasion in self._occasions if whose == stream]

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
            pool = self._pool if scene.pod is None else self._pod_pool
            seen = Capture(self._parts, pool, scene).made()
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
        is_well=known.is_well or known.is_stopped,
        began=known.began,
    )
