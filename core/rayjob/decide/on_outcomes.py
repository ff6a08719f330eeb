"""Events that follow from the controller's own effects, due decisions, status writes and gaps."""

from jobledger.core.jobs.evolve.open_work import effect_of
from jobledger.core.jobs.observations import DecisionDue, EffectEnded
from jobledger.core.jobs.outcomes import due_decision, outcome_of
from jobledger.core.jobs.pending.decisions import LOOK_FIRST
from jobledger.core.rayjob.decide.on_decisions_due import fire
from jobledger.core.rayjob.deletion import furthest_due
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.rayjob.state import RayJobState, wants_poll


def on_effect_ended(state: RayJobState, ended: EffectEnded) -> tuple[RayJobEvent, ...]:
    """Return the outcome; of an effect that is not open, nothing."""
    effect = effect_of(state.effects, ended.effect_id)
    if effect is None:
        return ()
    return outcome_of(effect, ended)


def on_decision_due(state: RayJobState, due: DecisionDue) -> tuple[RayJobEvent, ...]:
    """Return the firing of a pending decision.

    One that ends an attempt waits until the Ray job was asked once more; a firing before its
    instant is none.
    """
    decision = due_decision(state.decisions, due)
    if decision is None:
        return ()
    if decision.kind in LOOK_FIRST and wants_poll(state) and not due.looked:
        return ()
    return fire(state, furthest_due(state, decision, due.at), due.at)
