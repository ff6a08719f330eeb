"""Applies events of decisions to the state of a RayJob."""

from msgspec.structs import replace

from jobledger.core.jobs.events import DecisionFired
from jobledger.core.jobs.evolve import shared_events
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.rayjob.evolve.pods import evidence_given_up
from jobledger.core.rayjob.state import RayJobState


def decision_fired(state: RayJobState, event: DecisionFired) -> RayJobState:
    """Return the state without the decision, and with what it allows from now on."""
    state = shared_events.decision_fired(state, event)
    if event.kind is DecisionKind.RETRY and state.attempt is not None:
        return replace(state, attempt=replace(state.attempt, retry_due=True))
    if event.kind is DecisionKind.EVIDENCE:
        return evidence_given_up(state)
    if event.kind is DecisionKind.TTL_SHUTDOWN:
        return replace(state, shutdown_due=True)
    if event.kind is DecisionKind.DELETION_RULE:
        policy = event.subject.partition(" ")[0]
        return replace(state, deletions_due=(*state.deletions_due, policy))
    return state
