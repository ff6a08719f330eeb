"""Finds what keeps Pods of an attempt from being created, from beginning, or from being ready.

A quota, a limit or a policy that refuses a Pod leaves nothing but Kubernetes Events: its controller
tries again, and no status says why. A Pod that waits for a volume or its network looks like one
whose image is being pulled, and one whose probe fails just is not ready. To find the Events about
one object the API server looks through all of the namespace, so they are asked for only of what is
short of Pods, and of Pods that wait.

Where no controller has taken an object up there is not even an Event: it has no status.
"""

from collections.abc import Collection, Iterator, Sequence

from jobledger.adapters.service.evidence.own_pods import RESOURCES, jobs_of
from jobledger.core.jobs.evidence.pods import pods_kept, waits_quietly
from jobledger.core.jobs.evidence.scene import SceneObject, job_is_short
from jobledger.core.jobs.evidence.untouched import is_untouched
from jobledger.core.kinds import JobState, kind_of
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, PODS, Cluster
from jobledger.core.ports.evidence import PodWitness
from jobledger.core.values.documents import Manifest, text

ASKED_ABOUT_MAX = 2
"""Pods, and Jobs of one JobSet, about which Events are asked for; others wait for the same."""


def warned_of(
    cluster: Cluster,
    witness: PodWitness,
    state: JobState,
    namespace: str,
    about: SceneObject,
    pods: Sequence[Manifest],
) -> tuple[SceneObject, ...]:
    """Return the objects that Kubernetes warns of; `about` has these Pods. Raises as the ports."""
    reasons = {
        SceneObject(kind=PODS.kind, name=pod.name, uid=pod.uid): told
        for pod in pods_kept(pods, str)
        if (told := waits_quietly(pod))
    }
    waiting = tuple(reasons)[:ASKED_ABOUT_MAX]
    return tuple(
        one
        for one in (*waiting, *_short_of_pods(cluster, state, namespace, about, pods))
        if any(
            _warns(event, one.uid, reasons.get(one, ()))
            for event in witness.events_about(namespace, one.kind, one.name)
        )
    )


def nobody_took_up(cluster: Cluster, namespace: str, about: SceneObject) -> bool:
    """Return whether an object is there without a status. Raises as the cluster does."""
    found = _found(cluster, namespace, about)
    return found is not None and is_untouched(found)


def _found(cluster: Cluster, namespace: str, about: SceneObject) -> Manifest | None:
    found = cluster.get(RESOURCES[about.kind], namespace, about.name)
    return found if found is not None and text(found, "metadata", "uid") == about.uid else None


def _warns(event: Manifest, uid: str, reasons: Collection[str]) -> bool:
    """Return whether an Event warns of an object, for one of the reasons if there are any."""
    is_of_these = not reasons or text(event, "reason") in reasons
    is_about = text(event, "involvedObject", "uid") == uid
    return is_about and is_of_these and text(event, "type") == "Warning"


def _short_of_pods(
    cluster: Cluster,
    state: JobState,
    namespace: str,
    about: SceneObject,
    pods: Sequence[Manifest],
) -> Iterator[SceneObject]:
    """Yield the object if it is short of Pods; of a JobSet also its Jobs that are."""
    found = _found(cluster, namespace, about)
    if found is None:
        return
    is_set = about.kind == JOBSETS.kind
    jobs = jobs_of(cluster, namespace, about) if is_set else ()
    if kind_of(state).evidence.is_short(found, len(jobs if is_set else pods)):
        yield about
    for job in [one for one in jobs if job_is_short(one)][:ASKED_ABOUT_MAX]:
        name, uid = text(job, "metadata", "name"), text(job, "metadata", "uid")
        yield SceneObject(kind=BATCH_JOBS.kind, name=name, uid=uid)
