"""How TrainJobs are watched, and what they are told."""

from collections.abc import Iterable
from functools import partial

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.kinds.trainjob.watching.listeners import (
    DependentListener,
    RuntimeListener,
    tell_objects,
    tell_progress,
    tell_runtime,
)
from jobledger.adapters.kinds.trainjob.watching.observations import runtime_key, see_trainjob
from jobledger.adapters.kinds.trainjob.watching.progress import ProgressReports
from jobledger.adapters.service.objects.object_cache import CachedJob, kept_as
from jobledger.adapters.service.observing.mapper import ObservationMapper
from jobledger.adapters.service.watches.event_handlers import (
    EventHandlers,
    JobLook,
    KindWatching,
    WatchedKind,
)
from jobledger.adapters.service.watches.job_listener import JobListener
from jobledger.core.kinds import JobObservation
from jobledger.core.ports.cluster import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIGMAPS,
    JOBSETS,
    TRAINING_RUNTIMES,
    TRAINJOBS,
    Resource,
)
from jobledger.core.trainjob.observations import TrainJobGone
from jobledger.core.trainjob.phases import SUSPENDED, TERMINAL
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant


def _look(manifest: Manifest) -> JobLook:
    """Return what is kept of a TrainJob."""
    return JobLook(
        fingerprint=(),
        phase=_ended(manifest),
        observed_generation=_observed(manifest),
        runtime=runtime_key(manifest),
    )


def _observed(manifest: Manifest) -> int:
    """Return the generation that the status tells of; 0 if it tells of an earlier one.

    A TrainJob has no observedGeneration: what may still change after its end are Suspended, which
    follows the specification, and the counters of Jobs that are on their way out.
    """
    status = child(manifest, "status")
    shown = {text(item, "type"): text(item, "status") for item in items(status, "conditions")}
    wants = child(manifest, "spec").get("suspend") is True
    winds_up = any(
        number(item, "active") or number(item, "ready") for item in items(status, "jobsStatus")
    )
    if (shown.get(SUSPENDED) == "True") != wants or winds_up:
        return 0
    return number(manifest, "metadata", "generation") or 0


def _ended(manifest: Manifest) -> str:
    """Return the type of the condition that ends a TrainJob, as it is shown."""
    for item in items(manifest, "status", "conditions"):
        if text(item, "type") in TERMINAL and text(item, "status") == "True":
            return text(item, "type")
    return ""


def _gone(stream: StreamId, at: Instant) -> TrainJobGone:
    return TrainJobGone(id=observation_id(stream, "trainjob gone"), at=at)


def _tell_related(
    around: EventHandlers, known: CachedJob | None, job: CachedJob, at: Instant
) -> None:
    if known is None or job.recorded or known.recorded:
        tell_objects(around, job, at)
    elif known.runtime != job.runtime:
        tell_runtime(around, job, at)


def _retell(around: EventHandlers, job: CachedJob, at: Instant) -> None:
    tell_objects(around, job, at)
    _forget(around, job.identity.stream_id)
    tell_progress(around, job.newest, at)


def _noted(around: EventHandlers, known: CachedJob | None, manifest: Manifest, at: Instant) -> None:
    """Tell what the Pods of a job have reported, unless that is of an earlier life of it."""
    if known is not None or not _ended(manifest):
        tell_progress(around, manifest, at)


def _forget(around: EventHandlers, stream: StreamId) -> None:
    around.remembered(ProgressReports).forget(stream)


def _due(around: EventHandlers, at: Instant) -> Iterable[tuple[StreamId, JobObservation]]:
    return around.remembered(ProgressReports).due(at)


_WATCHED = (
    WatchedKind(resource=TRAINJOBS, listener=partial(JobListener, kind=TRAINJOBS.kind)),
    WatchedKind(
        resource=TRAINING_RUNTIMES, listener=partial(RuntimeListener, kind="TrainingRuntime")
    ),
    WatchedKind(
        resource=CLUSTER_TRAINING_RUNTIMES,
        listener=partial(RuntimeListener, kind="ClusterTrainingRuntime"),
        is_cluster_wide=True,
    ),
    WatchedKind(resource=JOBSETS, listener=partial(DependentListener, kind="JobSet")),
    WatchedKind(resource=CONFIGMAPS, listener=partial(DependentListener, kind="ConfigMap")),
)


def _also_watched(mapper: ObservationMapper) -> tuple[WatchedKind, ...]:
    """Return what plugins build and, where they may contribute conditions, what they look at.

    Jobs can do without: it may not be served.
    """
    plugins = mapper.of(TrainInstallation).plugins
    known = {item.resource for item in _WATCHED}
    built: set[Resource] = known | {one for plugin in plugins for one in plugin.watched}
    looked_at = {one for plugin in plugins for one in plugin.conditions_from}
    more = (built | looked_at if mapper.of(TrainInstallation).policy.propagates else built) - known
    return tuple(
        WatchedKind(
            resource=resource,
            listener=partial(DependentListener, kind=kept_as(resource), built=resource in built),
            is_optional=True,
        )
        for resource in sorted(more, key=lambda item: (item.group, item.plural))
    )


TRAINJOB_WATCHING = KindWatching(
    resource=TRAINJOBS,
    watched=_WATCHED,
    also_watched=_also_watched,
    parts=("JobSet", "ConfigMap"),
    whole="JobSet",
    pods_of={JOBSETS: "JobSet"},
    look=_look,
    see=see_trainjob,
    gone=_gone,
    tell_related=_tell_related,
    tell_children=tell_objects,
    retell=_retell,
    noted=_noted,
    forget=_forget,
    due=_due,
)
