"""Dispatches events to the functions that apply them. Total: no event once written is refused."""

from collections.abc import Callable, Mapping
from typing import TypeAlias, cast, get_args

from msgspec.structs import replace

from jobledger.core.jobs import events as shared
from jobledger.core.jobs.events import EffectRequested, EffectSucceeded
from jobledger.core.jobs.evolve import shared_events
from jobledger.core.jobs.evolve.shared_events import SharedEvolution
from jobledger.core.jobs.identity import is_another
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.trainjob import events
from jobledger.core.trainjob.evolve.facts import evolve_fact
from jobledger.core.trainjob.evolve.lifecycle import evolve_life
from jobledger.core.trainjob.evolve.recorded import (
    control_released,
    control_taken,
    ledger_behind_found,
)
from jobledger.core.trainjob.state import TrainJobState, phase_of


def evolve(state: TrainJobState, event: events.TrainJobEvent) -> TrainJobState:
    """Return the state after `event`."""
    applied_by = _APPLIED_BY.get(type(event))
    if applied_by is None:
        return _SHARED.evolve(state, cast("shared.SharedEvent", event))
    after = applied_by(state, event)
    phase = phase_of(after)
    return after if phase is after.phase else replace(after, phase=phase)


def _effect_requested(state: TrainJobState, event: EffectRequested) -> TrainJobState:
    """Return the state with the effect open; what has gone by now is covered by it."""
    return replace(shared_events.effect_requested(state, event), rebuild_again=False)


def _effect_succeeded(state: TrainJobState, event: EffectSucceeded) -> TrainJobState:
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


_SHARED: SharedEvolution[TrainJobState] = SharedEvolution(
    effect_requested=_effect_requested,
    effect_succeeded=_effect_succeeded,
    control_released=control_released,
    control_taken=control_taken,
    ledger_behind_found=ledger_behind_found,
)

_Apply: TypeAlias = Callable[[TrainJobState, events.TrainJobEvent], TrainJobState]

_APPLIED_BY: Mapping[type, _Apply] = {
    **dict.fromkeys(get_args(events.TrainFactEvent), cast("_Apply", evolve_fact)),
    **dict.fromkeys(get_args(events.TrainLifeEvent), cast("_Apply", evolve_life)),
}
"""By the class of the event: to ask a union of classes whether it is one of them takes longer."""
