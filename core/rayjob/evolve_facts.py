"""How what was seen of the children and of Ray changes what is known of a RayJob."""

from dataclasses import replace
from typing import assert_never

from core.rayjob import events
from core.rayjob.phases import ENDED, Phase
from core.rayjob.state import (
    Entrypoint,
    KnownCluster,
    KnownSubmitter,
    RayJobState,
    remember_gone,
    standing,
)


def evolve_fact(state: RayJobState, event: events.FactEvent) -> RayJobState:  # noqa: C901, PLR0911 one case per event
    """Return the state after a fact."""
    match event:
        case events.EntrypointObserved():
            return _entrypoint_observed(state, event)
        case events.ClusterObserved():
            return _cluster_observed(state, event)
        case events.ClusterVanished():
            return _cluster_vanished(state, event)
        case events.StrayClusterFound():
            stray = KnownCluster(name=event.name, uid=event.uid)
            return state._replace(strays=(*state.strays, stray))
        case events.StrayClusterVanished():
            return _without_stray(state, event.uid)
        case events.SubmitterObserved():
            return _submitter_observed(state, event)
        case events.SubmitterFinished():
            return _submitter_finished(state, event)
        case events.SubmitterVanished():
            return _submitter_vanished(state, event)
        case events.EntrypointMissed():
            entrypoint = replace(state.entrypoint, missed=True)
            return _looked(state)._replace(entrypoint=entrypoint)
        case events.StatusCheckFailed():
            since = state.entrypoint.silent_since or event.at
            entrypoint = replace(state.entrypoint, silent_since=since, trouble=event.trouble)
            return _looked(state)._replace(entrypoint=entrypoint)
        case events.StatusCheckRecovered():
            entrypoint = replace(state.entrypoint, silent_since=None, trouble="")
            return state._replace(entrypoint=entrypoint)
        case _:
            assert_never(event)


def _without_stray(state: RayJobState, uid: str) -> RayJobState:
    """Return the state without a stray RayCluster."""
    strays = tuple(stray for stray in state.strays if stray.uid != uid)
    return remember_gone(state._replace(strays=strays), uid)


def _looked(state: RayJobState) -> RayJobState:
    if state.attempt is None or not state.attempt.look_wanted:
        return state
    return state._replace(attempt=replace(state.attempt, look_wanted=False))


def _cluster_observed(state: RayJobState, event: events.ClusterObserved) -> RayJobState:
    known = state.cluster
    return state._replace(
        cluster=KnownCluster(
            name=event.name,
            uid=event.uid,
            state=event.state,
            address=event.address,
            deleting=event.deleting,
            delete_asked=known.delete_asked if known is not None else False,
            status=event.status,
        )
    )


def _cluster_vanished(state: RayJobState, event: events.ClusterVanished) -> RayJobState:
    attempt = state.attempt
    in_use = standing(state) in {Phase.WAITING, Phase.RUNNING}
    if attempt is not None and in_use and not event.asked:
        attempt = replace(attempt, cluster_lost=True)
    return remember_gone(state._replace(cluster=None, attempt=attempt), event.uid)


def _submitter_observed(state: RayJobState, event: events.SubmitterObserved) -> RayJobState:
    known = state.submitter
    fresh = KnownSubmitter(name=event.name, uid=event.uid, deleting=event.deleting)
    if known is not None and known.uid in ("", event.uid):
        fresh = replace(known, uid=event.uid, deleting=event.deleting)
    return state._replace(submitter=fresh)


def _submitter_finished(state: RayJobState, event: events.SubmitterFinished) -> RayJobState:
    known = state.submitter or KnownSubmitter(name=event.name)
    attempt = state.attempt
    if attempt is not None:
        attempt = replace(attempt, look_wanted=True)
    return state._replace(
        attempt=attempt,
        submitter=replace(
            known,
            uid=event.uid,
            outcome=event.outcome,
            finished_at=event.finished_at,
            seen_finished_at=event.at,
            reason=event.reason,
            message=event.message,
        ),
    )


def _submitter_vanished(state: RayJobState, event: events.SubmitterVanished) -> RayJobState:
    known = state.submitter
    state = remember_gone(state, event.uid)
    if known is None:
        return state
    if event.asked or standing(state) is not Phase.RUNNING:
        return state._replace(submitter=None)
    if known.outcome:  # how it ended still matters; one made in its place is found by name
        ended = replace(known, uid="", deleting=False, delete_asked=False)
        return state._replace(submitter=ended)
    lost = replace(known, outcome="Vanished", finished_at=event.at)
    attempt = replace(state.attempt, look_wanted=True) if state.attempt is not None else None
    return state._replace(submitter=lost, attempt=attempt)


def _entrypoint_observed(state: RayJobState, event: events.EntrypointObserved) -> RayJobState:
    before = state.entrypoint
    ended_seen_at = before.ended_seen_at
    if ended_seen_at is None and event.status in ENDED:
        ended_seen_at = event.at
    entrypoint = Entrypoint(
        status=event.status,
        message=event.message,
        started_at=event.started_at,
        ended_at=event.ended_at,
        ended_seen_at=ended_seen_at,
        error_type=event.error_type,
        exit_code=event.exit_code,
    )
    paused = state.phase is Phase.VALIDATION_FAILED
    message = state.message if paused else event.message
    return _looked(state)._replace(entrypoint=entrypoint, message=message)
