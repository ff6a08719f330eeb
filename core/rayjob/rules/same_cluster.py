"""Whether the next attempt runs on the RayCluster of the last, where a job asks for that.

Only where nothing of the failed attempt goes on there, and nothing speaks against the RayCluster:
else the next attempt gets a new one, as every attempt does that does not ask. Wanted in
kuberay#4668, where making the RayCluster anew costs minutes and quota.
"""

from jobledger.core.rayjob.names import submission_id
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.rayjob.state import Attempt, Failing, KnownManifest, RayJobState

_APP_FAILED = "AppFailed"


def why_new_cluster(state: RayJobState, failing: Failing) -> str:
    """Return why a failed attempt is followed by one on a new RayCluster; empty: it is not.

    Asked as the retry is granted, of a job that wants the same.
    """
    entrypoint = state.entrypoint
    if failing.reason != _APP_FAILED or entrypoint.status is not JobStatus.FAILED:
        status = entrypoint.status.value or "nothing"
        return f"{failing.reason}, and Ray says {status}: the Ray job may go on, or never be taken"
    return why_unfit(state)


def why_unfit(state: RayJobState) -> str:
    """Return why the next attempt cannot run on the RayCluster of the last; empty if it can."""
    attempt, manifest = state.attempt, state.manifest
    if attempt is None or manifest is None:
        return "nothing is known of it"
    return _by_manifest(state, attempt, manifest) or _by_cluster(state, attempt)


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
