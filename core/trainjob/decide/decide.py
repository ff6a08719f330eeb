"""Dispatches an observation of a TrainJob to the rule for its source.

One function per observation, then whatever follows by itself. Nothing here knows the time, and
nothing here acts.
"""

from typing import assert_never

from jobledger.core.decider import Decider
from jobledger.core.jobs import observations as shared
from jobledger.core.jobs.control.deciding import DecisionRules, decider
from jobledger.core.jobs.control.shared_facts import shared_facts
from jobledger.core.trainjob import observations as seen
from jobledger.core.trainjob.decide.on_contributions import on_plugin_conditions_seen
from jobledger.core.trainjob.decide.on_lost_history import recovery
from jobledger.core.trainjob.decide.on_objects import (
    on_dependent_gone,
    on_jobset_gone,
    on_jobset_seen,
    on_progress_seen,
    on_runtime_seen,
    on_trainjob_gone,
    on_trainjob_seen,
)
from jobledger.core.trainjob.decide.on_outcomes import on_decision_due, on_effect_ended
from jobledger.core.trainjob.decide.recorded import infer, recorded_facts
from jobledger.core.trainjob.events import TrainJobEvent
from jobledger.core.trainjob.evolve.evolve import evolve
from jobledger.core.trainjob.rules.rules import reconcile
from jobledger.core.trainjob.state import TrainJobState, is_final


def _facts(  # noqa: C901, PLR0911, PLR0912 one case per observation
    state: TrainJobState, observation: seen.TrainJobObservation
) -> tuple[TrainJobEvent, ...]:
    if isinstance(observation, shared.SharedFact):
        return shared_facts(state, observation, is_final=is_final(state))
    if state.recorded is not None and not isinstance(observation, seen.TrainJobSeen):
        return recorded_facts(state, observation)
    match observation:
        case seen.JobSetSeen():
            return on_jobset_seen(state, observation)
        case seen.TrainJobSeen():
            return on_trainjob_seen(state, observation)
        case seen.RuntimeSeen():
            return on_runtime_seen(state, observation)
        case shared.EffectEnded():
            return on_effect_ended(state, observation)
        case shared.DecisionDue():
            return on_decision_due(state, observation)
        case seen.JobSetGone():
            return on_jobset_gone(state, observation)
        case seen.DependentGone():
            return on_dependent_gone(state, observation)
        case seen.ProgressSeen():
            return on_progress_seen(state, observation)
        case seen.PluginConditionsSeen():
            return on_plugin_conditions_seen(state, observation)
        case seen.TrainJobGone():
            return on_trainjob_gone(state, observation)
        case _:
            assert_never(observation)


TRAINJOB: Decider[TrainJobState, TrainJobEvent, seen.TrainJobObservation] = decider(
    TrainJobState(),
    DecisionRules(evolve=evolve, facts=_facts, reconcile=reconcile, infer=infer, recovery=recovery),
)
"""Thinks about TrainJobs."""
