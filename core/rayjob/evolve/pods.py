"""Applies events about failures and Pods to the state of a RayJob."""

from msgspec.structs import replace

from jobledger.core.rayjob.events.pods import FailureNoticed, PodsObserved
from jobledger.core.rayjob.observations.pods import PodLook
from jobledger.core.rayjob.state import Failing, RayJobState


def failure_noticed(state: RayJobState, event: FailureNoticed) -> RayJobState:
    """Return the state with the failure waiting for its verdict."""
    if state.attempt is None:
        return state
    failing = Failing(
        reason=event.reason,
        message=event.message,
        job_status=event.job_status,
        failure=event.failure,
        since=event.at,
    )
    return replace(state, attempt=replace(state.attempt, failing=failing, look_wanted=False))


def pods_observed(state: RayJobState, event: PodsObserved) -> RayJobState:
    """Return the state with the evidence, or with what is left of the attempt."""
    attempt = state.attempt
    if attempt is None or attempt.number != event.attempt:
        return state
    seen = event.trouble == ""
    if event.purpose is PodLook.CLEARING:
        told = replace(
            attempt,
            pods_told=True,
            pods_gone=seen and event.total == 0,
            pods_trouble=event.trouble,
        )
        return replace(state, attempt=told)
    if attempt.failing is None:
        return state
    failing = replace(attempt.failing, looked=seen, pods=event.pods, trouble=event.trouble)
    return replace(state, attempt=replace(attempt, failing=failing))


def evidence_given_up(state: RayJobState) -> RayJobState:
    """Return the state in which the retry rule judges without evidence."""
    attempt = state.attempt
    if attempt is None or attempt.failing is None:
        return state
    failing = replace(attempt.failing, looked=True)
    return replace(state, attempt=replace(attempt, failing=failing))
