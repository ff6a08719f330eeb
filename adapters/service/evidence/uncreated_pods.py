"""Finds what of an attempt has fewer Pods than it is to have, and was refused to create them.

A quota, a limit or a policy that refuses a Pod leaves nothing but Kubernetes Events: its controller
tries again, and no status says why. To find those about one object the API server looks through all
of the namespace, so they are asked for only of objects that are short of Pods.
"""

from collections.abc import Iterator, Sequence

from jobledger.adapters.service.evidence.own_pods import RESOURCES, jobs_of
from jobledger.core.jobs.evidence.scene import SceneObject, job_is_short
from jobledger.core.kinds import JobState, kind_of
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, Cluster
from jobledger.core.ports.evidence import PodWitness
from jobledger.core.values.documents import Manifest, text

JOBS_MAX = 2
"""Jobs of one JobSet about which Kubernetes Events are asked for; its others wait for the same."""


def refused_creators(
    cluster: Cluster,
    witness: PodWitness,
    state: JobState,
    namespace: str,
    about: SceneObject,
    pods: Sequence[Manifest],
) -> tuple[SceneObject, ...]:
    """Return what is short of Pods and was warned of; `about` has these. Raises as the ports do."""
    return tuple(
        one
        for one in _short(cluster, state, namespace, about, pods)
        if any(
            text(event, "type") == "Warning" and text(event, "involvedObject", "uid") == one.uid
            for event in witness.events_about(namespace, one.kind, one.name)
        )
    )


def _short(
    cluster: Cluster,
    state: JobState,
    namespace: str,
    about: SceneObject,
    pods: Sequence[Manifest],
) -> Iterator[SceneObject]:
    """Yield the object if it is short of Pods; of a JobSet also its Jobs that are."""
    found = cluster.get(RESOURCES[about.kind], namespace, about.name)
    if found is None or text(found, "metadata", "uid") != about.uid:
        return
    is_set = about.kind == JOBSETS.kind
    jobs = jobs_of(cluster, namespace, about) if is_set else ()
    if kind_of(state).evidence.is_short(found, len(jobs if is_set else pods)):
        yield about
    for job in [one for one in jobs if job_is_short(one)][:JOBS_MAX]:
        name, uid = text(job, "metadata", "name"), text(job, "metadata", "uid")
        yield SceneObject(kind=BATCH_JOBS.kind, name=name, uid=uid)
