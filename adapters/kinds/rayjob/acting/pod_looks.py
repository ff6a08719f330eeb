"""Reads the Pods of an attempt, for retries that depend on them.

A look is a read, not an effect: it needs no intent, and a restart looks anew. What is told goes the
way of every observation.
"""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from jobledger.adapters.service.effects.carrying_out import EffectContext
from jobledger.adapters.service.evidence.own_pods import controlled_by
from jobledger.adapters.service.work.workers import Task
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import ClusterError
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.ports.cluster import PODS
from jobledger.core.rayjob.names import LABEL_CLUSTER, submitter_name
from jobledger.core.rayjob.observations.observations import PodsSeen
from jobledger.core.rayjob.observations.pods import PodFact, PodLook, pod_facts
from jobledger.core.rayjob.rules.pod_looks import desired_look
from jobledger.core.rayjob.state import RayJobState, own_children
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant

log = get_logger(__name__)

TROUBLE_CHARACTERS_MAX = 300
PAUSE_FIRST_SECONDS, PAUSE_MAX_SECONDS = 0.5, 5.0
"""Pauses between two looks for the same thing: they double."""

TOLD_AGAIN_AFTER = 20
"""After so many looks that found the same, it is told once more: the first may have been lost."""

LABEL_JOB_NAME = "batch.kubernetes.io/job-name"
"""Label of the Pods of a batch Job. Source: Kubernetes, batch/v1, since 1.27."""


@dataclass(frozen=True, slots=True)
class PodLooks:
    """Which jobs are looked after.

    `offer` is called by the turn, what it returns by the workers.
    """

    context: EffectContext
    looks: dict[StreamId, "_Look"] = field(default_factory=dict)
    """The look of each job that is under way; another one of the same job ends itself."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    unlisted: Repeated = field(
        default_factory=lambda: Repeated(log, "pods_not_listed", time.monotonic)
    )
    """Tells of Pods that could not be listed."""

    @property
    def under_way(self) -> set[StreamId]:
        """Return the jobs that are looked after."""
        with self.lock:
            return set(self.looks)

    def offer(self, stream: StreamId, state: RayJobState) -> Task | None:
        """Return a task that looks as long as the state calls for it; None, if one is under way."""
        with self.lock:
            if desired_look(state) is None or stream in self.looks:
                return None
            look = self.looks[stream] = _Look(self, stream)
            return look

    def forget(self, stream: StreamId) -> None:
        """Drop a job that another replica works on now."""
        with self.lock:
            self.looks.pop(stream, None)

    def still_wanted(self, look: "_Look") -> tuple[RayJobState, PodLook] | None:
        """Return what is to be looked for; the task is over once it is nothing."""
        with self.lock:
            if self.looks.get(look.stream) is not look:
                return None
            state = self.context.slots.state(look.stream)
            purpose = desired_look(state) if isinstance(state, RayJobState) else None
            if not isinstance(state, RayJobState) or purpose is None:
                del self.looks[look.stream]
                return None
            return state, purpose


@dataclass(slots=True)
class _Look:
    """Looks again and again. Calling it is a task for the workers."""

    looks: PodLooks
    stream: StreamId
    pause: float = PAUSE_FIRST_SECONDS
    told: PodsSeen | None = None
    """What was told last."""
    told_in: RayJobState | None = None
    """The state of the job then."""
    same: int = 0
    """How often the same has been found since."""

    def __call__(self) -> float | None:
        """Look once and tell; return the pause before the next look, or None if it is over."""
        looks, wanted = self.looks, self.looks.still_wanted(self)
        if wanted is None:
            return None
        state, purpose = wanted
        identity, live = state.identity, looks.context.world.live
        job = live.job(identity.uid) if identity is not None else None
        if job is not None:  # what is said of an object that is gone could not be redacted
            seen = self._seen(state, purpose, job.redactor)
            if self._is_news(state, seen):
                looks.context.inbox.put(self.stream, seen)
        pause, self.pause = self.pause, min(self.pause * 2, PAUSE_MAX_SECONDS)
        return pause

    def _is_news(self, state: RayJobState, seen: PodsSeen) -> bool:
        """Return whether a finding is to be told.

        Not the same again in the same state: while the ledger is away, the inbox does not fill
        with it.
        """
        last = self.told if state is self.told_in else None
        self.same += 1
        is_same = last is not None and replace(seen, id=last.id, at=last.at) == last
        is_settled = self.looks.context.inbox.is_settled(self.stream)
        if is_same and (self.same < TOLD_AGAIN_AFTER or not is_settled):
            return False
        self.told, self.told_in, self.same = seen, state, 0
        return True

    def _seen(self, state: RayJobState, purpose: PodLook, redactor: Redactor) -> PodsSeen:
        number = state.attempt.number if state.attempt is not None else 0
        pods: list[Manifest] = []
        trouble = ""
        try:
            for selector in _selectors(state):
                namespace = state.identity.namespace if state.identity is not None else ""
                listed = self.looks.context.world.cluster.list(PODS, namespace, selector).items
                pods += controlled_by(listed, own_children(state))
        except ClusterError as error:
            trouble = redactor.text(str(error), TROUBLE_CHARACTERS_MAX)
            job = self.looks.context.slots.name(self.stream)
            self.looks.unlisted.warn_of_one(error, trouble, job=job, stream=str(self.stream))
        at: Instant = self.looks.context.clock.now()
        seen = () if trouble else tuple(_scrubbed(fact, redactor) for fact in pod_facts(pods))
        return PodsSeen(
            id=observation_id(self.stream, "pods", purpose, str(number), at.isoformat()),
            at=at,
            attempt=number,
            purpose=purpose,
            total=0 if trouble else len(pods),
            pods=seen,
            trouble=trouble,
        )


def _selectors(state: RayJobState) -> Iterator[str]:
    """Yield the label selectors of an attempt's Pods."""
    if state.attempt is not None and state.attempt.cluster_name:
        yield f"{LABEL_CLUSTER}={state.attempt.cluster_name}"
    if state.identity is not None:
        yield f"{LABEL_JOB_NAME}={submitter_name(state.identity.name)}"


def _scrubbed(fact: PodFact, redactor: Redactor) -> PodFact:
    reason = redactor.text(fact.reason, TROUBLE_CHARACTERS_MAX)
    return replace(fact, reason=reason, message=redactor.text(fact.message, TROUBLE_CHARACTERS_MAX))
