"""How RayJobs are watched, and what they are told."""

from functools import partial

from jobledger.adapters.kinds.rayjob.watching.listeners import (
    CHILD_KINDS,
    ChildKind,
    ChildListener,
    tell_children,
)
from jobledger.adapters.kinds.rayjob.watching.observations import see_manifest
from jobledger.adapters.service.control.control_policy import names_another
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.watches.event_handlers import (
    EventHandlers,
    JobLook,
    KindWatching,
    WatchedKind,
)
from jobledger.adapters.service.watches.job_listener import JobListener
from jobledger.core.ports.cluster import BATCH_JOBS, PODS, RAYCLUSTERS, RAYJOBS, Resource
from jobledger.core.rayjob.names import CREATED_BY, HEAD, LABEL_CREATED_BY, LABEL_NODE_TYPE
from jobledger.core.rayjob.names_ahead import is_of_a_user
from jobledger.core.rayjob.observations.observations import ManifestGone
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant


def _look(manifest: Manifest) -> JobLook:
    """Return what is kept of a RayJob; labels count, they are passed on to RayClusters."""
    status = child(manifest, "status")
    finalizers = tuple(str(item) for item in items(manifest, "metadata", "finalizers"))
    is_copied = "rayClusterStatus" in status
    selected = _selected(manifest)
    return JobLook(
        fingerprint=(finalizers, selected),
        phase=text(status, "jobDeploymentStatus"),
        observed_generation=number(status, "observedGeneration") or 0,
        copied=text(status, "rayClusterName") if is_copied else "",
        selected=selected,
    )


def _selected(manifest: Manifest) -> str:
    """Return the RayCluster of a user that a RayJob runs on; while an attempt lasts, that of it.

    An edit of the selector changes nothing of the attempt that goes on.
    """
    shown = text(manifest, "status", "rayClusterName")
    if shown and is_of_a_user(text(manifest, "metadata", "name"), shown):
        return shown
    return text(manifest, "spec", "clusterSelector", "ray.io/cluster")


def _gone(stream: StreamId, at: Instant) -> ManifestGone:
    return ManifestGone(id=observation_id(stream, "manifest gone"), at=at)


def _tell_related(
    around: EventHandlers, known: CachedJob | None, job: CachedJob, at: Instant
) -> None:
    if (
        known is None
        or known.selected != job.selected
        or job.recorded
        or known.recorded
        or names_another(RAYJOBS.kind, known.manifest)
    ):
        tell_children(around, job, at)  # which of them are meant follows from the status


def _watch(resource: Resource, kind: ChildKind, selector: str = "") -> WatchedKind:
    listener = partial(ChildListener, kind=kind)
    return WatchedKind(resource=resource, listener=listener, selector=selector)


RAYJOB_WATCHING = KindWatching(
    resource=RAYJOBS,
    watched=(
        WatchedKind(resource=RAYJOBS, listener=partial(JobListener, kind=RAYJOBS.kind)),
        _watch(RAYCLUSTERS, "RayCluster"),
        _watch(BATCH_JOBS, "Job", f"{LABEL_CREATED_BY}={CREATED_BY}"),
        _watch(PODS, "Pod", f"{LABEL_NODE_TYPE}={HEAD}"),
    ),
    parts=CHILD_KINDS,
    whole="RayCluster",
    pods_of={RAYCLUSTERS: "RayCluster", BATCH_JOBS: "Job"},
    look=_look,
    see=see_manifest,
    gone=_gone,
    tell_related=_tell_related,
    tell_children=tell_children,
    retell=tell_children,
)
