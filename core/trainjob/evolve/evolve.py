"""Dispatches events to the functions that apply them. Total: no event once written is refused."""

from msgspec.structs import replace

from jobledger.core.jobs import events as shared
from jobledger.core.jobs.evolve.shared_events import SharedEvolution
from jobledger.core.trainjob import events
from jobledger.core.trainjob.evolve.effects import (
    effect_requested,
    effect_succeeded,
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
        return _SHARED.evolve(state, event)
    if isinstance(event, events.TrainFactEvent):
        after = evolve_fact(state, event)
    else:
        after = evolve_life(state, event)
    phase = phase_of(after)
    return after if phase is after.phase else replace(after, phase=phase)


_SHARED: SharedEvolution[TrainJobState] = SharedEvolution(
    effect_requested=effect_requested,
    effect_succeeded=effect_succeeded,
    control_released=control_released,
    control_taken=control_taken,
    ledger_behind_found=ledger_behind_found,
)
