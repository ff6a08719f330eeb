"""Events that follow from an observation of the head Pod.

KubeRay puts another Pod in place of one that went, and what ran on the head has gone with the old
one. A Pod of another UID therefore also tells that the one before is gone.
"""

from jobledger.core.jobs.control.dormancy import is_dormant
from jobledger.core.rayjob.events.lifecycle import (
    HeadPodObserved,
    HeadPodVanished,
    RayJobEvent,
    SidecarFinished,
)
from jobledger.core.rayjob.observations.observations import HeadPodGone, HeadPodSeen
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.state import KnownHead, RayJobState, is_sidecar, keeps_cluster, standing
from jobledger.core.values.instants import Instant

ATTENDED = frozenset({Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING})
"""Phases in which the attempt needs its head."""


def on_head_pod_seen(state: RayJobState, seen: HeadPodSeen) -> tuple[RayJobEvent, ...]:
    """Return what is new about the head; a Pod on its way out is no new head."""
    known = state.head
    if not _concerns(state, seen) or seen.uid in state.gone:
        return ()
    is_known = known is not None and known.uid == seen.uid
    events: list[RayJobEvent] = []
    if not is_known:
        if seen.deleting:
            return ()
        if known is not None:
            events.append(_vanished(known, seen.at))
    if known is None or not is_known or _says_more(known, seen):
        events.append(
            HeadPodObserved(
                at=seen.at,
                name=seen.name,
                uid=seen.uid,
                taken=seen.taken,
                restarts=seen.restarts,
                ended=seen.ended,
                keeps_jobs=seen.keeps_jobs,
                deleting=seen.deleting,
            )
        )
    if seen.finished and is_sidecar(state) and state.sidecar is None:
        events.append(
            SidecarFinished(
                at=seen.at,
                name=seen.name,
                uid=seen.uid,
                outcome=seen.finished,
                finished_at=seen.finished_at or seen.at,
                message=seen.message,
            )
        )
    if seen.over:
        taken = seen.taken or (known.taken if known is not None and is_known else "")
        events.append(HeadPodVanished(at=seen.at, name=seen.name, uid=seen.uid, taken=taken))
    return tuple(events)


def _says_more(known: KnownHead, seen: HeadPodSeen) -> bool:
    """Return whether a head that is known is taken away or deleted now, or was started again."""
    leaves = seen.deleting and not known.deleting
    return leaves or seen.taken not in ("", known.taken) or seen.restarts > known.restarts


def _vanished(known: KnownHead, at: Instant) -> HeadPodVanished:
    return HeadPodVanished(at=at, name=known.name, uid=known.uid, taken=known.taken)


def on_head_pod_gone(state: RayJobState, gone: HeadPodGone) -> tuple[RayJobEvent, ...]:
    """Return that the head's Pod is gone, where the attempt needs it."""
    known, attempt = state.head, state.attempt
    if is_dormant(state) or attempt is None or attempt.cleared or known is None:
        return ()
    if known.uid != gone.uid or not _is_needed(state):
        return ()
    return (_vanished(known, gone.at),)


def _concerns(state: RayJobState, seen: HeadPodSeen) -> bool:
    """Return whether it is a head of the present attempt's RayCluster."""
    attempt, cluster = state.attempt, state.cluster
    if is_dormant(state) or attempt is None or attempt.cleared:
        return False
    other = cluster is not None and cluster.uid not in ("", seen.cluster_uid)
    present = seen.cluster == attempt.cluster_name and not other
    return present and _is_needed(state)


def _is_needed(state: RayJobState) -> bool:
    """Return whether an attempt needs the head: the present one, or the next on its RayCluster."""
    return standing(state) in ATTENDED or keeps_cluster(state)
