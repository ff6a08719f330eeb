"""Applies rules to a state until none has anything to add; then derives effects and decisions.

Effects and decisions are compared with what the state calls for, so nothing has to remember to
start or to cancel them. The same for every kind of job; what differs is told by its rules.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from msgspec import Struct

from jobledger.core.decider import Decided, folded
from jobledger.core.jobs.control.dormancy import is_dormant
from jobledger.core.jobs.events import (
    DecisionCancelled,
    DecisionScheduled,
    EffectRequested,
    EffectSuperseded,
)
from jobledger.core.jobs.evolve.shared_state import SharedState
from jobledger.core.jobs.pending.decisions import DesiredDecision, PendingDecision
from jobledger.core.jobs.pending.effects import DesiredEffect, OpenEffect
from jobledger.core.jobs.pending.pacing import asked_for_now, is_any_waiting, wanted_tries
from jobledger.core.values.ids import ObservationId, decision_id_of, effect_id_of
from jobledger.core.values.instants import Instant

ROUNDS_MAX = 32
"""More rounds than any observation can need.

Reaching it is a bug in the rules, found by the properties.
"""


State = TypeVar("State")
Job = TypeVar("Job", bound=SharedState)
Event = TypeVar("Event")


def fixpoint(
    state: State,
    evolve: Callable[[State, Event], State],
    first_rule: Callable[[State], tuple[Event, ...]],
) -> Decided[State, Event]:
    """Return everything that follows from `state` until nothing more does.

    Raises:
        AssertionError: the rules go round.
    """
    before, said, states = state, list[Event](), list[State]()
    for _ in range(ROUNDS_MAX):
        events = first_rule(state)
        if not events:
            return Decided(before, tuple(said), tuple(states))
        for event in events:
            state = evolve(state, event)
            states.append(state)
        said += events
    message = f"the rules do not come to rest: {[type(event).__name__ for event in said[-6:]]}"
    raise AssertionError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileRules(Generic[Job, Event]):
    """What follows from the state of one kind of job by itself."""

    evolve: Callable[[Job, Event], Job]
    is_at_rest: Callable[[Job], bool] = is_dormant
    """Whether no rule is asked; effects and decisions are still compared with what is wanted."""
    rules: Sequence[Callable[[Job, Instant], tuple[Event, ...]]]
    """In order of priority."""
    called_for: Callable[[Job], tuple[DesiredEffect, ...]]
    """Every effect that the state calls for, whether it has to wait or not."""
    desired_decisions: Callable[[Job], Iterable[DesiredDecision]]
    is_awaited: Callable[[Job, OpenEffect], bool]
    """Whether an open effect's outcome is still to be heard, though it is not wanted."""
    why_dropped: Callable[[OpenEffect], str] = lambda _: "no longer wanted"
    """Why an open effect is not wanted any more."""
    why_cancelled: Callable[[Job, PendingDecision], str]
    """Why a decision is not wanted any more, unless its instant has changed."""

    def reconcile(self, state: Job, cause: ObservationId, at: Instant) -> Decided[Job, Event]:
        """Return everything that follows from `state` until nothing more does.

        Nothing follows from which decisions are pending, so they are compared once, at the end.
        """
        so_far = fixpoint(state, self.evolve, lambda now: self._first(now, cause, at))
        changes = cast("tuple[Event, ...]", self._decisions(so_far.state, cause, at))
        return so_far.then(folded(so_far.state, changes, self.evolve))

    def _first(self, state: Job, cause: ObservationId, at: Instant) -> tuple[Event, ...]:
        if not self.is_at_rest(state):
            for rule in self.rules:
                if events := rule(state, at):
                    return events
        changes = self._effects(state, cause, at)
        return cast("tuple[Event, ...]", changes)  # every kind has these events

    def _effects(
        self, state: Job, cause: ObservationId, at: Instant
    ) -> tuple[EffectRequested | EffectSuperseded, ...]:
        desired = asked_for_now(self.called_for(state), state.refused, state.repeated)
        if are_under_way(desired, state.effects):
            return ()
        return effect_changes(
            standpoint(state, cause, at),
            desired,
            state.effects,
            is_awaited=lambda effect: self.is_awaited(state, effect),
            why_dropped=self.why_dropped,
        )

    def _decisions(
        self, state: Job, cause: ObservationId, at: Instant
    ) -> tuple[DecisionCancelled | DecisionScheduled, ...]:
        desired = tuple(self.desired_decisions(state))
        if are_pending(desired, state.decisions):
            return ()
        return decision_changes(
            standpoint(state, cause, at),
            desired,
            state.decisions,
            lambda decision: self.why_cancelled(state, decision),
        )


def tries(
    state: Job, called_for: Callable[[Job], Iterable[DesiredEffect]], first_seconds: int
) -> Iterator[DesiredDecision]:
    """Yield when what waits is tried again, as long as it is called for."""
    if is_any_waiting(state.refused, state.repeated):
        keys = {effect.key for effect in called_for(state)}
        yield from wanted_tries(state.refused, state.repeated, keys, first_seconds)


def are_under_way(desired: Sequence[DesiredEffect], under_way: Sequence[OpenEffect]) -> bool:
    """Return whether just these effects are under way, in this order: what most turns find."""
    if len(desired) != len(under_way):
        return False
    for effect, known in zip(desired, under_way, strict=True):
        if effect.name != known.desired.name or effect.kind is not known.desired.kind:
            return False
    return True


def are_pending(desired: Sequence[DesiredDecision], pending: Sequence[PendingDecision]) -> bool:
    """Return whether just these decisions are pending, in this order: what most turns find."""
    if len(desired) != len(pending):
        return False
    for item, known in zip(desired, pending, strict=True):
        if item.due_at != known.due_at or item.kind is not known.kind:
            return False
        if item.subject != known.subject:
            return False
    return True


class Standpoint(Struct, frozen=True, kw_only=True):
    """From where effects and decisions are asked for."""

    at: Instant
    cause: ObservationId
    """The observation they follow from; their ids are derived from it."""
    attempt: int
    """Number of the present attempt; 0 if there is none."""
    generation: int
    digest: str


def standpoint(state: SharedState, cause: ObservationId, at: Instant) -> Standpoint:
    """Return from where a job asks for effects and decisions."""
    manifest, attempt = state.manifest, state.attempt
    return Standpoint(
        at=at,
        cause=cause,
        attempt=attempt.number if attempt is not None else 0,
        generation=manifest.generation if manifest is not None else 0,
        digest=manifest.digest if manifest is not None else "",
    )


def effect_changes(
    here: Standpoint,
    desired: Iterable[DesiredEffect],
    under_way: Iterable[OpenEffect],
    *,
    is_awaited: Callable[[OpenEffect], bool],
    why_dropped: Callable[[OpenEffect], str],
) -> tuple[EffectRequested | EffectSuperseded, ...]:
    """Return which effects are dropped; if none is, which are asked for.

    One that is not wanted any more stays open as long as `is_awaited` says that its outcome is
    still to be heard.
    """
    called_for = {effect.key: effect for effect in desired}
    known = tuple(under_way)
    dropped = tuple(
        EffectSuperseded(
            at=here.at,
            effect_id=effect.effect_id,
            kind=effect.desired.kind,
            name=effect.desired.name,
            cause=why_dropped(effect),
        )
        for effect in known
        if effect.desired.key not in called_for and not is_awaited(effect)
    )
    if dropped:
        return dropped
    asked = {effect.desired.key for effect in known}
    return tuple(
        EffectRequested(
            at=here.at,
            effect_id=effect_id_of(here.cause, effect.kind.value, effect.name),
            kind=effect.kind,
            attempt=here.attempt,
            name=effect.name,
            uid=effect.uid,
            address=effect.address,
            generation=here.generation,
            digest=here.digest,
        )
        for key, effect in called_for.items()
        if key not in asked
    )


def decision_changes(
    here: Standpoint,
    desired: Iterable[DesiredDecision],
    pending: Iterable[PendingDecision],
    why_cancelled: Callable[[PendingDecision], str],
) -> tuple[DecisionCancelled | DecisionScheduled, ...]:
    """Return which decisions are cancelled, and which are scheduled."""
    called_for = {(item.kind, item.subject, item.due_at): item for item in desired}
    moved = {(kind, subject) for kind, subject, _ in called_for}
    known = {(item.kind, item.subject, item.due_at): item for item in pending}
    cancelled = tuple(
        DecisionCancelled(
            at=here.at,
            decision_id=item.decision_id,
            kind=item.kind,
            cause="its instant has changed"
            if (item.kind, item.subject) in moved
            else why_cancelled(item),
        )
        for key, item in known.items()
        if key not in called_for
    )
    scheduled = tuple(
        DecisionScheduled(
            at=here.at,
            decision_id=decision_id_of(here.cause, item.kind.value, item.subject),
            kind=item.kind,
            attempt=here.attempt,
            due_at=item.due_at,
            cause=item.cause,
            subject=item.subject,
        )
        for key, item in called_for.items()
        if key not in known
    )
    return cancelled + scheduled
