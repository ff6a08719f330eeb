"""Dispatches events to the functions that apply them. Total: no event once written is refused."""

from collections.abc import Callable, Mapping
from typing import TypeAlias, cast, get_args

from msgspec.structs import replace

from jobledger.core.batchjob import events
from jobledger.core.batchjob.evolve.effects import decision_fired, effect_succeeded
from jobledger.core.batchjob.evolve.lifecycle import evolve_fact, evolve_life
from jobledger.core.batchjob.evolve.recorded import control_released, ledger_behind_found
from jobledger.core.batchjob.state import BatchJobState, phase_of
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.evolve.shared_events import SharedEvolution


def evolve(state: BatchJobState, event: events.BatchJobEvent) -> BatchJobState:
    """Return the state after `event`."""
    applied_by = _APPLIED_BY.get(type(event))
    if applied_by is None:
        return _SHARED.evolve(state, cast("shared.SharedEvent", event))
    after = applied_by(state, event)
    phase = phase_of(after)
    return after if phase is after.phase else replace(after, phase=phase)


_SHARED: SharedEvolution[BatchJobState] = SharedEvolution(
    effect_succeeded=effect_succeeded,
    decision_fired=decision_fired,
    control_released=control_released,
    control_taken=lambda state, _: replace(state, recorded=None),
    ledger_behind_found=ledger_behind_found,
)

_Apply: TypeAlias = Callable[[BatchJobState, events.BatchJobEvent], BatchJobState]

_APPLIED_BY: Mapping[type, _Apply] = {
    **dict.fromkeys(get_args(events.BatchFactEvent), cast("_Apply", evolve_fact)),
    **dict.fromkeys(get_args(events.BatchLifeEvent), cast("_Apply", evolve_life)),
}
"""By the class of the event: to ask a union of classes whether it is one of them takes longer."""
