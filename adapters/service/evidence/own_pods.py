"""Finds the Pods of a job's own objects, by the chain of controller ownerReferences.

Pods are found by labels, which anybody who may create a Pod may write. What is kept of one, and
whether its log is read, is decided by its controller (`core.jobs.control.ownership`): the
RayCluster or the submitter, or a Job of the JobSet, whose own controller is the job.
"""

from collections.abc import Iterable, Mapping, Sequence

from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.core.jobs.control.ownership import Controller, controller_of, is_controlled_by
from jobledger.core.jobs.evidence.scene import SceneObject
from jobledger.core.kinds import KINDS
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, PODS, Cluster, Resource
from jobledger.core.values.documents import Manifest, text

RESOURCES: Mapping[str, Resource] = {
    made.kind: made for kind in KINDS.values() for made in kind.api.made
}
"""Kinds of objects that attempts run as."""


def own_uid(
    cluster: Cluster, live: ObjectCache, job: CachedJob, kind: str, name: str, known: str
) -> str:
    """Return the UID of the job's own object of a name; empty if it has none.

    `known` is the UID that the log knows of such an object: it may have gone, and its Pods not
    yet; another that was made since in its place has other Pods. Raises as the port does.
    """
    namespace, owner = job.identity.namespace, job.identity.uid
    seen = live.child_named(kind, namespace, name)
    if seen is not None and seen.owner_uid == owner:
        return known or seen.uid
    found = cluster.get(RESOURCES[kind], namespace, name)
    if found is None:
        return known
    uid = text(found, "metadata", "uid")
    if is_controlled_by(found, owner):
        return known or uid
    return "" if uid == known else known


def own_pods(
    cluster: Cluster, live: ObjectCache, namespace: str, about: SceneObject
) -> Sequence[Manifest]:
    """Return the Pods of an object, whose UID is known. Raises as the port does."""
    selector = f"{RESOURCES[about.kind].pod_label}={about.name}"
    listed = cluster.list(PODS, namespace, selector).items
    if about.kind != JOBSETS.kind:
        return controlled_by(listed, {about.uid})
    owners = {owner.uid for one in listed if (owner := controller_of(one)) is not None}
    known = {uid for uid in owners if live.job_owners.jobset_of(uid) == about.uid}
    if known < owners:
        known |= _uids_of_jobs(cluster, namespace, about)
    return controlled_by(listed, known)


def is_own_pod(
    cluster: Cluster, live: ObjectCache, namespace: str, controller: Controller, about: SceneObject
) -> bool:
    """Return whether a Pod that such a controller has is one of an object. Raises as the port."""
    if about.kind != JOBSETS.kind:
        return controller.uid == about.uid
    if jobset := live.job_owners.jobset_of(controller.uid):
        return jobset == about.uid
    return controller.uid in _uids_of_jobs(cluster, namespace, about)


def jobs_of(cluster: Cluster, namespace: str, jobset: SceneObject) -> Sequence[Manifest]:
    """Return the Jobs that a JobSet controls. Raises as the port does."""
    jobs = cluster.list(BATCH_JOBS, namespace, f"{JOBSETS.pod_label}={jobset.name}").items
    return controlled_by(jobs, {jobset.uid})


def _uids_of_jobs(cluster: Cluster, namespace: str, jobset: SceneObject) -> set[str]:
    return {text(one, "metadata", "uid") for one in jobs_of(cluster, namespace, jobset)}


def controlled_by(manifests: Iterable[Manifest], uids: Iterable[str]) -> Sequence[Manifest]:
    """Return the objects whose controller has one of these UIDs."""
    wanted = frozenset(uids) - {""}
    found = ((one, controller_of(one)) for one in manifests)
    return [one for one, owner in found if owner is not None and owner.uid in wanted]
