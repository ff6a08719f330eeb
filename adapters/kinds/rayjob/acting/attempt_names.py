"""What the present attempt of a RayJob goes by."""

from dataclasses import dataclass

from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.rayjob.names import cluster_name
from jobledger.core.rayjob.state import Attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptNames:
    """What the present attempt of a RayJob goes by, as the state has it.

    Never read from the object: its status is written later than the state, and by others too.
    """

    number: int = 0
    cluster: str = ""
    job_id: str = ""
    """The submission id."""
    selected: bool = False
    """Whether the RayCluster is one that the job selected."""

    def cluster_of(self, job: CachedJob, attempt: int) -> str:
        """Return the RayCluster of an attempt; of any but the present one it is derived."""
        if self.cluster and attempt == self.number:
            return self.cluster
        return cluster_name(job.identity.name, job.identity.uid, attempt)


def names_of(attempt: Attempt | None) -> AttemptNames:
    """Return what an attempt goes by."""
    if attempt is None:
        return AttemptNames()
    return AttemptNames(
        number=attempt.number,
        cluster=attempt.cluster_name,
        job_id=attempt.job_id,
        selected=attempt.selected,
    )
