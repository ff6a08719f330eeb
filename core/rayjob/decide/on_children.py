"""Events that follow from an observation of the RayCluster, the submitter or a part beside them.

News of a child that is known to be gone is late news and ignored, unless etcd was restored
(`core.jobs.control.went_back`). A RayCluster that carries the job's UID but belongs to no present
attempt (a create request that arrived after its attempt had ended) is an orphan, and deleted; so is
one that has the place of another, and a submitter of an earlier attempt.
"""

from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.control.went_back import is_late_news
from jobledger.core.jobs.pending.effects import EffectKind, is_under_way
from jobledger.core.rayjob.decide.on_lost_history import behind_by_cluster, behind_by_submitter
from jobledger.core.rayjob.events.lifecycle import (
    ClusterObserved,
    ClusterVanished,
    OrphanClusterFound,
    OrphanClusterVanished,
    PartVanished,
    RayJobEvent,
    SubmitterFinished,
    SubmitterObserved,
    SubmitterVanished,
)
from jobledger.core.rayjob.names import submitter_name
from jobledger.core.rayjob.names_ahead import number_ahead
from jobledger.core.rayjob.observations.observations import (
    ClusterGone,
    ClusterSeen,
    PartGone,
    SubmitterGone,
    SubmitterSeen,
)
from jobledger.core.rayjob.parts import needed_parts
from jobledger.core.rayjob.state import KnownCluster, RayJobState, is_final, selects_cluster


def on_cluster_seen(state: RayJobState, seen: ClusterSeen) -> tuple[RayJobEvent, ...]:
    """Return what is new about a RayCluster."""
    attempt = state.attempt
    if is_dormant(state) or is_late_news(seen.uid, state.gone, seen.instead_of):
        return ()
    current = attempt is not None and seen.name == attempt.cluster_name and not attempt.cleared
    known_orphan = any(orphan.uid == seen.uid for orphan in state.orphans)
    if _is_in_its_place(state, seen) or known_orphan:
        current = False  # until somebody tells that the known one is gone; an orphan is deleted
    elif current or (_is_selected(state, seen) and not _has_begun(state)):
        return _current_cluster(state, seen)
    if behind := behind_by_cluster(state, seen):
        return behind
    if is_leaving(state) and number_ahead(state, seen.name):
        return ()
    is_anybodys = _is_selected(state, seen) or _was_selected(state, seen)
    if seen.owned and not (seen.deleting or known_orphan or is_anybodys):
        return (OrphanClusterFound(at=seen.at, name=seen.name, uid=seen.uid),)
    return ()


def _is_in_its_place(state: RayJobState, seen: ClusterSeen) -> bool:
    """Return whether it has the name of the known RayCluster and is another, newer or older."""
    known = state.cluster
    return known is not None and known.name == seen.name and known.uid not in ("", seen.uid)


def _is_selected(state: RayJobState, seen: ClusterSeen) -> bool:
    """Return whether it is the RayCluster that the job selects; it is there before any attempt."""
    return state.manifest is not None and seen.name == state.manifest.spec.cluster_selector


def _was_selected(state: RayJobState, seen: ClusterSeen) -> bool:
    """Return whether it has the name of the one that the attempt's job had selected."""
    attempt = state.attempt
    return attempt is not None and attempt.selected and attempt.cluster_name == seen.name


def _has_begun(state: RayJobState) -> bool:
    """Return whether there is an attempt, whose RayCluster no edit changes."""
    return state.attempt is not None and not state.attempt.cleared


def _current_cluster(state: RayJobState, seen: ClusterSeen) -> tuple[RayJobEvent, ...]:
    if not seen.owned and not selects_cluster(state):
        return ()
    known = state.cluster
    if known is not None and _is_as_known(state, known, seen):
        return ()
    return (
        ClusterObserved(
            at=seen.at,
            name=seen.name,
            uid=seen.uid,
            state=seen.state,
            address=seen.address,
            deleting=seen.deleting,
            status=dict(seen.status),
        ),
    )


def _is_as_known(state: RayJobState, known: KnownCluster, seen: ClusterSeen) -> bool:
    """Return whether nothing about a RayCluster is news; how it fares is none after the end."""
    if known.uid != seen.uid or known.deleting != seen.deleting:
        return False
    return is_final(state) or (
        known.state == seen.state and known.address == seen.address and known.status == seen.status
    )


def on_cluster_gone(state: RayJobState, gone: ClusterGone) -> tuple[RayJobEvent, ...]:
    """Return that the job's RayCluster, or an orphan, is gone."""
    if is_dormant(state) or gone.uid in state.gone:
        return ()
    if any(orphan.uid == gone.uid for orphan in state.orphans):
        return (OrphanClusterVanished(at=gone.at, name=gone.name, uid=gone.uid),)
    known = state.cluster
    if known is None or known.name != gone.name or known.uid not in ("", gone.uid):
        return ()
    deletion = EffectKind.DELETE_CLUSTER
    asked = known.delete_asked or is_under_way(state.effects, deletion, known.name)
    return (ClusterVanished(at=gone.at, name=gone.name, uid=gone.uid, asked=asked),)


def on_submitter_seen(state: RayJobState, seen: SubmitterSeen) -> tuple[RayJobEvent, ...]:
    """Return what is new about the submitter."""
    attempt, identity, known = state.attempt, state.identity, state.submitter
    if is_dormant(state) or attempt is None or identity is None:
        return ()
    stale = is_late_news(seen.uid, state.gone, seen.instead_of)
    if stale or not seen.owned or is_final(state) or seen.name != submitter_name(identity.name):
        return ()
    if behind := behind_by_submitter(state, seen):
        return behind
    if is_leaving(state) and seen.attempt > attempt.number:
        return ()
    if seen.attempt and (attempt.cleared or seen.attempt != attempt.number):
        return _orphan_submitter(state, seen)
    if attempt.cleared:
        return ()
    named = seen.job_id and attempt.job_id and not seen.attempt
    if named and seen.job_id != attempt.job_id:
        return ()  # others' submitter of another attempt: its watch lags, or is ahead
    events: list[RayJobEvent] = []
    if known is None or known.uid != seen.uid or known.deleting != seen.deleting:
        events.append(
            SubmitterObserved(at=seen.at, name=seen.name, uid=seen.uid, deleting=seen.deleting)
        )
    told = known is not None and known.uid in ("", seen.uid) and known.outcome != ""
    if seen.finished and not told:
        events.append(
            SubmitterFinished(
                at=seen.at,
                name=seen.name,
                uid=seen.uid,
                outcome=seen.finished,
                finished_at=seen.finished_at or seen.at,
                reason=seen.reason,
                message=seen.message,
            )
        )
    return tuple(events)


def _orphan_submitter(state: RayJobState, seen: SubmitterSeen) -> tuple[RayJobEvent, ...]:
    """Return that a submitter belongs to no present attempt, but has the name that all have."""
    known = {item.uid for item in (state.submitter, state.orphan_submitter) if item is not None}
    if seen.deleting or seen.uid in known:
        return ()
    return (SubmitterObserved(at=seen.at, name=seen.name, uid=seen.uid, orphan=True),)


def on_submitter_gone(state: RayJobState, gone: SubmitterGone) -> tuple[RayJobEvent, ...]:
    """Return that the submitter, or an orphan, is gone."""
    known, orphan = state.submitter, state.orphan_submitter
    if orphan is not None and orphan.uid == gone.uid and not is_dormant(state):
        vanished = SubmitterVanished(at=gone.at, name=gone.name, uid=gone.uid, asked=True)
        return (vanished,)
    if is_dormant(state) or known is None or gone.uid in state.gone:
        return ()
    if known.uid not in ("", gone.uid):
        return ()
    deletion = EffectKind.DELETE_SUBMITTER
    asked = known.delete_asked or is_under_way(state.effects, deletion, known.name)
    return (SubmitterVanished(at=gone.at, name=gone.name, uid=gone.uid, asked=asked),)


def on_part_gone(state: RayJobState, gone: PartGone) -> tuple[RayJobEvent, ...]:
    """Return that a part which the job needs is gone, so that it is made again."""
    if (gone.kind, gone.name) not in needed_parts(state):
        return ()
    return (PartVanished(at=gone.at, kind=gone.kind, name=gone.name),)
