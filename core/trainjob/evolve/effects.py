"""Applies events of effects and decisions to the state of a TrainJob."""

from msgspec.structs import replace

from jobledger.core.jobs.events import EffectRequested, EffectSucceeded
from jobledger.core.jobs.evolve import shared_events
from jobledger.core.jobs.identity import is_another
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.trainjob.state import TrainJobState


def effect_requested(state: TrainJobState, event: EffectRequested) -> TrainJobState:
    """Return the state with the effect open; what has gone by now is covered by it."""
    return replace(shared_events.effect_requested(state, event), rebuild_again=False)


def effect_succeeded(state: TrainJobState, event: EffectSucceeded) -> TrainJobState:
    """Return the state with what the effect brought about; what was applied has its own event."""
    state = shared_events.effect_done(state, event)
    if event.kind is not EffectKind.DELETE_JOBSET:
        return state
    known = state.jobset
    if known is None:
        return replace(state, doomed=False)
    if is_another(known.uid, event.uid):  # it came before
        return state
    return replace(state, doomed=False, jobset=replace(known, delete_asked=True))
