"""The kinds of objects watched for each kind of job, and their handlers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from jobledger.adapters.service.objects.object_cache import kept_as
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.rayjob_handlers import ChildListener, JobListener
from jobledger.adapters.service.watches.trainjob_handlers import (
    BelongingListener,
    RuntimeListener,
    TrainJobListener,
)
from jobledger.core.errors import ObjectNotFound, RequestForbidden
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    CLUSTER_TRAINING_RUNTIMES,
    CONFIGMAPS,
    JOBSETS,
    PODS,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINING_RUNTIMES,
    TRAINJOBS,
    Cluster,
    ObjectListener,
    Resource,
)
from jobledger.core.rayjob.names import CREATED_BY, HEAD, LABEL_CREATED_BY, LABEL_NODE_TYPE
from jobledger.core.trainjob.building.framework import Plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedKind:
    """One watch."""

    resource: Resource
    listener: Callable[[EventHandlers], ObjectListener]
    selector: str = ""
    is_cluster_wide: bool = False
    is_optional: bool = False
    """Whether jobs can do without: its kind may not be served."""

    @property
    def name(self) -> str:
        """Return what the watch is called: the kind; with its group, if a plugin asks for it."""
        return self.resource.group_kind if self.is_optional else self.resource.kind


WATCHED: Mapping[str, tuple[WatchedKind, ...]] = {
    "RayJob": (
        WatchedKind(resource=RAYJOBS, listener=JobListener),
        WatchedKind(
            resource=RAYCLUSTERS, listener=lambda around: ChildListener(around, "RayCluster")
        ),
        WatchedKind(
            resource=BATCH_JOBS,
            listener=lambda around: ChildListener(around, "Job"),
            selector=f"{LABEL_CREATED_BY}={CREATED_BY}",
        ),
        WatchedKind(
            resource=PODS,
            listener=lambda around: ChildListener(around, "Pod"),
            selector=f"{LABEL_NODE_TYPE}={HEAD}",
        ),
    ),
    "TrainJob": (
        WatchedKind(resource=TRAINJOBS, listener=TrainJobListener),
        WatchedKind(
            resource=TRAINING_RUNTIMES,
            listener=lambda around: RuntimeListener(around, "TrainingRuntime"),
        ),
        WatchedKind(
            resource=CLUSTER_TRAINING_RUNTIMES,
            listener=lambda around: RuntimeListener(around, "ClusterTrainingRuntime"),
            is_cluster_wide=True,
        ),
        WatchedKind(resource=JOBSETS, listener=lambda around: BelongingListener(around, "JobSet")),
        WatchedKind(
            resource=CONFIGMAPS, listener=lambda around: BelongingListener(around, "ConfigMap")
        ),
    ),
}
"""Kind of job -> what is watched for it."""

_NOTHING = "jobledger.dev/nothing=here"


def watched_for(
    kind: str, plugins: Iterable[Plugin], *, propagates: bool = False
) -> tuple[WatchedKind, ...]:
    """Return what is watched for a kind of job; for TrainJobs, what plugins build as well.

    And, where plugins may contribute conditions, what they make them of. What plugins ask for can
    be done without, and comes last.
    """
    found = WATCHED[kind]
    if kind != "TrainJob":
        return found
    known = {item.resource for item in found}
    built = known | {resource for plugin in plugins for resource in plugin.watched}
    looked_at = {resource for plugin in plugins for resource in plugin.conditions_from}
    more = (built | looked_at if propagates else built) - known
    return (
        *found,
        *(
            WatchedKind(
                resource=resource,
                listener=partial(_belonging, kind=kept_as(resource), built=resource in built),
                is_optional=True,
            )
            for resource in sorted(more, key=lambda item: (item.group, item.plural))
        ),
    )


def _belonging(around: EventHandlers, kind: str, *, built: bool) -> ObjectListener:
    return BelongingListener(around, kind, built=built)


def is_served(
    cluster: Cluster,
    resource: Resource,
    namespace: str,
    forbidden: Callable[[Resource, RequestForbidden], None],
) -> bool:
    """Return whether the API server knows a kind and lets it be listed; raises as the port.

    `forbidden` is told if it does not let it be listed.
    """
    try:
        cluster.list(resource, namespace=namespace, label_selector=_NOTHING)
    except ObjectNotFound:
        return False
    except RequestForbidden as error:
        forbidden(resource, error)
        return False
    return True
