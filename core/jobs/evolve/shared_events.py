"""Applies the events that every kind of job has to the state of a job of any kind.

What they do is the same for all but for a few, which a kind does in its own way: `SharedEvolution`.
Total: no event once written is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, assert_never

from msgspec.structs import replace

from jobledger.core.jobs import events as shared
from jobledger.core.jobs.evolve.open_work import (
    effect_of,
    opened,
    pending,
    refused_once_more,
    tried_again,
    with_trouble,
    without_decision,
    without_effect,
)
from jobledger.core.jobs.evolve.shared_state import SharedState
from jobledger.core.jobs.manifest.shared_manifest import SharedManifest
from jobledger.core.jobs.observations import remember_occasion
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.pacing import done_once_more

State = TypeVar("State", bound=SharedState)


def with_manifest(state: State, manifest: SharedManifest) -> State:
    """Return the state with a manifest; what was refused may be tried again if it is another."""
    before = state.manifest
    same = before is not None and (before.digest, before.generation) == (
        manifest.digest,
        manifest.generation,
    )
    if same:
        return replace(state, manifest=manifest)
    return replace(state, manifest=manifest, refused=(), repeated=())


def effect_requested(state: State, event: shared.EffectRequested) -> State:
    """Return the state with the effect open."""
    return replace(state, effects=(*state.effects, opened(event)))


def effect_done(state: State, event: shared.EffectSucceeded) -> State:
    """Return the state without the effect, and without its refusals; that it was done counts."""
    key = (event.kind, event.name)
    return replace(
        state,
        effects=without_effect(state.effects, event.effect_id),
        refused=tuple([item for item in state.refused if item.key != key]),
        repeated=done_once_more(state.repeated, key, event.at),
    )


def effect_faltered(state: State, event: shared.EffectFaltered) -> State:
    """Return the state with the trouble noted."""
    return replace(state, effects=with_trouble(state.effects, event))


def effect_failed(state: State, event: shared.EffectFailed) -> State:
    """Return the state with the effect refused."""
    effects = without_effect(state.effects, event.effect_id)
    return replace(state, effects=effects, refused=refused_once_more(state.refused, event))


def effect_superseded(state: State, event: shared.EffectSuperseded) -> State:
    """Return the state without the effect; one that was not sent waits for its specification."""
    effect = effect_of(state.effects, event.effect_id)
    state = replace(state, effects=without_effect(state.effects, event.effect_id))
    outdated = state.manifest is None or effect is None or effect.digest != state.manifest.digest
    if event.sent or outdated:
        return state
    key = (event.kind, event.name)
    return replace(state, repeated=done_once_more(state.repeated, key, event.at, unsent=True))


def decision_fired(state: State, event: shared.DecisionFired) -> State:
    """Return the state without the decision, and with what it allows from now on."""
    state = replace(state, decisions=without_decision(state.decisions, event.decision_id))
    if event.kind is not DecisionKind.EFFECT_RETRY:
        return state
    return replace(
        state,
        refused=tried_again(state.refused, event.subject),
        repeated=tried_again(state.repeated, event.subject),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedEvolution(Generic[State]):
    """What some of these events do to a job of one kind."""

    effect_requested: Callable[[State, shared.EffectRequested], State] = effect_requested
    effect_succeeded: Callable[[State, shared.EffectSucceeded], State]
    effect_faltered: Callable[[State, shared.EffectFaltered], State] = effect_faltered
    effect_failed: Callable[[State, shared.EffectFailed], State] = effect_failed
    effect_superseded: Callable[[State, shared.EffectSuperseded], State] = effect_superseded
    decision_fired: Callable[[State, shared.DecisionFired], State] = decision_fired
    control_released: Callable[[State, shared.ControlReleased], State]
    control_taken: Callable[[State, shared.ControlTaken | shared.RecoveredFromCluster], State]
    ledger_behind_found: Callable[[State, shared.LedgerBehindFound], State]

    def evolve(self, state: State, event: shared.SharedEvent) -> State:  # noqa: C901, PLR0911, PLR0912 one case per event
        """Return the state after `event`."""
        match event:
            case shared.EffectRequested():
                return self.effect_requested(state, event)
            case shared.EffectSucceeded():
                return self.effect_succeeded(state, event)
            case shared.StatusPublished():
                return replace(state, published=event.resource_version, unwritten_since=None)
            case shared.EffectFaltered():
                return self.effect_faltered(state, event)
            case shared.EffectFailed():
                return self.effect_failed(state, event)
            case shared.EffectSuperseded():
                return self.effect_superseded(state, event)
            case shared.DecisionScheduled():
                return replace(state, decisions=(*state.decisions, pending(event)))
            case shared.DecisionFired():
                return self.decision_fired(state, event)
            case shared.DecisionCancelled():
                decisions = without_decision(state.decisions, event.decision_id)
                return replace(state, decisions=decisions)
            case shared.ObservationGapFound():
                return replace(state, gap_until=event.until)
            case shared.ObservationsConfirmed():
                return replace(state, confirmed_at=event.at)
            case shared.EvidenceCaptured():
                captured = remember_occasion(state.captured, event.occasion)
                return replace(state, captured=captured)
            case shared.StatusWriteFailed():
                return replace(state, unwritten_since=event.since)
            case shared.ControlReleased():
                return self.control_released(state, event)
            case shared.ControlTaken() | shared.RecoveredFromCluster():
                return self.control_taken(replace(state, unwritten_since=None), event)
            case shared.AnnotationsRejected():
                return state
            case shared.LedgerBehindFound():
                return self.ledger_behind_found(state, event)
            case _:
                assert_never(event)
