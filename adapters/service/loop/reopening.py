"""Selects the observations that can matter to a job with nothing left to do."""

from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.work.slots import Finished
from jobledger.core.jobs.control.controller_fields import ENDED
from jobledger.core.kinds import JobObservation, job_seen, reopens


def may_reopen(finished: Finished, observation: JobObservation) -> bool:
    """Return whether a finished job has to be read, to see what an observation means to it."""
    found = job_seen(observation)
    if found is None:
        return reopens(observation, finished.kept)
    kind, seen = found
    if seen.in_between and kind.observing.shows_end(observation):
        return False
    leaving = seen.deleting_at is not None
    return _is_other(finished, seen.generation, leaving=leaving, recorded=bool(seen.recorded))


def may_look_reopen(finished: Finished, job: CachedJob) -> bool:
    """Return whether the sighting of a job as it is there now could `may_reopen` it."""
    return _is_other(finished, job.generation, leaving=job.leaving, recorded=bool(job.recorded))


def _is_other(finished: Finished, generation: int, *, leaving: bool, recorded: bool) -> bool:
    changed = generation > finished.generation or leaving != finished.leaving
    return changed or finished.recorded != recorded


def needs_no_look(finished: Finished, job: CachedJob | None, live: ObjectCache) -> bool:
    """Return whether nothing is to be looked at in a finished job at a start.

    It is there and shows its end; of one that is only recorded others show it.
    """
    if job is None:
        return False
    if finished.recorded and job.recorded:
        return True
    shows_end = job.phase in ENDED and not live.is_copy_outdated(job)
    return shows_end and job.observed_generation == finished.generation
