"""What is watched of Pods: those of the objects of jobs, by the labels that name these.

A label selector is all by which an API server can leave Pods out: a container that failed and is
started again shows in no field that it selects by. Of Pods of Jobs those of JobSets are left out,
which are watched as such. That they are watched holds up no start: all else is listed before.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from jobledger.adapters.service.evidence.failing_pods import FailingPods
from jobledger.adapters.service.objects.job_owners import JobOwners
from jobledger.adapters.service.watches.event_handlers import EventHandlers, WatchedKind
from jobledger.core.jobs.control.ownership import controller_uid
from jobledger.core.ports.cluster import BATCH_JOBS, JOBSETS, PODS, Resource
from jobledger.core.values.documents import Manifest, text
from jobledger.core.values.instants import Instant


@dataclass(frozen=True, slots=True)
class PodListener:
    """Passes on Pods that have the label of a resource."""

    resource: Resource
    pods: FailingPods

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Pass on a Pod."""
        del at
        self.pods.seen(self.resource, manifest)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Pass on that a Pod is gone."""
        del at
        self.pods.gone(text(manifest, "metadata", "uid"))

    def synced(self, at: Instant) -> None:
        """Do nothing: nobody waits for it."""

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Do nothing: what is missed of a Pod is missing evidence, and the log says so then."""


@dataclass(frozen=True, slots=True)
class JobOwnerListener:
    """Takes note of which JobSet a Job is controlled by."""

    owners: JobOwners

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Take note of a Job of a JobSet."""
        del at
        if jobset := controller_uid(manifest, JOBSETS.group, JOBSETS.kind):
            self.owners.note(text(manifest, "metadata", "uid"), jobset)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Take note that a Job is gone."""
        del at
        self.owners.drop(text(manifest, "metadata", "uid"))

    def synced(self, at: Instant) -> None:
        """Do nothing: nobody waits for it."""

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Do nothing: a Job that is not known is asked for."""


def pod_watches(pods: FailingPods, owners: JobOwners) -> Mapping[Resource, tuple[WatchedKind, ...]]:
    """Return what is watched of the Pods of each resource."""

    def of_jobsets(around: EventHandlers) -> JobOwnerListener:
        del around
        return JobOwnerListener(owners)

    jobs = WatchedKind(
        resource=BATCH_JOBS,
        listener=of_jobsets,
        selector=JOBSETS.pod_label,
        is_optional=True,
        called="Jobs of JobSets",
    )
    return {
        one: (*((jobs,) if one == JOBSETS else ()), _watch(pods, one)) for one in pods.resources
    }


def _watch(pods: FailingPods, resource: Resource) -> WatchedKind:
    def listener(around: EventHandlers) -> PodListener:
        del around
        return PodListener(resource, pods)

    others = f",!{JOBSETS.pod_label}" if resource == BATCH_JOBS else ""
    return WatchedKind(
        resource=PODS,
        listener=listener,
        selector=f"{resource.pod_label}{others}",
        is_optional=True,
        called=f"Pods of {resource.kind}s",
    )
