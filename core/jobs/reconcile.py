"""Applies rules to a state until none has anything to add; then derives effects and decisions.

Effects and decisions are compared with what the state calls for, so nothing has to remember to
start or to cancel them. The same for every kind of job; what differs is told by its rules.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from jobledger.core.decider import Decided
from jobledger.core.jobs.events import (
    DecisionCancelled,
    DecisionScheduled,
    EffectRequested,
    EffectSuperseded,
)
from jobledger.core.jobs.pending.decisions import PendingDecision, WantedDecision
from jobledger.core.jobs.pending.effects import OpenEffect, WantedEffect
from jobledger.core.values.ids import ObservationId, decision_id_of, effect_id_of
from jobledger.core.values.instants import Instant

ROUNDS_MAX = 32
"""More rounds than any observation can need.

Reaching it is a bug in the rules, found by the properties.
"""

State = TypeVar("State")
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
class Standpoint:
    """From where effects and decisions are asked for."""

    at: Instant
    cause: ObservationId
    """The observation they follow from; their ids are derived from it."""
    attempt: int
    """Number of the present attempt; 0 if there is none."""
    generation: int
    digest: str


def effect_changes(
    here: Standpoint,
    wanted: Iterable[WantedEffect],
    under_way: Iterable[OpenEffect],
    *,
    is_awaited: Callable[[OpenEffect], bool],
    why_dropped: Callable[[OpenEffect], str],
) -> tuple[EffectRequested | EffectSuperseded, ...]:
    """Return which effects are dropped; if none is, which are asked for.

    One that is not wanted any more stays open as long as `is_awaited` says that its outcome is
    still to be heard.
    """
    called_for = {effect.key: effect for effect in wanted}
    known = tuple(under_way)
    dropped = tuple(
        EffectSuperseded(
            at=here.at,
            effect_id=effect.effect_id,
            kind=effect.wanted.kind,
            name=effect.wanted.name,
            cause=why_dropped(effect),
        )
        for effect in known
        if effect.wanted.key not in called_for and not is_awaited(effect)
    )
    if dropped:
        return dropped
    asked = {effect.wanted.key for effect in known}
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
    wanted: Iterable[WantedDecision],
    pending: Iterable[PendingDecision],
    why_cancelled: Callable[[PendingDecision], str],
) -> tuple[DecisionCancelled | DecisionScheduled, ...]:
    """Return which decisions are cancelled, and which are scheduled."""
    called_for = {(item.kind, item.subject, item.due_at): item for item in wanted}
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
