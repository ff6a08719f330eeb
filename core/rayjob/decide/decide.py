"""Dispatches an observation of a RayJob to the rule for its source.

One function per observation, then whatever follows by itself.

`decide` first turns the observation into facts (or into nothing, if it brings no news), then lets
`core.rayjob.rules.rules` draw the conclusions. Nothing here knows the time, and nothing here acts.
"""

from typing import assert_never

from jobledger.core.decider import Decider
from jobledger.core.jobs import observations as shared
from jobledger.core.jobs.control.deciding import DecisionRules, decider
from jobledger.core.jobs.control.shared_facts import shared_facts
from jobledger.core.rayjob.decide.on_children import (
    on_cluster_gone,
    on_cluster_seen,
    on_part_gone,
    on_submitter_gone,
    on_submitter_seen,
)
from jobledger.core.rayjob.decide.on_head import on_head_pod_gone, on_head_pod_seen
from jobledger.core.rayjob.decide.on_lost_history import recovery
from jobledger.core.rayjob.decide.on_manifest import on_manifest_gone, on_manifest_seen
from jobledger.core.rayjob.decide.on_outcomes import on_decision_due, on_effect_ended
from jobledger.core.rayjob.decide.on_pods import on_pods_seen
from jobledger.core.rayjob.decide.on_ray_job import (
    on_poll_answered,
    on_poll_not_found,
    on_poll_unanswered,
)
from jobledger.core.rayjob.decide.recorded import recorded_facts
from jobledger.core.rayjob.events.lifecycle import RayJobEvent
from jobledger.core.rayjob.evolve.lifecycle import evolve
from jobledger.core.rayjob.inference import infer
from jobledger.core.rayjob.observations import observations as seen
from jobledger.core.rayjob.rules.rules import reconcile
from jobledger.core.rayjob.state import RayJobState, is_final


def _facts(  # noqa: C901, PLR0911, PLR0912 one case per observation
    state: RayJobState, observation: seen.RayJobObservation
) -> tuple[RayJobEvent, ...]:
    if isinstance(observation, shared.SharedFact):
        return shared_facts(state, observation, is_final=is_final(state))
    if state.recorded is not None and not isinstance(observation, seen.ManifestSeen):
        return recorded_facts(state, observation)
    match observation:
        case seen.PollAnswered():
            return on_poll_answered(state, observation)
        case seen.ManifestSeen():
            return on_manifest_seen(state, observation)
        case seen.ClusterSeen():
            return on_cluster_seen(state, observation)
        case seen.SubmitterSeen():
            return on_submitter_seen(state, observation)
        case shared.EffectEnded():
            return on_effect_ended(state, observation)
        case shared.DecisionDue():
            return on_decision_due(state, observation)
        case seen.PollNotFound():
            return on_poll_not_found(state, observation)
        case seen.PollUnanswered():
            return on_poll_unanswered(state, observation)
        case seen.ClusterGone():
            return on_cluster_gone(state, observation)
        case seen.SubmitterGone():
            return on_submitter_gone(state, observation)
        case seen.ManifestGone():
            return on_manifest_gone(state, observation)
        case seen.HeadPodSeen():
            return on_head_pod_seen(state, observation)
        case seen.HeadPodGone():
            return on_head_pod_gone(state, observation)
        case seen.PodsSeen():
            return on_pods_seen(state, observation)
        case seen.PartGone():
            return on_part_gone(state, observation)
        case _:
            assert_never(observation)


RAYJOB: Decider[RayJobState, RayJobEvent, seen.RayJobObservation] = decider(
    RayJobState(),
    DecisionRules(evolve=evolve, facts=_facts, reconcile=reconcile, infer=infer, recovery=recovery),
)
"""Thinks about RayJobs."""
