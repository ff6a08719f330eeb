"""A small world around one RayJob: Kubernetes, Ray, a user and time, as far as the core sees them.

Every source tells in order; between the sources everything may happen in any order. Requests may
arrive late, even after the core has lost interest in them. `moves` are all things that can happen
next; `calm` lets the world be well-behaved until nothing happens any more.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import replace

from jobledger.core.decider import Decided
from jobledger.core.jobs.observations import DecisionDue, EffectEnded
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect, Outcome
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.rayjob.observations.observations import (
    ManifestSeen,
    PollNotFound,
    PollUnanswered,
    RayJobObservation,
    SubmitterGone,
)
from jobledger.core.rayjob.observations.pods import PodFact
from jobledger.core.rayjob.phases import ENDED, JobStatus
from jobledger.core.rayjob.rules.pod_looks import desired_look
from jobledger.core.rayjob.state import RayJobState, wants_poll
from tests.support.rayjob_builders import (
    JOB,
    UNNAMED,
    after,
    cluster,
    cluster_gone,
    manifest,
    manifest_gone,
    named,
    pods,
    poll,
    submitter,
)

SELECTED = "shared"

Move: TypeAlias = Callable[[], None]


@dataclass(slots=True)
class Child:
    """A RayCluster or submitter that exists."""

    name: str
    uid: str
    state: str = ""
    deleting: bool = False
    owned: bool = True


@dataclass(slots=True)
class World:
    """Everything that is so, what has been told of it, and what the core made of that."""

    spec: dict[str, object]
    ending: JobStatus = JobStatus.SUCCEEDED
    """How entrypoints end when the world is calm."""
    problem: str = ""
    now: float = 0
    generation: int = 1
    finalizer: bool = False
    deleting: bool = False
    exists: bool = True
    clusters: dict[str, Child] = field(default_factory=dict)
    submitters: dict[str, Child] = field(default_factory=dict)
    ray: dict[str, JobStatus] = field(default_factory=dict)
    """Submission id -> status, on the one head that is asked."""
    told: dict[str, deque[RayJobObservation]] = field(default_factory=dict)
    """Source -> what it has to tell."""
    sent: list[OpenEffect] = field(default_factory=list)
    """Requests on their way."""
    made: int = 0
    state: RayJobState = RAYJOB.initial
    history: list[RayJobEvent] = field(default_factory=list)
    heard: list[tuple[RayJobObservation, Decided[RayJobState, RayJobEvent]]] = field(
        default_factory=list
    )

    def __post_init__(self) -> None:
        if self.spec.get("cluster_selector"):
            self.clusters[SELECTED] = Child(SELECTED, "shared-uid", "ready", owned=False)
        self.tell_manifest()
        for child in self.clusters.values():
            self.tell_cluster(child)

    # What the sources tell.

    def put(self, source: str, observation: RayJobObservation) -> None:
        """Let a source tell something, behind what it has to tell already."""
        self.told.setdefault(source, deque()).append(observation)

    def look(self) -> ManifestSeen:
        """Return the RayJob as it is."""
        return manifest(
            self.now,
            generation=self.generation,
            problem=self.problem,
            finalizer=self.finalizer,
            deleting=self.deleting,
            **self.spec,  # type: ignore[arg-type] # fields of the specification only
        )

    def tell_manifest(self) -> None:
        self.put("jobs", self.look())

    def tell_cluster(self, child: Child) -> None:
        seen = cluster(
            child.state,
            self.now,
            name=child.name,
            uid=child.uid,
            owned=child.owned,
            deleting=child.deleting,
        )
        self.put("clusters", seen)

    def tell_submitter(self, child: Child) -> None:
        seen = submitter(child.state, self.now, uid=child.uid, deleting=child.deleting)
        self.put("submitters", seen)

    def deliver(self, source: str) -> None:
        """Let the core hear the next thing that a source has to tell."""
        self.take(self.told[source].popleft())

    def take(self, seen: RayJobObservation) -> tuple[RayJobEvent, ...]:
        """Let the core decide; what it asks for is sent."""
        seen = _at(seen, self.now)
        before = {effect.effect_id for effect in self.state.effects}
        decided = RAYJOB.decide(self.state, seen)
        self.state = decided.state
        self.history += decided.events
        self.heard.append((seen, decided))
        self.sent += [e for e in self.state.effects if e.effect_id not in before]
        return decided.events

    # What arrives at the API servers.

    def arrive(self, effect: OpenEffect, outcome: Outcome = Outcome.SUCCEEDED) -> None:
        """Let a request arrive, and its outcome be told."""
        uid, gone = "", False
        if outcome is not Outcome.FALTERED:
            self.sent.remove(effect)
        if outcome is Outcome.SUCCEEDED:
            uid, gone = self._act(effect)
        ended = EffectEnded(
            id=UNNAMED,
            at=after(self.now),
            effect_id=effect.effect_id,
            outcome=outcome,
            trouble="" if outcome is Outcome.SUCCEEDED else f"trouble {self.now}",
            uid=uid,
            gone=gone,
        )
        self.put("effects", named(ended))

    def _act(self, effect: OpenEffect) -> tuple[str, bool]:
        kind, name = effect.desired.kind, effect.desired.name
        if kind in (EffectKind.ADD_FINALIZER, EffectKind.REMOVE_FINALIZER):
            self._set_finalizer(kind is EffectKind.ADD_FINALIZER)
        elif kind is EffectKind.CREATE_CLUSTER:
            return self._create(self.clusters, name, self.tell_cluster), False
        elif kind is EffectKind.CREATE_SUBMITTER:
            return self._create(self.submitters, name, self.tell_submitter), False
        elif kind is EffectKind.DELETE_CLUSTER:
            return self._delete(self.clusters, effect, self.tell_cluster)
        elif kind is EffectKind.DELETE_SUBMITTER:
            return self._delete(self.submitters, effect, self.tell_submitter)
        elif kind is EffectKind.SUBMIT_ENTRYPOINT:
            self.ray.setdefault(name, JobStatus.PENDING)
        elif self.ray.get(name, JobStatus.STOPPED) not in ENDED:
            self.ray[name] = JobStatus.STOPPED
        return "", False

    def _set_finalizer(self, present: bool) -> None:
        self.finalizer = present
        if self.deleting and not present:
            self.exists = False
            self.put("jobs", manifest_gone(self.now))
        elif self.exists:
            self.tell_manifest()

    def _create(self, there: dict[str, Child], name: str, tell: Callable[[Child], None]) -> str:
        if name not in there:
            self.made += 1
            there[name] = Child(name, f"uid-{self.made}")
            tell(there[name])
        return there[name].uid

    def _delete(
        self, there: dict[str, Child], effect: OpenEffect, tell: Callable[[Child], None]
    ) -> tuple[str, bool]:
        child = there.get(effect.desired.name)
        if child is None or effect.desired.uid not in ("", child.uid) or not child.owned:
            return effect.desired.uid, True
        if not child.deleting:
            child.deleting = True
            tell(child)
        return child.uid, False

    # What happens by itself.

    def ready(self, child: Child) -> None:
        child.state = "ready"
        self.tell_cluster(child)

    def cluster_goes(self, child: Child) -> None:
        del self.clusters[child.name]
        self.ray.clear()
        self.put("clusters", cluster_gone(self.now, name=child.name, uid=child.uid))

    def submitter_goes(self, child: Child) -> None:
        del self.submitters[child.name]
        gone = SubmitterGone(id=UNNAMED, at=after(self.now), name=JOB, uid=child.uid)
        self.put("submitters", named(gone))

    def submitter_ends(self, child: Child, outcome: str) -> None:
        child.state = outcome
        self.tell_submitter(child)

    def submitter_submits(self) -> None:
        attempt = self.state.attempt
        assert attempt is not None, "there is a submitter only in an attempt"
        self.ray.setdefault(attempt.job_id, JobStatus.PENDING)

    def ray_moves(self, job_id: str, status: JobStatus) -> None:
        self.ray[job_id] = status

    def head_answers(self) -> None:
        attempt = self.state.attempt
        assert attempt is not None, "only an attempt is asked about"
        status = self.ray.get(attempt.job_id)
        if status is None:
            missing = PollNotFound(id=UNNAMED, at=after(self.now), job_id=attempt.job_id)
            self.take(named(missing))
            return
        self.take(poll(status.value, self.now, job_id=attempt.job_id))

    def head_is_silent(self) -> None:
        attempt = self.state.attempt
        assert attempt is not None, "only an attempt is asked about"
        silent = PollUnanswered(
            id=UNNAMED, at=after(self.now), job_id=attempt.job_id, trouble="no route"
        )
        self.take(named(silent))

    def pods_are_seen(self, *found: PodFact, trouble: str = "") -> None:
        """Let the Pods be looked at, as the core waits for it."""
        purpose, attempt = desired_look(self.state), self.state.attempt
        assert purpose is not None, "somebody waits for a look"
        assert attempt is not None, "only an attempt has Pods"
        self.take(pods(self.now, *found, purpose=purpose, attempt=attempt.number, trouble=trouble))

    def user_edits(self, **changes: object) -> None:
        self.problem = str(changes.pop("problem", self.problem))
        self.spec |= changes
        self.generation += 1
        self.tell_manifest()

    def user_deletes(self) -> None:
        self.deleting = True
        self.generation += 1
        if self.finalizer:
            self.tell_manifest()
        else:
            self.exists = False
            self.put("jobs", manifest_gone(self.now))

    def time_passes(self, index: int = 0) -> None:
        """Let a pending decision come due, after a look where one is due."""
        decision = sorted(self.state.decisions, key=lambda item: item.due_at)[index]
        self.now = max(self.now, (decision.due_at - after(0)).total_seconds())
        if wants_poll(self.state):
            self.head_answers()
        due = DecisionDue(
            id=UNNAMED, at=after(self.now), decision_id=decision.decision_id, looked=True
        )
        self.take(named(due))


def _at(seen: RayJobObservation, now: float) -> RayJobObservation:
    """Return the observation as of now: what a source tells late is heard late."""
    return named(replace(seen, at=after(now))) if seen.at < after(now) else seen
