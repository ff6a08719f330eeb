"""Dispatches an observation of a Job to the rule for its source.

One function per observation, then whatever follows by itself. Nothing here knows the time, and
nothing here acts.
"""

from typing import assert_never

from jobledger.core.batchjob import observations as seen
from jobledger.core.batchjob.decide.on_attempt_job import on_attempt_job_gone, on_attempt_job_seen
from jobledger.core.batchjob.decide.on_job import on_job_gone, on_job_seen
from jobledger.core.batchjob.decide.on_lost_history import recovery
from jobledger.core.batchjob.decide.on_outcomes import on_decision_due, on_effect_ended
from jobledger.core.batchjob.decide.recorded import infer
from jobledger.core.batchjob.events import BatchJobEvent
from jobledger.core.batchjob.evolve.evolve import evolve
from jobledger.core.batchjob.rules.rules import reconcile
from jobledger.core.batchjob.state import BatchJobState, is_final
from jobledger.core.decider import Decider
from jobledger.core.jobs import observations as shared
from jobledger.core.jobs.control.deciding import DecisionRules, decider
from jobledger.core.jobs.control.shared_facts import shared_facts


def _facts(
    state: BatchJobState, observation: seen.BatchJobObservation
) -> tuple[BatchJobEvent, ...]:
    if isinstance(observation, shared.SharedFact):
        return shared_facts(state, observation, is_final=is_final(state))
    match observation:
        case seen.BatchJobSeen():
            return on_job_seen(state, observation)
        case seen.AttemptJobSeen():
            return on_attempt_job_seen(state, observation)
        case seen.AttemptJobGone():
            return on_attempt_job_gone(state, observation)
        case seen.BatchJobGone():
            return on_job_gone(state, observation)
        case shared.EffectEnded():
            return on_effect_ended(state, observation)
        case shared.DecisionDue():
            return on_decision_due(state, observation)
        case _:
            assert_never(observation)


BATCHJOB: Decider[BatchJobState, BatchJobEvent, seen.BatchJobObservation] = decider(
    BatchJobState(),
    DecisionRules(evolve=evolve, facts=_facts, reconcile=reconcile, infer=infer, recovery=recovery),
)
"""Thinks about Jobs that are retried on new Jobs."""
