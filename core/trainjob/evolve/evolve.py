"""Dispatches events to the functions that apply them. Total: no event once written is refused."""

from typing import assert_never

from jobledger.core.jobs import events as shared
from jobledger.core.jobs.observations import remember_occasion
from jobledger.core.trainjob import events
from jobledger.core.trainjob.evolve.effects import (
    decision_cancelled,
    decision_fired,
    decision_scheduled,
    effect_failed,
    effect_faltered,
    effect_requested,
    effect_succeeded,
    effect_superseded,
)
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
    if isinstance(event, shared.SharedEvent):
        return _evolve_shared(state, event)
    if isinstance(event, events.TrainFactEvent):
        after = evolve_fact(state, event)
    else:
        after = evolve_life(state, event)
    phase = phase_of(after)
    return after if phase is after.phase else after._replace(phase=phase)


def _evolve_shared(state: TrainJobState, event: shared.SharedEvent) -> TrainJobState:  # noqa: C901, PLR0911, PLR0912 one case per event
    match event:
        case shared.EffectRequested():
            return effect_requested(state, event)
        case shared.EffectSucceeded():
            return effect_succeeded(state, event)
        case shared.EffectFaltered():
            return effect_faltered(state, event)
        case shared.EffectFailed():
            return effect_failed(state, event)
        case shared.EffectSuperseded():
            return effect_superseded(state, event)
        case shared.DecisionScheduled():
            return decision_scheduled(state, event)
        case shared.DecisionFired():
            return decision_fired(state, event)
        case shared.DecisionCancelled():
            return decision_cancelled(state, event)
        case shared.ObservationGapFound():
            return state._replace(gap_until=event.until)
        case shared.ObservationsConfirmed():
            return state._replace(confirmed_at=event.at)
        case shared.EvidenceCaptured():
            return state._replace(captured=remember_occasion(state.captured, event.occasion))
        case shared.StatusPublished():
            return state._replace(published=event.resource_version)
        case shared.ControlReleased():
            return control_released(state, event)
        case shared.ControlTaken() | shared.RecoveredFromCluster():
            return control_taken(state)
        case shared.AnnotationsRejected():
            return state
        case shared.LedgerBehindFound():
            return ledger_behind_found(state, event)
        case _:
            assert_never(event)
