"""The watched objects as they are now: what acting needs and the log must not hold.

RayJobs are kept packed, because a parsed one takes ten times the memory; of RayClusters and
submitters only what is
needed to tell them again. Safe to use from many threads.
"""

import threading
import zlib
from dataclasses import dataclass

import msgspec

from core.log.redaction import Redactor
from core.rayjob.observations import JobIdentity
from core.values.documents import Manifest

_PACKING_LEVEL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveJob:
    """A RayJob that is there."""

    identity: JobIdentity
    version: str
    """resourceVersion."""
    glance: tuple[object, ...]
    """What tells without parsing whether anything that matters has changed."""
    secrets: frozenset[str]
    """What the redactor knows: the secrets of this and of earlier forms of the object.

    What runs may have been started from an earlier one.
    """
    redactor: Redactor
    selected: str
    """Name of the RayCluster it runs on, if it selects one."""
    phase: str
    """status.jobDeploymentStatus, as it was last seen."""
    packed: bytes
    guarded: bool = False
    """Whether our finalizer holds it, and nobody has asked for its deletion.

    As long as that is so, no other object can have its name.
    """
    observed_generation: int = 0
    """status.observedGeneration, as it was last seen."""

    @property
    def manifest(self) -> Manifest:
        """Return the whole object."""
        unpacked: Manifest = msgspec.json.decode(zlib.decompress(self.packed))
        return unpacked


def pack(manifest: Manifest) -> bytes:
    """Return an object in the form in which it is kept."""
    return zlib.compress(msgspec.json.encode(manifest), _PACKING_LEVEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveChild:
    """A RayCluster or submitter that is there."""

    namespace: str
    name: str
    uid: str
    version: str
    """resourceVersion."""
    owner_uid: str
    packed: bytes

    @property
    def manifest(self) -> Manifest:
        """Return the part of the object that is kept."""
        unpacked: Manifest = msgspec.json.decode(zlib.decompress(self.packed))
        return unpacked


class _Children:
    """The children of one kind, found by UID, owner or name."""

    def __init__(self) -> None:
        self.by_uid: dict[str, LiveChild] = {}
        self.by_owner: dict[str, dict[str, LiveChild]] = {}
        self.by_name: dict[tuple[str, str], LiveChild] = {}

    def put(self, child: LiveChild) -> None:
        self.drop(child.uid)
        self.by_uid[child.uid] = child
        self.by_owner.setdefault(child.owner_uid, {})[child.uid] = child
        self.by_name[child.namespace, child.name] = child

    def drop(self, uid: str) -> LiveChild | None:
        child = self.by_uid.pop(uid, None)
        if child is None:
            return None
        siblings = self.by_owner.get(child.owner_uid, {})
        siblings.pop(uid, None)
        if not siblings:
            self.by_owner.pop(child.owner_uid, None)
        if self.by_name.get((child.namespace, child.name)) == child:
            del self.by_name[child.namespace, child.name]
        return child


class LiveObjects:
    """Every RayJob and every child that the watches have told of and not taken back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, LiveJob] = {}
        self._selecting: dict[tuple[str, str], set[str]] = {}
        self._children = {"RayCluster": _Children(), "Job": _Children()}

    def put_job(self, job: LiveJob) -> None:
        """Keep a RayJob in place of its older form."""
        with self._lock:
            self._jobs[job.identity.uid] = job
            if job.selected:
                selected = (job.identity.namespace, job.selected)
                self._selecting.setdefault(selected, set()).add(job.identity.uid)

    def drop_job(self, uid: str) -> LiveJob | None:
        """Forget a RayJob and return it."""
        with self._lock:
            job = self._jobs.pop(uid, None)
            if job is not None and job.selected:
                selected = (job.identity.namespace, job.selected)
                others = self._selecting.get(selected, set()) - {uid}
                self._selecting[selected] = others
                if not others:
                    del self._selecting[selected]
            return job

    def job(self, uid: str) -> LiveJob | None:
        """Return a RayJob by its UID."""
        return self._jobs.get(uid)

    def jobs(self) -> list[LiveJob]:
        """Return all RayJobs."""
        with self._lock:
            return list(self._jobs.values())

    def put_child(self, kind: str, child: LiveChild) -> None:
        """Keep a RayCluster (`RayCluster`) or submitter (`Job`)."""
        with self._lock:
            self._children[kind].put(child)

    def drop_child(self, kind: str, uid: str) -> LiveChild | None:
        """Forget a child and return it."""
        with self._lock:
            return self._children[kind].drop(uid)

    def child(self, kind: str, uid: str) -> LiveChild | None:
        """Return a child by its UID."""
        return self._children[kind].by_uid.get(uid)

    def has_child(self, kind: str, uid: str) -> bool:
        """Return whether a child of that UID is there."""
        return uid in self._children[kind].by_uid

    def children_of(self, kind: str, job: LiveJob) -> list[LiveChild]:
        """Return the children that a RayJob owns, and the RayCluster it selects."""
        with self._lock:
            found = dict(self._children[kind].by_owner.get(job.identity.uid, {}))
            named = self._children[kind].by_name.get((job.identity.namespace, job.selected))
            if kind == "RayCluster" and named is not None:
                found[named.uid] = named
            return list(found.values())

    def jobs_of(self, kind: str, child: LiveChild) -> list[LiveJob]:
        """Return the RayJobs that a child concerns: its owner, and those that select it."""
        with self._lock:
            uids = {child.owner_uid}
            if kind == "RayCluster":
                uids |= self._selecting.get((child.namespace, child.name), set())
            return [job for uid in sorted(uids) if (job := self._jobs.get(uid)) is not None]

    def child_named(self, kind: str, namespace: str, name: str) -> LiveChild | None:
        """Return the child of that name, or None."""
        return self._children[kind].by_name.get((namespace, name))
