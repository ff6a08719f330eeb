"""Where the evidence of a RayJob's attempts is found."""

from collections.abc import Sequence

from jobledger.core.jobs.control.dormancy import is_leaving
from jobledger.core.jobs.evidence.scene import (
    AttemptScene,
    EvidenceRules,
    SceneObject,
    job_is_short,
)
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.rayjob.events.lifecycle import (
    AttemptReachedRunning,
    AttemptReachedWaiting,
    EntrypointObserved,
)
from jobledger.core.rayjob.phases import JobStatus, Phase
from jobledger.core.rayjob.state import RayJobState, selects_cluster
from jobledger.core.values.documents import Manifest, child, number, text

_UNDER_WAY = frozenset({Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING})


def _whole(identity: JobIdentity, state: RayJobState) -> SceneObject:
    del identity
    attempt = state.attempt
    name = attempt.cluster_name if attempt is not None and not attempt.cleared else ""
    is_own = state.cluster is not None and not selects_cluster(state)
    uid = state.cluster.uid if state.cluster is not None and is_own else ""
    return SceneObject(kind="RayCluster", name=name, uid=uid)


def _scene(state: RayJobState, kind: str) -> AttemptScene | None:
    """Return what is known; None of a submitter where the Ray job has said why it ended.

    To find the Kubernetes Events of one object, the API server looks through all those of the
    namespace: they are left out then, and of a submitter nothing is asked: it has seen less than
    the head. They are left out as well where a running Ray job is suspended or deleted: as many are
    at once as run, and each look would grow with their number.
    """
    attempt, entrypoint = state.attempt, state.entrypoint
    if attempt is None or (entrypoint.explains_itself and kind == "Job"):
        return None
    on_head = kind == "RayCluster"
    return AttemptScene(
        attempt=attempt.number,
        address=attempt.address if on_head else "",
        job_id=attempt.job_id if on_head else "",
        is_well=entrypoint.explains_itself,
        is_stopped=_is_asked_to_end(state) and entrypoint.status is JobStatus.RUNNING,
        began=entrypoint.started_at,
        is_over=state.phase not in _UNDER_WAY,
    )


def _is_asked_to_end(state: RayJobState) -> bool:
    return state.phase is Phase.SUSPENDING or is_leaving(state)


def _beside(state: RayJobState) -> Sequence[SceneObject]:
    """Return the submitter: where it could not hand in the entrypoint, only its log says why."""
    known = state.submitter
    return () if known is None else (SceneObject(kind="Job", name=known.name, uid=known.uid),)


def _waits_now(identity: JobIdentity, state: RayJobState) -> SceneObject | None:
    """Return the RayCluster until it is ready, then the submitter until Ray knows the job."""
    if state.phase is Phase.INITIALIZING:
        return _whole(identity, state)
    if state.phase is Phase.RUNNING and state.entrypoint.status is JobStatus.NEW:
        return next(iter(_beside(state)), None)
    return None


def _is_short(found: Manifest, pods: int) -> bool:
    """Return whether Pods of a RayCluster, or of a submitter, are not created.

    Source: raycluster_types.go, RayClusterStatus.
    """
    if text(found, "kind") == "Job":
        return job_is_short(found)
    workers = number(found, "status", "desiredWorkerReplicas") or 0
    return child(found, "spec").get("suspend") is not True and pods < 1 + workers


RAYJOB_EVIDENCE = EvidenceRules(
    pods_stay=True,
    beside_from=(AttemptReachedRunning, AttemptReachedWaiting),
    waits_until=(EntrypointObserved,),
    waits_now=_waits_now,
    before={EffectKind.DELETE_CLUSTER: "RayCluster", EffectKind.DELETE_SUBMITTER: "Job"},
    whole=_whole,
    beside=_beside,
    scene=_scene,
    is_short=_is_short,
    well_pods_of=frozenset({"Job"}),
)
