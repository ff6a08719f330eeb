"""Dispatches events to the functions that apply them. Total: no event once written is refused."""

from typing import assert_never

from jobledger.core.batchjob import events
from jobledger.core.batchjob.evolve.effects import (
    decision_cancelled,
    decision_fired,
    decision_scheduled,
    effect_failed,
    effect_faltered,
    effect_requested,
    effect_succeeded,
    effect_superseded,
)
from jobledger.core.batchjob.evolve.lifecycle import evolve_fact, evolve_life
from jobledger.core.batchjob.evolve.recorded import control_released, ledger_behind_found
from jobledger.core.batchjob.state import BatchJobState, phase_of
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.observations import remember_occasion


def evolve(state: BatchJobState, event: events.BatchJobEvent) -> BatchJobState:
    """Return the state after `event`."""
    if isinstance(event, shared.SharedEvent):
        return _evolve_shared(state, event)
    if isinstance(event, events.BatchFactEvent):
        after = evolve_fact(state, event)
    else:
        after = evolve_life(state, event)
    phase = phase_of(after)
    return after if phase is after.phase else after._replace(phase=phase)


def _evolve_shared(state: BatchJobState, event: shared.SharedEvent) -> BatchJobState:  # noqa: C901, PLR0911, PLR0912 one case per event
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
            return state._replace(recorded=None)
        case shared.AnnotationsRejected():
            return state
        case shared.LedgerBehindFound():
            return ledger_behind_found(state, event)
        case _:
            assert_never(event)
