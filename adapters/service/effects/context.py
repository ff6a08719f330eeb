"""The dependencies that every effect is carried out with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.objects.packing import unpack
from jobledger.adapters.service.observing.mapper import ObservationMapper
from jobledger.core.errors import ClusterUnreachable, ObjectChanged, ObjectExists, RequestThrottled
from jobledger.core.jobs.control.ownership import (
    Controller,
    in_the_way,
    is_controlled_by,
    is_left_behind,
)
from jobledger.core.jobs.pending.effects import OpenEffect
from jobledger.core.kinds import KINDS, JobState
from jobledger.core.log.keyed_digests import digest
from jobledger.core.ports.cluster import Cluster, Resource
from jobledger.core.ports.ray_jobs import RayJobs
from jobledger.core.values.documents import Json, Manifest, child, text

_QUICK = (ClusterUnreachable, RequestThrottled, ObjectChanged, ObjectExists)

CAUSE_CHARACTERS_MAX = 1000
"""How much of the cause of an `EffectFailed` is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What an act found or brought about."""

    uid: str = ""
    gone: bool = False
    already: bool = False
    sent: Manifest = field(default_factory=dict)
    details: Manifest = field(default_factory=dict)
    """What else is told, in the words of the kind of job."""


class SupersededEffect(Exception):
    """What the effect was decided on is no longer so; nothing was sent."""


class EffectFailed(Exception):
    """It was not done, or only in part, and the kind of job says more of it than an error."""

    def __init__(self, cause: str, details: Manifest, error: Exception | None = None) -> None:
        """Take the cause, what else is told, and the error if a port raised one."""
        self.cause, self.details, self.error = cause, details, error
        self.is_quick = isinstance(error, _QUICK)
        """Whether it mostly passes within moments: it is tried again before it is told."""
        super().__init__(cause)


class SomebodyElses(Exception):
    """An object of that name is there, or was made, and does not belong to the job."""


def refuse_if_taken(resource: Resource, found: Manifest, job: CachedJob) -> None:
    """Raise for an object that is in the way: it has the name and is not the job's own.

    Raises:
        SomebodyElses: it stays there until somebody does something.
        ObjectExists: it is on its way out, so a try a little later may find the name free.
    """
    if is_controlled_by(found, job.identity.uid):
        return
    is_garbage = is_of_an_earlier_job(found, job)
    sentence = in_the_way(resource.kind, found, job.kind, is_garbage=is_garbage)
    if is_garbage or text(found, "metadata", "deletionTimestamp"):
        raise ObjectExists(sentence)
    raise SomebodyElses(sentence)


def is_of_an_earlier_job(found: Manifest, job: CachedJob) -> bool:
    """Return whether an object is garbage of a job that had the name of this one."""
    identity, kind = job.identity, KINDS[job.kind].resource
    return is_left_behind(
        found,
        Controller(
            group=kind.group,
            version=kind.version,
            kind=kind.kind,
            name=identity.name,
            uid=identity.uid,
        ),
    )


Act = Callable[["World", CachedJob, OpenEffect, JobState], Done]
"""Does an effect. Raises `SupersededEffect`, `SomebodyElses`, `EffectFailed`, errors of ports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindActing:
    """How effects of one kind of job are carried out."""

    act: Act
    unshown: Callable[[CachedJob, OpenEffect], str] = lambda *_: ""
    """Says what the status is to show before an effect; empty: the effect need not wait."""


@dataclass(frozen=True, slots=True)
class World:
    """What acting needs."""

    cluster: Cluster
    ray: RayJobs
    live: ObjectCache
    mapper: ObservationMapper
    kinds: Mapping[str, KindActing]
    """The kinds of job, by name."""
    services: dict[str, dict[str, Json]] = field(default_factory=dict)
    """UID of a job -> its Service, `exactly` as it was last seen; at most `SERVICES_MAX`."""


_DIGESTS_KEPT = 500
"""So many digests of specifications are kept for the next effect, each beside its packed object."""

SERVICES_MAX = 5000
"""Services that are led elsewhere without a look at them first; of the others one is had."""


def refuse_if_edited(world: World, job: CachedJob, effect: OpenEffect) -> None:
    """Raise `SupersededEffect` if the live specification is not the one it was decided on."""
    if _digest_of_spec(world.mapper.redaction_key, job.packed) != effect.digest:
        raise SupersededEffect("the specification has changed since")


@lru_cache(maxsize=_DIGESTS_KEPT)
def _digest_of_spec(key: bytes, packed: bytes) -> str:
    return digest(key, child(unpack(packed), "spec"))


def exactly(found: Manifest) -> dict[str, Json]:
    """Return the part of a patch that makes it hold for this very version of an object."""
    metadata = child(found, "metadata")
    return {"metadata": {key: text(metadata, key) for key in ("uid", "resourceVersion")}}


def wait_if_gone(world: World, job: CachedJob, resource: Resource) -> None:
    """Raise `ObjectChanged` if a job is gone, or going, and its watch has not told so yet.

    Asked before what was made for it is made once more: where it went with the job, as garbage or
    by a deletion in the foreground, its own watch may be the quicker one.
    """
    identity = job.identity
    found = world.cluster.get(resource, identity.namespace, identity.name)
    if found is None or text(found, "metadata", "uid") != identity.uid:
        raise ObjectChanged(f"{job.kind} {identity.namespace}/{identity.name} is gone")
    if text(found, "metadata", "deletionTimestamp") and not _is_known_to_go(job):
        raise ObjectChanged(f"{job.kind} {identity.namespace}/{identity.name} is being deleted")


def _is_known_to_go(job: CachedJob) -> bool:
    return text(job.manifest, "metadata", "deletionTimestamp") != ""
