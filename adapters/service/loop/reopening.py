"""Selects the observations that can matter to a job with nothing left to do."""

from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.work.slots import Finished
from jobledger.core.jobs.observations import DecisionDue, EffectEnded, EvidenceSeen
from jobledger.core.kinds import JobObservation
from jobledger.core.rayjob.observations.observations import (
    ClusterGone,
    ClusterSeen,
    ManifestGone,
    ManifestSeen,
)
from jobledger.core.rayjob.phases import FINAL
from jobledger.core.trainjob.observations import (
    JobSetSeen,
    ProgressSeen,
    TrainJobGone,
    TrainJobSeen,
)
from jobledger.core.trainjob.phases import TERMINAL

_REOPENING = (
    ManifestGone,
    ClusterSeen,
    ClusterGone,
    EffectEnded,
    DecisionDue,
    TrainJobGone,
    EvidenceSeen,
    ProgressSeen,
)
"""Observations besides the manifest that can mean something to a finished job."""


def may_reopen(finished: Finished, observation: JobObservation) -> bool:
    """Return whether a finished job has to be read, to see what an observation means to it."""
    if isinstance(observation, ManifestSeen | TrainJobSeen):
        if observation.in_between and _shows_end(observation):
            return False
        leaving = observation.deleting_at is not None
        changed = observation.generation > finished.generation or leaving != finished.leaving
        return changed or finished.recorded != bool(observation.recorded)
    if isinstance(observation, JobSetSeen):  # after the end none should be at work
        return observation.end is None and not observation.deleting
    return isinstance(observation, _REOPENING)


def _shows_end(observation: ManifestSeen | TrainJobSeen) -> bool:
    """Return whether the status that was seen is that of a job that has ended."""
    if isinstance(observation, ManifestSeen):
        return observation.status.phase in FINAL
    return any(item.is_true and item.type in TERMINAL for item in observation.status.conditions)


def is_settled(finished: Finished, job: CachedJob | None, live: ObjectCache) -> bool:
    """Return whether nothing is to be looked at in a finished job at a start.

    It is there and shows its end; of one that is only recorded others show it.
    """
    if job is None:
        return False
    if finished.recorded and job.recorded:
        return True
    shows_end = job.phase in FINAL and not live.is_copy_outdated(job)
    return shows_end and job.observed_generation == finished.generation
