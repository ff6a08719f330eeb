"""Asks anew for objects of which the watches show an earlier form than the log knows.

Mostly a watch lags behind that of another replica. But where etcd was restored from a backup the
object did go back, and goes on from there: then what is asked for now, after the log had written
down the later form, is told with its mark (`core.jobs.control.went_back`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from msgspec.structs import replace

from jobledger.adapters.service.objects.object_cache import CachedJob, version_is_older
from jobledger.adapters.service.resync.lookout import Look, Lookout
from jobledger.adapters.service.watches.job_listener import JobListener, marked, see_job
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.errors import ClusterError
from jobledger.core.jobs.control.went_back import GONE
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import JobObservation, JobState, altered
from jobledger.core.ports.cluster import Resource
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
            return self.lookout.no_answer(name, error)
        if found is not None and text(found, "metadata", "uid") == self.uid:
            with self.lookout.around.telling:
                self.tell(found, self.lookout.clock.now())
        return True


def earlier_forms(lookout: Lookout, stream: StreamId, state: JobState) -> Iterator[Look]:
    """Yield looks for what a job's state knows in a later form than the watches show."""
    identity, manifest, live = state.identity, state.manifest, lookout.around.live
    job = live.job(identity.uid) if identity is not None else None
    if identity is None or manifest is None or job is None:
        return
    declared = job.fingerprint[0]  # as `declared_by` has it: metadata.generation comes first
    shown = declared[0] if isinstance(declared, tuple) else None
    if isinstance(shown, int) and shown < manifest.generation:
        yield _of_job(lookout, stream, job, manifest.generation)
    yield from lookout.kinds[job.kind].earlier(lookout, stream, state)


def _of_job(lookout: Lookout, stream: StreamId, known: CachedJob, generation: int) -> EarlierForm:
    around, uid, kind = lookout.around, known.identity.uid, lookout.around.kinds[known.kind]

    def tell(found: Manifest, at: Instant) -> None:
        # As its watch would, so that it is not undone by older news.
        JobListener(around, kind.name).seen(found, at)
        around.take_up(uid)
        job = around.live.job(uid)
        now = number(found, "metadata", "generation") or 0
        if job is None or job.version != text(found, "metadata", "resourceVersion"):
            return
        if now >= generation:
            return
        say_that_it_went_back(kind.resource, job.identity, f"generation {now}", generation)
        seen = see_job(around, job, at)
        mark = observation_id(stream, "went back", str(seen.id), str(generation))
        around.inbox.put(stream, altered(seen, id=mark, instead_of=generation))

    return EarlierForm(lookout, kind.resource, known.identity, uid, tell)


SeeChild: TypeAlias = Callable[[CachedJob, Manifest, Instant, str], JobObservation]
"""Returns the sighting of a child, with what it is seen `instead_of`."""


def earlier_child(
    lookout: Lookout,
    state: JobState,
    child: tuple[str, Resource],
    known: tuple[str, str, str],
    tell_as_watched: Callable[[Manifest, Instant], None],
    see: SeeChild,
) -> Iterator[EarlierForm]:
    """Yield a look for a child that a watch shows in an earlier version than the log knows.

    Args:
        lookout: whom to ask and to tell.
        state: the state of its job.
        child: how the object cache calls such children, and how the API does.
        known: its name, UID and version, as the log knows it.
        tell_as_watched: tells it as its watch would, so that it is not undone by older news.
        see: returns the sighting of it.
    """
    around, identity, (kept_as, resource) = lookout.around, state.identity, child
    name, uid, version = known
    item = around.live.child(kept_as, uid)
    if identity is None or around.live.job(identity.uid) is None or item is None:
        return
    if not version_is_older(item.version, version):
        return

    def tell(found: Manifest, at: Instant) -> None:
        tell_as_watched(found, at)
        job, now = around.live.job(identity.uid), text(found, "metadata", "resourceVersion")
        if job is None or not version_is_older(now, version):
            return
        say_that_it_went_back(resource, job.identity, f"version {now}", version)
        seen, stream = see(job, found, at, version), identity.stream_id
        mark = observation_id(stream, "went back", str(seen.id), version)
        around.inbox.put(stream, replace(seen, id=mark))

    yield EarlierForm(lookout, resource, replace(identity, name=name), uid, tell)


def come_back(
    lookout: Lookout, state: JobState, child: tuple[str, Resource], see: SeeChild
) -> Iterator[EarlierForm]:
    """Yield looks for children that a watch shows and the log knows to be gone.

    `child` says how the object cache calls them, and how the API does. Mostly the watch lags; one
    that is there now, and stays, came back with an earlier state of etcd.
    """
    live, identity, (kept_as, resource) = lookout.around.live, state.identity, child
    if identity is None or live.job(identity.uid) is None:
        return
    for uid in state.gone:
        item = live.child(kept_as, uid)
        if item is not None and item.owner_uid == identity.uid:
            tell = partial(_tell_of_child, lookout, identity, see)
            yield EarlierForm(lookout, resource, replace(identity, name=item.name), uid, tell)


def _tell_of_child(
    lookout: Lookout, owner: JobIdentity, see: SeeChild, found: Manifest, at: Instant
) -> None:
    job = lookout.around.live.job(owner.uid)
    if job is None or text(found, "metadata", "deletionTimestamp"):
        return
    version = text(found, "metadata", "resourceVersion")
    kind = text(found, "kind")
    about = f"{kind} {owner.namespace}/{text(found, 'metadata', 'name')}"
    log.warning("object_came_back", job=f"{owner.namespace}/{owner.name}", object=about)
    stream = owner.stream_id
    mark = f"came back in version {version}"
    lookout.around.inbox.put(stream, marked(see(job, found, at, GONE), stream, mark))


def say_that_it_went_back(
    resource: Resource, identity: JobIdentity, now: str, known: object
) -> None:
    """Say in the program's log that an object is as it was before."""
    about = f"{identity.namespace}/{identity.name}"
    remedy = "nothing is to be done: it is taken as it is now, as after a restore of etcd"
    log.warning(
        "object_went_back", kind=resource.kind, job=about, now=now, known=known, remedy=remedy
    )
