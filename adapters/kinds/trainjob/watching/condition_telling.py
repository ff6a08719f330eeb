"""Tells TrainJobs what plugins make of their objects as conditions."""

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.kinds.trainjob.watching.plugin_conditions import PluginConditions
from jobledger.adapters.service.objects.object_cache import CachedJob, kept_as
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant


def tell_all_conditions(around: EventHandlers, job: CachedJob, at: Instant) -> None:
    """Tell a TrainJob what plugins make of each of its objects, as they were last seen."""
    if not around.mapper.of(TrainInstallation).policy.propagates:
        return
    kinds = {
        kept_as(one)
        for plugin in around.mapper.of(TrainInstallation).plugins
        for one in plugin.conditions_from
    }
    for kind in sorted(kinds):
        for item in around.live.children_of(kind, job):
            tell_conditions(around, job, kind, item.manifest, at)


def tell_conditions(
    around: EventHandlers, job: CachedJob, kind: str, manifest: Manifest, at: Instant
) -> None:
    """Tell a TrainJob what plugins make of one of its objects."""
    if not around.concerns_us(job.identity.stream_id):
        return
    for seen in around.remembered(PluginConditions).about(around.mapper, job, kind, manifest, at):
        around.inbox.put(job.identity.stream_id, seen)
