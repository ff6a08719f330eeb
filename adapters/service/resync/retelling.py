"""Delivers the last seen objects of a job once more."""

from collections.abc import Collection

from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.rayjob_handlers import retell
from jobledger.adapters.service.watches.trainjob_handlers import retell_trainjob
from jobledger.adapters.service.work.slots import Slots
from jobledger.core.values.ids import shard_of
from jobledger.core.values.instants import Instant


def retell_job(around: EventHandlers, uid: str, at: Instant) -> None:
    """Tell a job of any kind, and its children."""
    job = around.live.job(uid)
    if job is not None and job.kind == "TrainJob":
        retell_trainjob(around, job, at)
    else:
        retell(around, uid, at)


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
    for job in around.live.jobs():
        stream = job.identity.stream_id
        is_loaded = shard_of(stream) in gained and slots.held(stream) is not None
        if is_loaded or shard_of(stream) in unheard:
            retell_job(around, job.identity.uid, at)
