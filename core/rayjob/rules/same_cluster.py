"""Whether the next attempt runs on the RayCluster of the last, where a job asks for that.

Only where nothing of the failed attempt goes on there, and nothing speaks against the RayCluster:
else the next attempt gets a new one, as every attempt does that does not ask. Wanted in
kuberay#4668, where making the RayCluster anew costs minutes and quota.
"""

from msgspec.structs import replace

from jobledger.core.rayjob.names import submission_id
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.spec.retry_annotations import always_a_new_cluster
from jobledger.core.rayjob.state import Attempt, KnownManifest, RayJobState

_APP_FAILED = "AppFailed"


def why_new_cluster(state: RayJobState, reason: str) -> str:
    """Return why an attempt that failed for `reason` is followed by one on a new RayCluster.

    Empty: it is not. Asked as the retry is granted, of a job that wants the same.
    """
    entrypoint = state.entrypoint
    if reason != _APP_FAILED or entrypoint.status is not JobStatus.FAILED:
        status = entrypoint.status.value or "nothing"
        return f"{reason}, and Ray says {status}: the Ray job may go on, or never be taken"
    return why_unfit(state)


def why_unfit(state: RayJobState) -> str:
    """Return why the next attempt cannot run on the RayCluster of the last; empty if it can."""
    why = why_unfit_by_manifest(state)
    if why or state.attempt is None:
        return why
    return _by_cluster(state, state.attempt)


def why_unfit_by_manifest(state: RayJobState) -> str:
    """Return what of the job itself speaks against it; empty if nothing does."""
    attempt, manifest = state.attempt, state.manifest
    if attempt is None or manifest is None:
        return "nothing is known of it"
    return _by_manifest(state, attempt, manifest)


def had_it_asked(state: RayJobState) -> RayJobState:
    """Return the state of the job as if it asked for the same RayCluster."""
    manifest = state.manifest
    if manifest is None:
        return state
    options = replace(manifest.options, same_cluster=True)
    return replace(state, manifest=replace(manifest, options=options))


def why_new_if_asked(state: RayJobState, reason: str) -> str:
    """Return why the next attempt would run on a new RayCluster, had the job asked for the same.

    Empty: it would not. `state` is that in which the last attempt failed for `reason`.
    """
    asked = had_it_asked(state)
    if asked.manifest is None:
        return why_unfit(asked)
    never = always_a_new_cluster(asked.manifest.spec, asked.manifest.options)
    return never or why_new_cluster(asked, reason)


def _by_manifest(state: RayJobState, attempt: Attempt, manifest: KnownManifest) -> str:
    identity = state.identity
    assert identity is not None, "an attempt is somebody's"
    if not manifest.options.same_cluster:
        return "the job does not ask for it any more"
    if manifest.spec.suspend:
        return "the job is to be suspended"
    if manifest.generation != attempt.generation:
        return "the specification was edited since the attempt began"
    if attempt.job_id != submission_id(identity.name, identity.uid, attempt.number):
        return "which Ray jobs its head has had is not known"
    return ""


def _by_cluster(state: RayJobState, attempt: Attempt) -> str:
    cluster, head, name = state.cluster, state.head, attempt.cluster_name
    if cluster is None or not cluster.uid:
        return f"RayCluster {name} is gone"
    if cluster.deleting or cluster.delete_asked:
        return f"RayCluster {name} is being deleted"
    if attempt.head_lost or attempt.cluster_lost:
        return f"the head of RayCluster {name} went or was started again"
    if head is not None and head.taken:
        return f"the head of RayCluster {name} is taken away: {head.taken}"
    if cluster.state != "ready" or not cluster.address:
        return f"RayCluster {name} is {cluster.state or 'not ready'}"
    return ""
