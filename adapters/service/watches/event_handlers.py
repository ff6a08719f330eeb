"""The part of the event handlers that all kinds share: where observations go, who is notified."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from jobledger.adapters.service.objects.object_cache import ObjectCache
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.observing.plugin_conditions import PluginConditions
from jobledger.adapters.service.observing.progress import ProgressReports
from jobledger.adapters.service.observing.rayjob_observations import ObservationMapper
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId

ChildKind = Literal["RayCluster", "Job", "Pod"]
CHILD_KINDS: tuple[ChildKind, ...] = ("RayCluster", "Job", "Pod")


@dataclass(frozen=True, slots=True)
class EventHandlers:
    """What the listeners share."""

    mapper: ObservationMapper
    inbox: Inbox
    live: ObjectCache
    confirmations: Confirmations
    synced: Callable[[str], None]
    """Called with the kind after each complete list."""
    changed: Callable[[StreamId, str, Manifest], None] = lambda *_: None
    """Called with stream, resourceVersion and status of a RayJob that others may have written."""
    concerns_us: Callable[[StreamId], bool] = lambda _: True
    """Tells whether a job is worked on here; one that is not is told once its shard is gained."""
    progress: ProgressReports = field(default_factory=ProgressReports)
    """What Pods of TrainJobs report."""
    conditions: PluginConditions = field(default_factory=PluginConditions)
    """What plugins make of the objects of TrainJobs."""
    telling: threading.RLock = field(default_factory=threading.RLock)
    """Held from taking note of an object until the jobs concerned have been told.

    Else two watches could tell the same job of the same child, the older form last.
    """
