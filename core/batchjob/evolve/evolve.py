"""Dispatches events to the functions that apply them. Total: no event once written is refused."""

from msgspec.structs import replace

from jobledger.core.batchjob import events
from jobledger.core.batchjob.evolve.effects import (
    decision_fired,
    effect_succeeded,
)
from jobledger.core.batchjob.evolve.lifecycle import evolve_fact, evolve_life
from jobledger.core.batchjob.evolve.recorded import control_released, ledger_behind_found
from jobledger.core.batchjob.state import BatchJobState, phase_of
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.evolve.shared_events import SharedEvolution


def evolve(state: BatchJobState, event: events.BatchJobEvent) -> BatchJobState:
    """Return the state after `event`."""
    if isinstance(event, shared.SharedEvent):
        return _SHARED.evolve(state, event)
    if isinstance(event, events.BatchFactEvent):
        after = evolve_fact(state, event)
    else:
        after = evolve_life(state, event)
    phase = phase_of(after)
    return after if phase is after.phase else replace(after, phase=phase)


_SHARED: SharedEvolution[BatchJobState] = SharedEvolution(
    effect_succeeded=effect_succeeded,
    decision_fired=decision_fired,
    control_released=control_released,
    control_taken=lambda state, _: replace(state, recorded=None),
    ledger_behind_found=ledger_behind_found,
)
