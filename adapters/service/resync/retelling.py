"""Delivers the last seen objects of the jobs of shards once more."""

from collections.abc import Collection

from jobledger.adapters.service.resync.apart import apart
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.job_listener import retell_job
from jobledger.adapters.service.work.slots import Slots
from jobledger.core.values.ids import shard_of
from jobledger.core.values.instants import Instant


def retell_shards(
    around: EventHandlers,
    slots: Slots,
    unheard: Collection[int],
    gained: Collection[int],
    at: Instant,
) -> None:
    """Tell the jobs of shards of which something was passed over, and those that were loaded.

    What was loaded from the log is so held against what the cluster shows.
    """
    for job in around.live.jobs_in({*unheard, *gained}):
        stream = job.identity.stream_id
        is_loaded = shard_of(stream) in gained and slots.held(stream) is not None
        if is_loaded or shard_of(stream) in unheard:
            with apart(job.identity):
                retell_job(around, job.identity.uid, at)
