"""Events of a RayJob that another controller drives, with the reasons why its children went.

Nothing is decided here and nothing done: no effect is asked for, no decision is pending. Facts are
written down as of any job; what the other controller decided is inferred (`core.rayjob.inference`).
"""

from typing import assert_never

from msgspec.structs import replace

from jobledger.core.jobs import observations as shared
from jobledger.core.jobs.events import LedgerBehindFound
from jobledger.core.rayjob.decide.on_children import (
    on_cluster_gone,
    on_cluster_seen,
    on_submitter_gone,
    on_submitter_seen,
)
from jobledger.core.rayjob.decide.on_head import on_head_pod_gone, on_head_pod_seen
from jobledger.core.rayjob.decide.on_manifest import on_manifest_gone
from jobledger.core.rayjob.events.lifecycle import (
    ClusterVanished,
    OrphanClusterFound,
    RayJobEvent,
    SubmitterObserved,
    SubmitterVanished,
)
from jobledger.core.rayjob.observations import observations as seen
from jobledger.core.rayjob.phases import FINAL, Phase
from jobledger.core.rayjob.state import RayJobState, selects_cluster

News = tuple[RayJobEvent, ...]


def recorded_facts(  # noqa: C901, PLR0911, PLR0912 one case per observation
    state: RayJobState, observation: seen.RayJobOwn | shared.EffectEnded | shared.DecisionDue
) -> News:
    """Return the facts that an observation brings; not those of the manifest itself."""
    as_any = replace(state, recorded=None)
    match observation:
        case seen.ClusterSeen():
            return _own(on_cluster_seen(as_any, observation))
        case seen.ClusterGone() if _is_left(state, observation):
            return (_left(observation),)
        case seen.ClusterGone():
            return tuple(_explained(state, one) for one in on_cluster_gone(as_any, observation))
        case seen.SubmitterSeen():
            return _own(on_submitter_seen(as_any, observation))
        case seen.SubmitterGone():
            return tuple(_explained(state, one) for one in on_submitter_gone(as_any, observation))
        case seen.HeadPodSeen():
            return on_head_pod_seen(as_any, observation)
        case seen.HeadPodGone():
            return on_head_pod_gone(as_any, observation)
        case seen.ManifestGone():
            return on_manifest_gone(state, observation)
        case shared.EffectEnded() | shared.DecisionDue():
            return ()  # what was under way was dropped when the job was released
        case seen.PollAnswered() | seen.PollNotFound() | seen.PollUnanswered() | seen.PodsSeen():
            return ()  # a question that was on its way when the job was released
        case seen.PartGone():
            return ()  # as this one
        case seen.ManifestSeen():
            return ()
        case _:
            assert_never(observation)


def _is_left(state: RayJobState, gone: seen.ClusterGone) -> bool:
    """Return whether a RayCluster that is gone was that of an attempt which is over."""
    left = state.recorded.left if state.recorded is not None else ()
    return any(one.uid == gone.uid for one in left)


def _left(gone: seen.ClusterGone) -> RayJobEvent:
    return ClusterVanished(
        at=gone.at, name=gone.name, uid=gone.uid, asked=True, inferred="its attempt is over"
    )


def _own(found: News) -> News:
    """Leave out what is told of objects that belong to no attempt: the other may still name it."""
    return tuple(
        one
        for one in found
        if not isinstance(one, OrphanClusterFound | LedgerBehindFound)
        and not (isinstance(one, SubmitterObserved) and one.orphan)
    )


def _explained(state: RayJobState, event: RayJobEvent) -> RayJobEvent:
    """Return that a child is gone, with why the controller in charge must have deleted it."""
    if isinstance(event, ClusterVanished | SubmitterVanished) and (why := _why_deleted(state)):
        return replace(event, asked=True, inferred=why)
    return event


def _why_deleted(state: RayJobState) -> str:
    """Return why the controller in charge deletes what the attempt made; empty if it does not."""
    manifest = state.manifest
    if manifest is None or selects_cluster(state):
        return ""
    if manifest.deleting_at is not None:
        return "the RayJob is being deleted"
    if state.phase is Phase.RETRYING:
        return "the attempt failed and is retried"
    if state.phase is Phase.SUSPENDING:
        return "the job is suspended"
    if state.phase in FINAL and manifest.spec.has_deletion_strategy:
        return "deletionStrategy"
    if state.phase in FINAL and manifest.spec.shutdown_after_job_finishes:
        return "shutdownAfterJobFinishes"
    return ""
