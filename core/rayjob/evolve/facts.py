"""Applies facts about children and the Ray job to the state of a RayJob."""

from typing import assert_never

from msgspec.structs import replace

from jobledger.core.jobs.gone import is_there_again, remember_gone
from jobledger.core.jobs.pending.effects import EffectKind, is_under_way
from jobledger.core.rayjob.events import lifecycle as events
from jobledger.core.rayjob.evolve.pods import pods_observed
from jobledger.core.rayjob.evolve.recorded import without_cluster_left
from jobledger.core.rayjob.observations.ray_job import Entrypoint
from jobledger.core.rayjob.parts import SERVICE
from jobledger.core.rayjob.phases import ENDED, JobStatus, Phase
from jobledger.core.rayjob.state import (
    KnownCluster,
    KnownHead,
    KnownSubmitter,
    RayJobState,
    awaits_submitter,
    is_sidecar,
    keeps_cluster,
    recovers_lost_heads,
    resubmits,
    standing,
    was_handed_in,
)
from jobledger.core.values.documents import Manifest

NO_DASHBOARD_PORT = (
    "dashboard port is not found: the RayCluster is ready, but the ports of its head name none "
    "`dashboard`; name one in headGroupSpec, or leave out its ports."
)
"""Why a job stays in Initializing on a RayCluster that is ready. Upstream says it in its log."""


def evolve_fact(state: RayJobState, event: events.FactEvent) -> RayJobState:  # noqa: C901, PLR0911, PLR0912 one case per event
    """Return the state after a fact."""
    match event:
        case events.EntrypointObserved():
            return _entrypoint_observed(state, event)
        case events.ClusterObserved():
            return _cluster_observed(state, event)
        case events.ClusterVanished():
            return _cluster_vanished(state, event)
        case events.OrphanClusterFound():
            orphan = KnownCluster(name=event.name, uid=event.uid)
            state = is_there_again(state, event.uid)
            return replace(state, orphans=(*state.orphans, orphan))
        case events.OrphanClusterVanished():
            return _without_orphan(state, event.uid)
        case events.SubmitterObserved():
            return _submitter_observed(state, event)
        case events.SubmitterFinished():
            return _submitter_finished(state, event)
        case events.SubmitterVanished():
            return _submitter_vanished(state, event)
        case events.EntrypointMissed():
            return _entrypoint_missed(state, event)
        case events.StatusCheckFailed():
            since = state.entrypoint.silent_since or event.at
            entrypoint = replace(
                state.entrypoint,
                silent_since=since,
                trouble=event.trouble,
                troubles=state.entrypoint.troubles + 1,
            )
            return replace(_looked(state), entrypoint=entrypoint)
        case events.StatusCheckRecovered():
            return replace(state, entrypoint=state.entrypoint.heard())
        case events.HeadPodObserved():
            return _head_observed(state, event)
        case events.HeadPodVanished():
            return _head_vanished(state, event)
        case events.SidecarFinished():
            return _sidecar_finished(state, event)
        case events.PodsObserved():
            return pods_observed(state, event)
        case events.PartVanished():
            return _part_vanished(state, event)
        case _:
            assert_never(event)


def _head_observed(state: RayJobState, event: events.HeadPodObserved) -> RayJobState:
    """Return the state with the head; one that was started again has lost the Ray job it had."""
    attempt, before = state.attempt, state.head
    head = KnownHead(
        name=event.name,
        uid=event.uid,
        taken=event.taken,
        restarts=event.restarts,
        keeps_jobs=event.keeps_jobs,
        deleting=event.deleting,
    )
    restarted = before is not None and before.uid == event.uid and event.restarts > before.restarts
    running = standing(state) is Phase.RUNNING and not event.keeps_jobs
    if attempt is not None and restarted and running and _loses_job_with_head(state):
        why = event.ended or "nobody knows why"
        attempt = replace(attempt, head_lost=True, head_restarted=why)
    if attempt is not None and restarted and keeps_cluster(state):
        attempt = replace(attempt, head_lost=True)
    return replace(state, head=head, attempt=attempt)


def _entrypoint_missed(state: RayJobState, event: events.EntrypointMissed) -> RayJobState:
    """Return the state in which the head does not know the job.

    Where nobody submits for the user, that is said: the job might wait for ever. Who asked for
    recovery in HTTPMode has it handed in once more.
    """
    attempt = state.attempt
    if attempt is not None and resubmits(state):
        attempt = replace(attempt, submitted=False, look_wanted=False)
        return replace(state, attempt=attempt)
    by_hand = attempt is not None and not attempt.submitted and not awaits_submitter(state)
    unseen = state.entrypoint.status is JobStatus.NEW and state.phase is Phase.RUNNING
    message = state.message
    if by_hand and unseen:
        message = (
            f"The head does not know Ray job {event.job_id} yet, and in this submissionMode it is "
            "not submitted for you."
        )
    entrypoint = replace(state.entrypoint, missed=True)
    return replace(_looked(state), entrypoint=entrypoint, message=message)


def _head_vanished(state: RayJobState, event: events.HeadPodVanished) -> RayJobState:
    """Return the state without the head; a job that was on it is lost with it.

    Until something was handed in, the next head is as good. Beside the head the submitter goes with
    it, and KubeRay is told to put no other in its place: that is the end in any case.
    """
    attempt, cluster = state.attempt, state.cluster
    asked = cluster is not None and (cluster.delete_asked or cluster.deleting)
    asked = asked or (state.head is not None and state.head.keeps_jobs)
    needed = standing(state) in {Phase.WAITING, Phase.RUNNING} and not asked
    if attempt is not None and needed and (is_sidecar(state) or _loses_job_with_head(state)):
        attempt = replace(attempt, head_lost=True, head_taken=event.taken)
    if attempt is not None and keeps_cluster(state):
        attempt = replace(attempt, head_lost=True)
    return remember_gone(replace(state, head=None, attempt=attempt), event.uid)


def _loses_job_with_head(state: RayJobState) -> bool:
    """Return whether the attempt ends with its head: the head had the Ray job."""
    return was_handed_in(state) and not recovers_lost_heads(state)


def _sidecar_finished(state: RayJobState, event: events.SidecarFinished) -> RayJobState:
    attempt = replace(state.attempt, look_wanted=True) if state.attempt is not None else None
    sidecar = KnownSubmitter(
        name=event.name,
        uid=event.uid,
        outcome=event.outcome,
        finished_at=event.finished_at,
        seen_finished_at=event.at,
        message=event.message,
    )
    return replace(state, attempt=attempt, sidecar=sidecar)


def _without_orphan(state: RayJobState, uid: str) -> RayJobState:
    """Return the state without an orphan RayCluster."""
    orphans = tuple(orphan for orphan in state.orphans if orphan.uid != uid)
    return remember_gone(replace(state, orphans=orphans), uid)


def _looked(state: RayJobState) -> RayJobState:
    if state.attempt is None or not state.attempt.look_wanted:
        return state
    return replace(state, attempt=replace(state.attempt, look_wanted=False))


def _cluster_observed(state: RayJobState, event: events.ClusterObserved) -> RayJobState:
    state = is_there_again(state, event.uid)
    known = state.cluster
    missing = [item for item in state.refused if item.kind is EffectKind.FIND_CLUSTER]
    told = {item.trouble for item in missing} | {NO_DASHBOARD_PORT}
    message = "" if state.message in told else state.message
    if event.state == "ready" and not event.address and state.phase is Phase.INITIALIZING:
        message = NO_DASHBOARD_PORT
    return replace(
        _losing(state, event.name, known, EffectKind.DELETE_CLUSTER) if event.deleting else state,
        refused=tuple(item for item in state.refused if item not in missing),
        message=message,
        shown_cluster=_shown_cluster(state, event),
        cluster=KnownCluster(
            name=event.name,
            uid=event.uid,
            state=event.state,
            address=event.address,
            deleting=event.deleting,
            delete_asked=known.delete_asked if known is not None else False,
            status=event.status,
        ),
    )


def _shown_cluster(state: RayJobState, event: events.ClusterObserved) -> Manifest | None:
    """Return what users are shown of the RayCluster: how it goes away is no status of the job.

    Source: KubeRay copies it in Initializing and Running only.
    """
    over = standing(state) not in {Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING}
    return state.shown_cluster if over else event.status


def _cluster_vanished(state: RayJobState, event: events.ClusterVanished) -> RayJobState:
    """Return the state without the RayCluster; what was handed in to it is lost with it.

    Until then another is as good. Source: KubeRay makes it again in any case.
    """
    if (others := without_cluster_left(state, event.uid)) is not None:
        return others
    attempt, entrypoint = state.attempt, state.entrypoint
    in_use = standing(state) in {Phase.WAITING, Phase.RUNNING}
    if attempt is not None and in_use and not event.asked:
        lost = was_handed_in(state) or is_sidecar(state)
        attempt = replace(attempt, cluster_lost=lost, cluster_again=not lost)
        entrypoint = entrypoint if lost else entrypoint.heard()  # its silence has an end
    lost_children = state.lost_children or not event.asked
    state = replace(state, entrypoint=entrypoint, lost_children=lost_children)
    return remember_gone(replace(state, cluster=None, attempt=attempt, kept=False), event.uid)


def _losing(
    state: RayJobState,
    name: str,
    known: KnownCluster | KnownSubmitter | None,
    deletion: EffectKind,
) -> RayJobState:
    """Return the state in which a child is going; that of itself says nothing if it was asked to.

    Args:
        state: The state before.
        name: The child's.
        known: The child, as it was known before.
        deletion: The effect that asks it to go.
    """
    asked = known is not None and known.delete_asked
    if asked or is_under_way(state.effects, deletion, name):
        return state
    return replace(state, lost_children=True)


def _submitter_observed(state: RayJobState, event: events.SubmitterObserved) -> RayJobState:
    state = is_there_again(state, event.uid)
    known = state.submitter
    fresh = KnownSubmitter(name=event.name, uid=event.uid, deleting=event.deleting)
    if event.orphan:
        return replace(state, orphan_submitter=fresh)
    if event.deleting:
        state = _losing(state, event.name, known, EffectKind.DELETE_SUBMITTER)
    if known is not None and known.uid in ("", event.uid):
        fresh = replace(known, uid=event.uid, deleting=event.deleting)
    return replace(state, submitter=fresh)


def _submitter_finished(state: RayJobState, event: events.SubmitterFinished) -> RayJobState:
    known = state.submitter or KnownSubmitter(name=event.name)
    attempt = state.attempt
    if attempt is not None:
        attempt = replace(attempt, look_wanted=True)
    return replace(
        state,
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
    known, orphan = state.submitter, state.orphan_submitter
    state = remember_gone(state, event.uid)
    if orphan is not None and orphan.uid == event.uid:
        return replace(state, orphan_submitter=None)
    if known is None:
        return state
    state = replace(state, lost_children=state.lost_children or not event.asked)
    if event.asked or standing(state) is not Phase.RUNNING:
        return replace(state, submitter=None)
    if known.outcome:  # how it ended still matters; one made in its place is found by name
        ended = replace(known, uid="", deleting=False, delete_asked=False)
        return replace(state, submitter=ended)
    lost = replace(known, outcome="Vanished", finished_at=event.at, deleting=False)
    attempt = replace(state.attempt, look_wanted=True) if state.attempt is not None else None
    return replace(state, submitter=lost, attempt=attempt)


def _part_vanished(state: RayJobState, event: events.PartVanished) -> RayJobState:
    """Return the state in which it is asked for as if it had never been made."""
    if event.kind == SERVICE:
        return replace(state, service_leads_to="")
    attempt = replace(state.attempt, pod_group=False) if state.attempt is not None else None
    return replace(state, attempt=attempt, pod_group_held=False)


def _began_anew(before: Entrypoint, event: events.EntrypointObserved) -> bool:
    """Return whether another run goes on under the id of one that was running.

    The head was started again and a submitter has handed the entrypoint in once more; the run that
    this attempt is about is not known any more.
    """
    if before.status is not JobStatus.RUNNING or event.status in ENDED:
        return False
    if before.started_at is None or event.started_at is None:
        return event.status is JobStatus.PENDING
    return event.started_at > before.started_at


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
        missed=_began_anew(before, event) and not recovers_lost_heads(state),
    )
    paused = state.phase is Phase.VALIDATION_FAILED
    message = state.message if paused else event.message
    return replace(_looked(state), entrypoint=entrypoint, message=message)
