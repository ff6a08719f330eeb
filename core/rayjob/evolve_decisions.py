"""How the events of decisions change what is known of a RayJob."""

from dataclasses import replace

from core.jobs.decisions import DecisionKind, PendingDecision
from core.jobs.events import DecisionCancelled, DecisionFired, DecisionScheduled
from core.rayjob.evolve_pods import evidence_given_up
from core.rayjob.state import RayJobState
from core.values.ids import DecisionId


def decision_scheduled(state: RayJobState, event: DecisionScheduled) -> RayJobState:
    """Return the state with the decision pending."""
    decision = PendingDecision(
        decision_id=event.decision_id,
        kind=event.kind,
        attempt=event.attempt,
        due_at=event.due_at,
        subject=event.subject,
    )
    return state._replace(decisions=(*state.decisions, decision))


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
        refused = tuple(
            replace(item, waiting=False) if f"{item.kind}/{item.name}" == event.subject else item
            for item in state.refused
        )
        return state._replace(refused=refused)
    return state


def _ended(state: RayJobState, decision_id: DecisionId) -> RayJobState:
    return state._replace(
        decisions=tuple(item for item in state.decisions if item.decision_id != decision_id)
    )
