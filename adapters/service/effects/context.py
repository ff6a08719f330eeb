"""The dependencies that every effect is carried out with."""

from dataclasses import dataclass, field

from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.observing.rayjob_observations import ObservationMapper
from jobledger.core.errors import ObjectExists
from jobledger.core.jobs.control.ownership import in_the_way, is_controlled_by
from jobledger.core.ports.cluster import Cluster, Resource
from jobledger.core.ports.ray_jobs import RayJobs
from jobledger.core.rayjob.names import cluster_name
from jobledger.core.rayjob.state import Attempt
from jobledger.core.values.documents import Json, Manifest, child, text


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What an act found or brought about."""

    uid: str = ""
    gone: bool = False
    already: bool = False
    sent: Manifest = field(default_factory=dict)
    details: Manifest = field(default_factory=dict)
    """What else is told, in the words of the kind of job."""


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


class SupersededEffect(Exception):
    """What the effect was decided on is no longer so; nothing was sent."""


class SomebodyElses(Exception):
    """An object of that name is there and does not belong to the job."""


def refuse_if_taken(resource: Resource, found: Manifest, job: CachedJob) -> None:
    """Raise for an object that is in the way: it has the name and is not the job's own.

    Raises:
        SomebodyElses: it stays there until somebody does something.
        ObjectExists: it is on its way out, so a try a little later may find the name free.
    """
    if is_controlled_by(found, job.identity.uid):
        return
    sentence = in_the_way(resource.kind, found, job.kind)
    if text(found, "metadata", "deletionTimestamp"):
        raise ObjectExists(sentence)
    raise SomebodyElses(sentence)


@dataclass(frozen=True, slots=True)
class World:
    """What acting needs."""

    cluster: Cluster
    ray: RayJobs
    live: ObjectCache
    mapper: ObservationMapper
    services: dict[str, dict[str, Json]] = field(default_factory=dict)
    """UID of a job -> its Service, `exactly` as it was last seen; at most `SERVICES_MAX`."""


SERVICES_MAX = 5000
"""Services that are led elsewhere without a look at them first; of the others one is had."""


def exactly(found: Manifest) -> dict[str, Json]:
    """Return the part of a patch that makes it hold for this very version of an object."""
    metadata = child(found, "metadata")
    return {"metadata": {key: text(metadata, key) for key in ("uid", "resourceVersion")}}
