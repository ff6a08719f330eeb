"""Applies events of effects and decisions to the state of a TrainJob."""

from dataclasses import replace

from jobledger.core.jobs.events import (
    DecisionCancelled,
    DecisionFired,
    DecisionScheduled,
    EffectFailed,
    EffectFaltered,
    EffectRequested,
    EffectSucceeded,
    EffectSuperseded,
)
from jobledger.core.jobs.identity import is_another
from jobledger.core.jobs.open_work import (
    effect_of,
    is_outdated,
    opened,
    pending,
    refused_once_more,
    tried_again,
    with_trouble,
    without_decision,
    without_effect,
)
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.pending.pacing import done_once_more
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.ids import DecisionId, EffectId


def effect_requested(state: TrainJobState, event: EffectRequested) -> TrainJobState:
    """Return the state with the effect open."""
    again = state.rebuild_again and event.kind is not EffectKind.APPLY_OBJECTS
    return state._replace(effects=(*state.effects, opened(event)), rebuild_again=again)


def effect_faltered(state: TrainJobState, event: EffectFaltered) -> TrainJobState:
    """Return the state with the trouble noted."""
    return state._replace(effects=with_trouble(state.effects, event))


def effect_failed(state: TrainJobState, event: EffectFailed) -> TrainJobState:
    """Return the state with the effect refused."""
    state = _closed(state, event.effect_id)
    return state._replace(refused=refused_once_more(state.refused, event))


def effect_superseded(state: TrainJobState, event: EffectSuperseded) -> TrainJobState:
    """Return the state without the effect; one that was not sent waits for its specification."""
    effect = effect_of(state.effects, event.effect_id)
    state = _closed(state, event.effect_id)
    outdated = state.manifest is None or effect is None or effect.digest != state.manifest.digest
    if event.sent or outdated:
        return state
    key = (event.kind, event.name)
    return state._replace(repeated=done_once_more(state.repeated, key, event.at, unsent=True))


def effect_succeeded(state: TrainJobState, event: EffectSucceeded) -> TrainJobState:
    """Return the state with what the effect brought about; what was applied has its own event."""
    effect = effect_of(state.effects, event.effect_id)
    digest = state.manifest.digest if state.manifest is not None else ""
    state = _closed(state, event.effect_id)
    key, outdated = (event.kind, event.name), is_outdated(effect, digest)
    state = state._replace(
        refused=tuple(item for item in state.refused if item.key != key),
        repeated=done_once_more(state.repeated, key, event.at, outdated=outdated),
    )
    if event.kind is not EffectKind.DELETE_JOBSET:
        return state
    known = state.jobset
    if known is None:
        return state._replace(doomed=False)
    if is_another(known.uid, event.uid):  # it came before
        return state
    return state._replace(doomed=False, jobset=replace(known, delete_asked=True))


def decision_scheduled(state: TrainJobState, event: DecisionScheduled) -> TrainJobState:
    """Return the state with the decision pending."""
    return state._replace(decisions=(*state.decisions, pending(event)))


def decision_cancelled(state: TrainJobState, event: DecisionCancelled) -> TrainJobState:
    """Return the state without the decision."""
    return _ended(state, event.decision_id)


def decision_fired(state: TrainJobState, event: DecisionFired) -> TrainJobState:
    """Return the state without the decision, and with what it allows from now on."""
    state = _ended(state, event.decision_id)
    if event.kind is not DecisionKind.EFFECT_RETRY:
        return state
    return state._replace(
        refused=tried_again(state.refused, event.subject),
        repeated=tried_again(state.repeated, event.subject),
    )


def _ended(state: TrainJobState, decision_id: DecisionId) -> TrainJobState:
    return state._replace(decisions=without_decision(state.decisions, decision_id))


def _closed(state: TrainJobState, effect_id: EffectId) -> TrainJobState:
    return state._replace(effects=without_effect(state.effects, effect_id))
