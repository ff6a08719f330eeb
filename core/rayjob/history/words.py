"""Words for the events of a RayJob."""

from collections.abc import Iterator
from typing import assert_never

from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.rayjob.events import lifecycle as rayjob
from jobledger.core.rayjob.events.lifecycle import FactEvent, LifeEvent
from jobledger.core.rayjob.history.report_news import READY
from jobledger.core.rayjob.observations.pods import PodLook
from jobledger.core.values.counted import counted
from jobledger.core.values.documents import Manifest


def words(event: FactEvent | LifeEvent) -> str:
    """Return what an event says."""
    if isinstance(event, FactEvent):
        return _fact(event)
    return _life(event)


def _fact(event: FactEvent) -> str:  # noqa: C901, PLR0911, PLR0912 one case per event
    match event:
        case rayjob.EntrypointObserved():
            code = "" if event.exit_code is None else f", exit code {event.exit_code}"
            said = f": {event.message}" if event.message else ""
            return f"Ray says {event.status}{code}{said}"
        case rayjob.ClusterObserved():
            leaving = ", being deleted" if event.deleting else ""
            return f"RayCluster {event.name} is {event.state or 'starting'}{leaving}{_lacks(event)}"
        case rayjob.ClusterVanished():
            return f"RayCluster {event.name} is gone{'' if event.asked else ', unasked'}"
        case rayjob.OrphanClusterFound():
            return f"RayCluster {event.name} belongs to no attempt"
        case rayjob.OrphanClusterVanished():
            return f"RayCluster {event.name} is gone"
        case rayjob.SubmitterObserved():
            return f"submitter {event.name} is there"
        case rayjob.SubmitterFinished():
            why = f" ({event.reason}: {event.message})" if event.reason else ""
            return f"submitter {event.name} ended: {event.outcome}{why}"
        case rayjob.SubmitterVanished():
            return f"submitter {event.name} is gone{'' if event.asked else ', unasked'}"
        case rayjob.EntrypointMissed():
            return f"the head does not know {event.job_id}"
        case rayjob.StatusCheckFailed():
            return f"the head does not answer: {event.trouble}"
        case rayjob.StatusCheckRecovered():
            return "the head answers again"
        case rayjob.HeadPodObserved():
            return _head(event)
        case rayjob.HeadPodVanished():
            return f"head Pod {event.name} is gone"
        case rayjob.PodsObserved():
            return _pods(event)
        case rayjob.PartVanished():
            return f"{event.kind} {event.name} is gone, unasked"
        case rayjob.SidecarFinished():
            why = f" ({event.message})" if event.message else ""
            return f"submitter beside the head ended: {event.outcome}{why}"
        case _:
            assert_never(event)


def _life(event: LifeEvent) -> str:  # noqa: C901, PLR0911, PLR0912 one case per event
    match event:
        case rayjob.JobDiscovered():
            return f"RayJob {event.identity.namespace}/{event.identity.name} was seen"
        case rayjob.JobAdopted():
            found = event.status.phase or "New"
            return f"found in phase {found}; what had happened before was not seen"
        case rayjob.ManifestReceived():
            return f"manifest generation {event.generation}"
        case rayjob.ManifestRejected():
            return f"manifest is not valid: {event.message}"
        case rayjob.ManifestAccepted():
            return "manifest is valid again"
        case rayjob.AttemptStarted():
            job = f", its Ray job is {event.job_id}" if event.job_id else ""
            same = ", that of the attempt before" if event.same_cluster else ""
            return f"attempt {event.attempt} began on RayCluster {event.cluster_name}{same}{job}"
        case rayjob.AttemptReachedRunning():
            return f"attempt {event.attempt} is running"
        case rayjob.AttemptReachedWaiting():
            return f"attempt {event.attempt} waits for spec.jobId"
        case rayjob.SubmissionNamed():
            return f"the user named submission {event.job_id}"
        case rayjob.AttemptFailed():
            return f"attempt {event.attempt} failed: {event.reason}: {event.message}"
        case rayjob.FailureNoticed():
            return f"attempt {event.attempt} has failed ({event.reason}); its Pods are looked at"
        case rayjob.RetryGranted():
            return f"retry granted: {event.rule}{_evidence(event)}{_which_cluster(event)}"
        case rayjob.RetryRefused():
            return f"retry refused: {event.rule}{_evidence(event)}"
        case rayjob.AttemptCleared():
            but = f" but RayCluster {event.kept_cluster}" if event.kept_cluster else ""
            return f"nothing of attempt {event.attempt} is left{but}"
        case rayjob.ClusterGivenUp():
            return f"RayCluster {event.name} does not stay for the next attempt: {event.cause}"
        case rayjob.SuspensionStarted():
            return "the job is being suspended"
        case rayjob.SuspensionPostponed():
            return f"suspension takes effect later: {event.phase} does not honour it"
        case rayjob.ClusterKept():
            return f"RayCluster {event.name} stays: {event.cause}"
        case rayjob.ClusterCovered():
            return f"RayCluster {event.name} is covered by deletionStrategy now"
        case rayjob.JobSuspended():
            return "the job is suspended"
        case rayjob.JobResumed():
            return "the job is resumed"
        case rayjob.JobCompleted():
            return f"the job is complete: {event.job_status}"
        case rayjob.JobFailed():
            return f"the job has failed: {event.reason}"
        case rayjob.DeletionStarted():
            return "deletion of the RayJob was asked for"
        case rayjob.JobDeleted():
            return "the RayJob is gone"
        case rayjob.OthersStatusObserved():
            ray = f", Ray says {event.status.job_status}" if event.status.job_status else ""
            return f"its controller shows {event.status.phase or 'New'}{ray}"
        case rayjob.TransitionsMissed():
            which = f"attempt {event.attempt or 1}"
            if not event.attempt and event.failed > 1:  # none was known of them
                which = f"attempts 1 to {event.failed}"
            return f"how {which} ended was not seen; {event.after or 'New'} was shown next"
        case _:
            assert_never(event)


def _evidence(event: rayjob.RetryGranted | rayjob.RetryRefused) -> str:
    """Return the class that a failure was judged by, and what showed it."""
    if event.evidence:
        return f" ({event.failure}: {event.evidence})"
    return f" ({event.failure})" if event.failure is not FailureClass.OTHER else ""


def _which_cluster(event: rayjob.RetryGranted) -> str:
    """Return on which RayCluster the next attempt runs, where the job asks for the same."""
    if event.keeps_cluster:
        return "; on the same RayCluster"
    return f"; on a new RayCluster: {event.new_cluster_because}" * bool(event.new_cluster_because)


def _head(event: rayjob.HeadPodObserved) -> str:
    if event.taken:
        return f"head Pod {event.name} is taken away: {event.taken}"
    if event.restarts:
        times = f"for the {event.restarts}. time" if event.restarts > 1 else "again"
        return f"head Pod {event.name} was started {times}: {event.ended or 'nobody knows why'}"
    if event.deleting:
        return f"head Pod {event.name} is being deleted"
    return f"head Pod {event.name} is there"


def _pods(event: rayjob.PodsObserved) -> str:
    if event.trouble:
        return f"the Pods of attempt {event.attempt} cannot be looked at: {event.trouble}"
    if not event.total:
        return f"no Pod of attempt {event.attempt} is left"
    left = " left" if event.purpose is PodLook.CLEARING else ""
    named = "; ".join(pod.words for pod in event.pods)
    return f"{counted(event.total, 'Pod')} of attempt {event.attempt}{left}: {named}"


def _lacks(event: rayjob.ClusterObserved) -> str:
    """Return why a RayCluster is not ready, as its status tells it; empty if it is."""
    if event.state == READY or event.deleting:
        return ""
    said = "; ".join(lacks(event.status))
    return f": {said}" if said else ""


def lacks(status: Manifest) -> Iterator[str]:
    """Yield what keeps a RayCluster from being ready; nothing where its status does not say.

    Source: raycluster_types.go (RayClusterStatus, RayClusterConditionType).
    """
    conditions = status.get("conditions")
    for item in conditions if isinstance(conditions, list) else ():
        if not isinstance(item, dict):
            continue
        name, holds = item.get("type"), item.get("status")
        if (name, holds) in (("HeadPodReady", "False"), ("ReplicaFailure", "True")):
            said = [str(part) for part in (item.get("reason"), item.get("message")) if part]
            what = "the head Pod is not ready" if name == "HeadPodReady" else "a Pod is not made"
            yield f"{what} ({': '.join(said)})" if said else what
    wanted, ready = status.get("desiredWorkerReplicas"), status.get("readyWorkerReplicas")
    if isinstance(wanted, int) and isinstance(ready, int) and ready < wanted:
        yield f"{ready} of {wanted} workers are ready"
