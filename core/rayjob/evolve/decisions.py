"""Applies events of decisions to the state of a RayJob."""

from dataclasses import replace

from jobledger.core.jobs.events import DecisionCancelled, DecisionFired, DecisionScheduled
from jobledger.core.jobs.open_work import pending, tried_again, without_decision
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.rayjob.evolve.pods import evidence_given_up
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.values.ids import DecisionId


def decision_scheduled(state: RayJobState, event: DecisionScheduled) -> RayJobState:
    """Return the state with the decision pending."""
    return state._replace(decisions=(*state.decisions, pending(event)))


def decision_cancelled(state: RayJobState, event: DecisionCancelled) -> RayJobState:
    """Return the state without the decision."""
    return _ended(state, event.decision_id)


def decision_fired(state: RayJobState, event: DecisionFired) -> RayJobState:
    """Return the state without the decision, and with what it allows from now on."""
    state = _ended(state, event.decision_id)
    if event.kind is DecisionKind.RETRY and state.attempt is not None:
        return state._replace(attempt=replace(state.attempt, retry_due=True))
    if event.kind is DecisionKind.EVIDENCE:
        return evidence_given_up(state)
    if event.kind is DecisionKind.TTL_SHUTDOWN:
        return state._replace(shutdown_due=True)
    if event.kind is DecisionKind.DELETION_RULE:
        policy = event.subject.partition(" ")[0]
        return state._replace(deletions_due=(*state.deletions_due, policy))
    if event.kind is DecisionKind.EFFECT_RETRY:
        return state._replace(
            refused=tried_again(state.refused, event.subject),
            repeated=tried_again(state.repeated, event.subject),
        )
    return state


def _ended(state: RayJobState, decision_id: DecisionId) -> RayJobState:
    return state._replace(decisions=without_decision(state.decisions, decision_id))
