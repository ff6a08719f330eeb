"""Asks anew for objects of which the watches show an earlier form than the log knows.

Mostly a watch lags behind that of another replica. But where etcd was restored from a backup the
object did go back, and goes on from there: then what is asked for now, after the log had written
down the later form, is told with its mark (`core.jobs.control.went_back`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from jobledger.adapters.service.objects.object_cache import CachedJob, version_is_older
from jobledger.adapters.service.observing.rayjob_observations import see_manifest
from jobledger.adapters.service.observing.trainjob_observations import see_jobset, see_trainjob
from jobledger.adapters.service.resync.lookout import Lookout
from jobledger.adapters.service.watches.rayjob_handlers import JobListener
from jobledger.adapters.service.watches.trainjob_handlers import (
    BelongingListener,
    TrainJobListener,
)
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import ClusterError
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import JobState
from jobledger.core.ports.cluster import JOBSETS, RAYJOBS, TRAINJOBS, Resource
from jobledger.core.trainjob.state import KnownJobSet, TrainJobState
from jobledger.core.values.documents import Manifest, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class EarlierForm:
    """An object that is shown as it was before. Calling it is a question."""

    lookout: Lookout
    resource: Resource
    identity: JobIdentity
    uid: str
    tell: Callable[[Manifest, Instant], None]

    @property
    def about(self) -> str:
        """Return what is asked for; of a job that is never twice the same."""
        return f"earlier {self.resource.plural}/{self.uid}"

    def __call__(self) -> bool:
        """Ask for the object, and tell how it is; return whether there was an answer."""
        namespace, name = self.identity.namespace, self.identity.name
        try:
            found = self.lookout.cluster.get(self.resource, namespace, name)
        except ClusterError as error:
            log.warning("earlier_form_unclear", name=name, error=str(error))
            return False
        if found is not None and text(found, "metadata", "uid") == self.uid:
            with self.lookout.around.telling:
                self.tell(found, self.lookout.clock.now())
        return True


def earlier_forms(lookout: Lookout, stream: StreamId, state: JobState) -> Iterator[EarlierForm]:
    """Yield what a job's state knows in a later form than the watches show."""
    identity, manifest, live = state.identity, state.manifest, lookout.around.live
    job = live.job(identity.uid) if identity is not None else None
    if identity is None or manifest is None or job is None:
        return
    declared = job.glance[0]  # as `declared_by` has it: metadata.generation comes first
    shown = declared[0] if isinstance(declared, tuple) else None
    if isinstance(shown, int) and shown < manifest.generation:
        yield _of_job(lookout, stream, job, manifest.generation)
    jobset = state.jobset if isinstance(state, TrainJobState) else None
    item = live.child("JobSet", jobset.uid) if jobset is not None else None
    if jobset is not None and item is not None and version_is_older(item.version, jobset.version):
        yield _of_jobset(lookout, stream, job, jobset)


def _of_job(lookout: Lookout, stream: StreamId, known: CachedJob, generation: int) -> EarlierForm:
    around, uid = lookout.around, known.identity.uid
    is_rayjob = known.kind == RAYJOBS.kind
    listener = JobListener(around) if is_rayjob else TrainJobListener(around)
    see = see_manifest if is_rayjob else see_trainjob

    def tell(found: Manifest, at: Instant) -> None:
        listener.seen(found, at)  # as its watch would, so that it is not undone by older news
        job = around.live.job(uid)
        now = number(found, "metadata", "generation") or 0
        if job is None or job.version != text(found, "metadata", "resourceVersion"):
            return
        if now >= generation:
            return
        _say(TRAINJOBS if not is_rayjob else RAYJOBS, job.identity, f"generation {now}", generation)
        seen = see(around.mapper, job.identity, job.newest, job.redactor, at)
        mark = observation_id(stream, "went back", str(seen.id), str(generation))
        around.inbox.put(stream, replace(seen, id=mark, instead_of=generation))

    return EarlierForm(lookout, RAYJOBS if is_rayjob else TRAINJOBS, known.identity, uid, tell)


def _of_jobset(
    lookout: Lookout, stream: StreamId, known: CachedJob, jobset: KnownJobSet
) -> EarlierForm:
    around = lookout.around

    def tell(found: Manifest, at: Instant) -> None:
        BelongingListener(around, JOBSETS.kind).seen(found, at)
        job, version = (
            around.live.job(known.identity.uid),
            text(found, "metadata", "resourceVersion"),
        )
        if job is None or not version_is_older(version, jobset.version):
            return
        _say(JOBSETS, job.identity, f"version {version}", jobset.version)
        seen = see_jobset(job, found, at)
        mark = observation_id(stream, "went back", str(seen.id), jobset.version)
        around.inbox.put(stream, replace(seen, id=mark, instead_of=jobset.version))

    return EarlierForm(lookout, JOBSETS, known.identity, jobset.uid, tell)


def _say(resource: Resource, identity: JobIdentity, now: str, known: object) -> None:
    about = f"{identity.namespace}/{identity.name}"
    remedy = "nothing is to be done: it is taken as it is now, as after a restore of etcd"
    log.warning(
        "object_went_back", kind=resource.kind, job=about, now=now, known=known, remedy=remedy
    )
