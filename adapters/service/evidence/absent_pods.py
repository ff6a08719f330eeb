"""Finds what keeps Pods of an attempt from being created, from beginning, or from being ready.

A quota, a limit or a policy that refuses a Pod leaves nothing but Kubernetes Events: its controller
tries again, and no status says why. A Pod that waits for a volume or its network looks like one
whose image is being pulled, and one whose probe fails just is not ready. To find the Events about
one object the API server looks through all of the namespace, so they are asked for only of what is
short of Pods, and of Pods that wait.

Where no controller has taken an object up there is not even an Event: it has no status.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from jobledger.adapters.service.evidence.own_pods import RESOURCES, jobs_of
from jobledger.core.jobs.evidence.pods import pods_kept, waits_quietly
from jobledger.core.jobs.evidence.scene import SceneObject, job_is_short
from jobledger.core.jobs.evidence.untouched import UNTOUCHED, is_untouched
from jobledger.core.kinds import JobState, kind_of
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, PODS, Cluster
from jobledger.core.ports.evidence import PodWitness
from jobledger.core.values.documents import Manifest, text

ASKED_ABOUT_MAX = 2
"""Pods, and Jobs of one JobSet, about which Events are asked for; others wait for the same."""


@dataclass(frozen=True, slots=True)
class KeptAway:
    """What keeps Pods away, where none of them is in trouble by its own status."""

    warned: tuple[SceneObject, ...] = ()
    """Objects that Kubernetes warns of."""
    is_untouched: bool = False
    """Whether there are no Pods, and no controller has taken up the object that is to have them."""

    @property
    def words(self) -> frozenset[str]:
        """Return what Pods wait for, in a word each; nothing if nothing keeps them away."""
        untouched = (UNTOUCHED,) if self.is_untouched else ()
        return frozenset((*(one.kind for one in self.warned), *untouched))


def kept_away(
    cluster: Cluster,
    witness: PodWitness,
    state: JobState,
    namespace: str,
    about: SceneObject,
    pods: Sequence[Manifest],
) -> KeptAway:
    """Return what keeps Pods away of an object that has these. Raises as the ports."""
    found = _found(cluster, namespace, about)
    reasons = {
        SceneObject(kind=PODS.kind, name=pod.name, uid=pod.uid): told
        for pod in pods_kept(pods, str)
        if (told := waits_quietly(pod))
    }
    waiting = tuple(reasons)[:ASKED_ABOUT_MAX]
    short = () if found is None else _short_of_pods(cluster, state, namespace, about, found, pods)
    warned = tuple(
        one
        for one in (*waiting, *short)
        if any(
            _warns(event, one.uid, reasons.get(one, ()))
            for event in witness.events_about(namespace, one.kind, one.name)
        )
    )
    nobody_there = found is not None and is_untouched(found) and not (pods or warned)
    return KeptAway(warned, is_untouched=nobody_there)


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
    found: Manifest,
    pods: Sequence[Manifest],
) -> Iterator[SceneObject]:
    """Yield the object, `found` so, if it is short of Pods; of a JobSet also its Jobs that are."""
    is_set = about.kind == JOBSETS.kind
    jobs = jobs_of(cluster, namespace, about) if is_set else ()
    if kind_of(state).evidence.is_short(found, len(jobs if is_set else pods)):
        yield about
    for job in [one for one in jobs if job_is_short(one)][:ASKED_ABOUT_MAX]:
        name, uid = text(job, "metadata", "name"), text(job, "metadata", "uid")
        yield SceneObject(kind=BATCH_JOBS.kind, name=name, uid=uid)
