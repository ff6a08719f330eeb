"""What the handlers of watch events share: where observations go, and what each kind brings.

A kind of job describes itself once (`KindWatching`); `adapters.kinds` has the descriptions.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar, cast

import msgspec

from jobledger.adapters.service.objects.object_cache import CachedJob, ObjectCache
from jobledger.adapters.service.objects.packing import pack, unpack
from jobledger.adapters.service.observing.confirmations import Confirmations
from jobledger.adapters.service.observing.mapper import ObservationMapper
from jobledger.adapters.service.work.inbox import Inbox
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.kinds import JobObservation
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.ports.cluster import ObjectListener, Resource
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

Memory = TypeVar("Memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedKind:
    """One watch."""

    resource: Resource
    listener: Callable[["EventHandlers"], ObjectListener]
    selector: str = ""
    is_cluster_wide: bool = False
    is_optional: bool = False
    """Whether jobs can do without: its kind may not be served."""
    called: str = ""
    """What the watch is called, where its kind is watched for another kind of job as well."""

    @property
    def name(self) -> str:
        """Return what the watch is called: the kind; with its group, if a plugin asks for it."""
        if self.called:
            return self.called
        return self.resource.group_kind if self.is_optional else self.resource.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLook:
    """What is kept of a job's object besides what every kind has."""

    fingerprint: tuple[object, ...]
    """What changes with everything that matters but the specification, labels and annotations."""
    phase: str
    """How far the job is, as its status shows; `Complete` or `Failed` once it has ended."""
    observed_generation: int
    """The generation that the status tells of; 0 if it tells of an earlier one."""
    copied: str = ""
    """Name of the RayCluster of which the status shows a copy."""
    selected: str = ""
    """Name of the RayCluster that it selects."""
    runtime: tuple[str, str, str] = ("", "", "")
    """Kind, namespace and name of the training runtime that it names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindWatching:
    """How one kind of job is watched, and what jobs of it are told."""

    resource: Resource
    watched: tuple[WatchedKind, ...]
    """The watches that every job of the kind needs, that of the jobs themselves first."""
    also_watched: Callable[[ObservationMapper], tuple[WatchedKind, ...]] = lambda _: ()
    """More of them, of what may not be served: what plugins ask for."""
    parts: tuple[str, ...]
    """Kinds of children whose secrets a job may show."""
    whole: str
    """Kind of the child that an attempt runs as."""
    pods_of: Mapping[Resource, str]
    """What is made for a job and has Pods -> as what it is kept."""
    look: Callable[[Manifest], JobLook]
    see: Callable[[ObservationMapper, JobIdentity, Manifest, Redactor, Instant], JobObservation]
    """Makes the sighting of a job's own object."""
    gone: Callable[[StreamId, Instant], JobObservation]
    """Makes the observation that it is gone."""
    tell_related: Callable[["EventHandlers", CachedJob | None, CachedJob, Instant], None]
    """Tells a job, seen before as the first has it, of what was seen before it."""
    tell_children: Callable[["EventHandlers", CachedJob, Instant, str], None]
    """Tells a job of its children; with a mark that is news although they were told before."""
    retell: Callable[["EventHandlers", CachedJob, Instant], None]
    """Tells a job once more of all that belongs to it, as it was last seen."""
    noted: Callable[["EventHandlers", CachedJob | None, Manifest, Instant], None] = lambda *_: None
    """Is called after each sighting of a job, with how it was known before."""
    forget: Callable[["EventHandlers", StreamId], None] = lambda *_: None
    """Drops what is remembered of a job that is gone."""
    due: Callable[["EventHandlers", Instant], Iterable[tuple[StreamId, JobObservation]]] = (
        lambda *_: ()
    )
    """Returns what was held back of jobs, and is to be told by now."""

    @property
    def name(self) -> str:
        """Return the kind of job."""
        return self.resource.kind


class Changed(Protocol):
    """Is told of what a job shows by now."""

    def __call__(
        self, stream: StreamId, version: str, shown: Manifest, *, went_back: bool = False
    ) -> None:
        """Take resourceVersion and status, and whether versions go back: etcd was restored."""


@dataclass(frozen=True, slots=True)
class EventHandlers:
    """What the listeners share."""

    mapper: ObservationMapper
    inbox: Inbox
    live: ObjectCache
    confirmations: Confirmations
    kinds: Mapping[str, KindWatching]
    """The kinds of job, by name."""
    synced: Callable[[str], None]
    """Called with the kind after each complete list."""
    changed: Changed = lambda *_, **__: None
    """Called for a job that others may have written."""
    concerns_us: Callable[[StreamId], bool] = lambda _: True
    """Tells whether a job is worked on here; one that is not is told once its shard is gained."""
    memory: dict[type, object] = field(default_factory=dict)
    """What a kind of job keeps between sightings; asked for by `remembered`."""
    telling: threading.RLock = field(default_factory=threading.RLock)
    """Held from taking note of an object until the jobs concerned have been told.

    Else two watches could tell the same job of the same child, the older form last.
    """

    has_to_wait: Callable[[StreamId, Callable[[], None], bool, str], bool] = lambda *_: False
    """Tells whether a job is slowed, or an edit of it (True) has to wait, or one of a part of it
    that is named; what it is given then is called once the turn comes."""
    looked_through: Callable[[StreamId, int, str], None] = lambda *_: None
    """Is told how many bytes of an edit of a job, or of the part, are looked through for secrets.
    """
    is_decided_on: Callable[[CachedJob], bool] = lambda _: False
    """Tells of a job that is seen for the first time whether the log has decided on it as it is."""
    tell_with_answer: Callable[[StreamId, JobObservation], bool] = lambda *_: False
    """Tells of what ends an attempt along with an answer about the job; False: nobody is asked."""
    job_gone: Callable[[CachedJob], None] = lambda _: None
    """Is told of a job whose object is gone, before the job is."""
    pods: Mapping[Resource, tuple[WatchedKind, ...]] = field(default_factory=dict)
    """What is watched of the Pods of what is made for jobs; empty: nothing is."""
    waiting: dict[str, Callable[[], None]] = field(default_factory=dict)
    """Of each slowed job, or part of one, (by UID) that was edited: takes in its latest form.
    `telling` is held."""
    taken_up: set[str] = field(default_factory=set)
    """The job or part (by UID) of which such a form is being taken in. `telling` is held."""
    namespace: str = ""
    """The one of which the watch tells; empty: of all."""

    def stays(
        self,
        known: CachedJob,
        fingerprint: tuple[object, ...],
        manifest: Manifest,
        take_in: Callable[[CachedJob, Manifest], None],
        at: Instant,
    ) -> bool:
        """Return whether a job stays as it is: its fingerprint is, or an edit is put off.

        The first of a fingerprint is what changes with the specification, labels and annotations.
        """
        if known.fingerprint != fingerprint:
            is_edit = fingerprint[0] != known.declared
            is_put_off = self._put_off(known, manifest, take_in, is_edit=is_edit)
            if is_edit and not is_put_off:
                size = len(msgspec.json.encode(manifest))
                self.looked_through(known.identity.stream_id, size, "")
            return is_put_off
        self.waiting.pop(known.identity.uid, None)
        self.confirmations.count(known.identity.stream_id, known.kind, at)
        return True

    def _put_off(
        self,
        job: CachedJob,
        manifest: Manifest,
        take_in: Callable[[CachedJob, Manifest], None],
        *,
        is_edit: bool,
    ) -> bool:
        """Put off an edit of a job, in place of the one before; return whether so.

        To look through a large object for secrets takes half a second, so of the edits of a slowed
        job, or of one that is edited a lot, the latest alone is looked through. Until then the job
        is kept as it was decided on.
        """
        uid = job.identity.uid
        if uid in self.taken_up or not self.has_to_wait(
            job.identity.stream_id, partial(self.take_up, uid), is_edit, ""
        ):
            return False
        packed = pack(manifest)

        def look() -> None:
            if (known := self.live.job(uid)) is not None:
                take_in(known, unpack(packed))

        self.waiting[uid] = look
        return True

    def take_up(self, uid: str) -> None:
        """Take in the edit of a job that was put off, if there is one."""
        with self.telling:
            if (look := self.waiting.pop(uid, None)) is not None:
                self.taken_up.add(uid)
                try:
                    look()
                finally:
                    self.taken_up.discard(uid)

    def forget_unlisted(self, kind: str, *, jobs: bool = False) -> None:
        """Forget what a new list of a kind, which is whole, has not told of."""
        with self.telling:
            self.live.drop_unlisted(kind, self.namespace, self.waiting, jobs=jobs)

    def remembered(self, made: type[Memory]) -> Memory:
        """Return what a kind of job keeps between sightings, made when it is first asked for."""
        with self.telling:
            found = self.memory.get(made)
            if found is None:
                found = self.memory[made] = made()
            return cast("Memory", found)
