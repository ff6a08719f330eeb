"""The latest watched objects: needed for acting, never written to the log.

RayJobs are kept packed, because a parsed one takes ten times the memory; of RayClusters and
submitters only what is needed to tell them again. Safe to use from many threads.
"""

import dataclasses
import threading
from collections import defaultdict
from collections.abc import Collection, Container, Hashable

from msgspec import Struct
from msgspec.structs import replace

from jobledger.adapters.service.objects.job_owners import JobOwners
from jobledger.adapters.service.objects.kept_children import (
    CachedChild,
    CachedRuntime,
    Children,
    Gone,
)
from jobledger.adapters.service.objects.packing import status_of, unpack, unpack_any
from jobledger.adapters.service.objects.uids_by import UidsBy, UidsByLast
from jobledger.core.jobs.control.status_writers import StatusWriter
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.log.redaction.redact import LateSecrets, Redactor
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    CONFIGMAPS,
    JOBSETS,
    PODS,
    RAYCLUSTERS,
    Resource,
)
from jobledger.core.values.documents import Manifest, child
from jobledger.core.values.ids import shard_of

_PLAIN = frozenset({RAYCLUSTERS, BATCH_JOBS, PODS, JOBSETS, CONFIGMAPS})
"""Kinds of children that are kept under their kind alone."""

_ASKED_FOR = frozenset({"JobSet"})
"""Kinds of children that are asked for besides being watched.

Of the others nothing comes but by their watches, in order; and what is watched by its labels may be
told as gone and come back.
"""

_NO_RUNTIME = ("", "", "")


def kept_as(resource: Resource) -> str:
    """Return under which kind children are kept: two groups may each have a kind of one name."""
    return resource.kind if resource in _PLAIN else resource.group_kind


class CachedJob(Struct, frozen=True, kw_only=True):
    """A job that is there."""

    kind: str
    """The kind of job."""
    identity: JobIdentity
    version: str
    """resourceVersion, be it of a write of our own that no watch has told yet."""
    fingerprint: tuple[object, ...]
    """What tells without parsing whether anything that matters has changed."""
    declared: object = None
    """What changes with its specification, labels and annotations."""
    redactor: Redactor
    """Knows the secrets of this and of earlier forms of the object, and those of all that it runs
    from and that belongs to it: what runs may have been started from an earlier one."""
    selected: str
    """Name of the RayCluster it runs on, if it selects one."""
    phase: str
    """status.jobDeploymentStatus, as it was last seen."""
    packed: bytes
    copied: str = ""
    """Name of the RayCluster of which its status shows a copy, as it was last seen."""
    observed_generation: int = 0
    """status.observedGeneration, as it was last seen."""
    generation: int = 0
    leaving: bool = False
    """Whether it is being deleted."""
    runtime: tuple[str, str, str] = _NO_RUNTIME
    """TrainJob: kind, namespace (empty: none) and name of the runtime it names."""
    others: StatusWriter | None = None
    """The last write of another controller that drove it, as far as any sighting told of one."""
    recorded: str = ""
    """Why it is only recorded; empty: it is controlled."""
    shown: bytes = b""
    """Its status and who wrote it as they were last seen; empty: as `packed` has them."""
    told: str = ""
    """resourceVersion of what was last seen; empty: `version`."""
    is_told_left_out: bool = False
    """Whether the program's log has named an annotation of it that is left out."""

    @property
    def secrets(self) -> frozenset[str]:
        """Return what the redactor knows; it is looked for when it is first asked for."""
        return self.redactor.secrets

    @property
    def manifest(self) -> Manifest:
        """Return the whole object."""
        return unpack(self.packed)

    @property
    def newest(self) -> Manifest:
        """Return the object with the status and the version that were last seen."""
        whole = self.manifest
        status, managed = unpack_any(self.shown) if self.shown else status_of(whole)
        metadata = {
            **child(whole, "metadata"),
            "managedFields": managed,
            "resourceVersion": self.version,
        }
        return {**whole, "metadata": metadata, "status": status}


def version_is_older(version: str, than: str) -> bool:
    """Return whether a resourceVersion is older; what cannot be compared counts as newer.

    Source: KEP-5504, resourceVersions of one resource are comparable as whole numbers.
    """
    return version.isdigit() and than.isdigit() and int(version) < int(than)


def _owns(job: CachedJob, child: CachedChild) -> bool:
    """Return whether a child that names a job's UID is the job's.

    An API server takes any owner reference. One from another namespace, or to a job of another
    kind, the garbage collector takes for one to nothing, and so does this.
    """
    where = job.identity.namespace
    return (child.namespace, child.owner_uid) == (where, job.identity.uid) and (
        child.owner_kind == job.kind
    )


class ObjectCache:
    """Every RayJob and every child that the watches have told of and not taken back.

    What was asked for may be answered after the watch has told that it went: then it is not kept.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.job_owners = JobOwners()
        self._gone: defaultdict[str, Gone] = defaultdict(Gone)
        self._gone_children: defaultdict[str, Gone] = defaultdict(Gone)
        self._jobs: dict[str, CachedJob] = {}
        self._selecting = UidsByLast[tuple[str, str]]()
        self._on_runtime = UidsBy[tuple[str, str, str]]()
        self._in_shard = UidsBy[int]()
        self._children: defaultdict[str, Children] = defaultdict(Children)
        self._runtimes: dict[tuple[str, str, str], CachedRuntime] = {}
        self._doubted: set[Hashable] = set()

    def doubt(self, kind: str, namespace: str, *, jobs: bool = False) -> None:
        """Take the next version of each object of a kind for the newest, whatever its number.

        All of a namespace (empty: all) is listed anew: an etcd that was restored counts from an
        earlier version on, and may show again what had gone.
        """
        with self._lock:
            if jobs:
                self._gone.pop(kind, None)
                self._doubted.update(self._jobs_of(kind, namespace))
                return
            self._gone_children.pop(kind, None)
            self._doubted.update(self._children[kind].of(namespace))
            runtimes = (key for key in self._runtimes if key[0] == kind)
            self._doubted.update(key for key in runtimes if namespace in ("", key[1]))

    def _jobs_of(self, kind: str, namespace: str) -> list[str]:
        found = (job.identity for job in self._jobs.values() if job.kind == kind)
        return [one.uid for one in found if namespace in ("", one.namespace)]

    def drop_unlisted(
        self, kind: str, namespace: str, waiting: Container[str], *, jobs: bool = False
    ) -> None:
        """Forget what a new list of a kind and namespace, which is whole by now, has not told of.

        It came by an answer and went before its watch told of it: so that does not tell that it is
        gone. What is `waiting`, by its UID, was told.
        """
        with self._lock:
            known = self._jobs_of(kind, namespace) if jobs else self._children[kind].of(namespace)
            for uid in [one for one in known if one in self._doubted and one not in waiting]:
                self._doubted.discard(uid)
                _ = self._drop_job(uid) if jobs else self._children[kind].drop(uid)

    def is_older(self, key: Hashable, version: str, than: str) -> bool:
        """Return whether a version of an object (by UID; a runtime by its key) is an older one."""
        return version_is_older(version, than) and key not in self._doubted

    def put_job(self, job: CachedJob) -> None:
        """Keep a RayJob in place of its older form, unless it has gone."""
        with self._lock:
            if job.identity.uid in self._gone[job.kind]:
                return
            known = self._jobs.get(job.identity.uid)
            if known is not None and self.is_older(known.identity.uid, job.version, known.version):
                job = replace(job, version=known.version)  # a write of our own was quicker
            self._doubted.discard(job.identity.uid)
            self._jobs[job.identity.uid] = job
            if job.selected:
                self._selecting.add((job.identity.namespace, job.selected), job.identity.uid)
            if known is None:
                self._in_shard.add(shard_of(job.identity.stream_id), job.identity.uid)
            elif known.runtime != job.runtime:
                self._on_runtime.discard(known.runtime, job.identity.uid)
            if job.runtime != _NO_RUNTIME:
                self._on_runtime.add(job.runtime, job.identity.uid)

    def note_version(self, uid: str, version: str) -> None:
        """Take note of the version that a write of our own made; the watch tells the rest."""
        with self._lock:
            job = self._jobs.get(uid)
            if job is not None and not self.is_older(uid, version, job.version):
                self._jobs[uid] = replace(job, version=version)
                self._doubted.discard(uid)

    def learn(self, uid: str, secrets: LateSecrets | None) -> CachedJob | None:
        """Let the redactor of a job know more secrets, if any; return the job as it then is."""
        with self._lock:
            job = self._jobs.get(uid)
            if job is None or secrets is None:
                return job
            redactor = job.redactor.learning(secrets)
            if redactor is job.redactor:
                return job
            self._jobs[uid] = job = replace(job, redactor=redactor)
            return job

    def drop_job(self, kind: str, uid: str) -> CachedJob | None:
        """Forget a job for good, or until jobs of its kind are in doubt, and return it."""
        with self._lock:
            self._gone[kind].note(uid)
            self._doubted.discard(uid)
            return self._drop_job(uid)

    def is_gone(self, kind: str, uid: str) -> bool:
        """Return whether a job went, and its kind was not listed anew since."""
        return uid in self._gone[kind]

    def _drop_job(self, uid: str) -> CachedJob | None:
        job = self._jobs.pop(uid, None)
        if job is not None:
            self._selecting.drop(uid)
            self._on_runtime.discard(job.runtime, uid)
            self._in_shard.discard(shard_of(job.identity.stream_id), uid)
        return job

    def job(self, uid: str) -> CachedJob | None:
        """Return a RayJob by its UID."""
        return self._jobs.get(uid)

    def known_identity(self, identity: JobIdentity) -> JobIdentity:
        """Return the identity of a job as it is held here, where it is the same."""
        job = self._jobs.get(identity.uid)
        return job.identity if job is not None and job.identity == identity else identity

    def is_copy_outdated(self, job: CachedJob) -> bool:
        """Return whether a RayJob shows the copy of a RayCluster that is not there."""
        name = (job.identity.namespace, job.copied)
        return job.copied != "" and name not in self._children["RayCluster"].by_name

    def jobs(self) -> list[CachedJob]:
        """Return all RayJobs."""
        with self._lock:
            return list(self._jobs.values())

    def jobs_in(self, shards: Collection[int]) -> list[CachedJob]:
        """Return the jobs of these shards."""
        with self._lock:
            return [self._jobs[uid] for shard in shards for uid in self._in_shard.of(shard)]

    def put_child(self, kind: str, child: CachedChild) -> None:
        """Keep a RayCluster (`RayCluster`), submitter (`Job`) or head's Pod (`Pod`).

        One of a kind that is asked for is not kept if it has gone.
        """
        with self._lock:
            if child.uid not in self._gone_children[kind]:
                self._children[kind].put(child)
            self._doubted.discard(child.uid)

    def note_secrets(self, kind: str, child: CachedChild, secrets: LateSecrets) -> None:
        """Take note of what a child declares, unless another form of it was told meanwhile."""
        with self._lock:
            if self._children[kind].by_uid.get(child.uid) is child:
                self._children[kind].put(dataclasses.replace(child, secrets=secrets))

    def note_runtimes_secrets(
        self, key: tuple[str, str, str], runtime: CachedRuntime, secrets: LateSecrets
    ) -> None:
        """Take note of what a runtime declares, unless another form of it was told meanwhile."""
        with self._lock:
            if self._runtimes.get(key) is runtime:
                self._runtimes[key] = dataclasses.replace(runtime, secrets=secrets)

    def drop_child(self, kind: str, uid: str) -> CachedChild | None:
        """Forget a child and return it."""
        with self._lock:
            if kind in _ASKED_FOR:
                self._gone_children[kind].note(uid)
            self._doubted.discard(uid)
            return self._children[kind].drop(uid)

    def child(self, kind: str, uid: str) -> CachedChild | None:
        """Return a child by its UID."""
        return self._children[kind].by_uid.get(uid)

    def has_child(self, kind: str, uid: str, owner: str = "") -> bool:
        """Return whether a child of that UID is there, and belongs to `owner` (a UID) if given."""
        found = self._children[kind].by_uid.get(uid)
        return found is not None and owner in ("", found.owner_uid)

    def has_any(self, uids: Collection[str], owner: str) -> bool:
        """Return whether a child of one of these UIDs is there, and belongs to `owner` (a UID)."""
        with self._lock:
            owned = (one.by_owner.get(owner, {}) for one in self._children.values())
            return any(uid in children for children in owned for uid in uids)

    def children_of(self, kind: str, job: CachedJob) -> list[CachedChild]:
        """Return the children that a RayJob owns, and the RayCluster it selects.

        Pods are those of the heads of its RayClusters.
        """
        if kind == "Pod":
            return [
                pod
                for cluster in self.children_of("RayCluster", job)
                for pod in self.heads_of(cluster.uid)
            ]
        owned = self._children[kind].by_owner.get(job.identity.uid)
        if not owned and not (job.selected and kind == "RayCluster"):
            return []  # as of most jobs when they are listed
        with self._lock:
            owned = self._children[kind].by_owner.get(job.identity.uid, {})
            found = {uid: item for uid, item in owned.items() if _owns(job, item)}
            named = self._children[kind].by_name.get((job.identity.namespace, job.selected))
            if kind == "RayCluster" and named is not None:
                found[named.uid] = named
            return list(found.values())

    def heads_of(self, cluster_uid: str) -> list[CachedChild]:
        """Return the Pods of a RayCluster's head: one, but for a moment two."""
        with self._lock:
            cluster = self._children["RayCluster"].by_uid.get(cluster_uid)
            pods = self._children["Pod"].by_owner.get(cluster_uid, {}).values()
            return [
                pod for pod in pods if cluster is not None and pod.namespace == cluster.namespace
            ]

    def jobs_of(self, kind: str, child: CachedChild) -> list[CachedJob]:
        """Return the RayJobs that a child concerns: its owner, and those that select it.

        A Pod concerns those whom its RayCluster concerns; none, while that is not known.
        """
        if kind == "Pod":
            cluster = self.child("RayCluster", child.owner_uid)
            is_near = cluster is not None and cluster.namespace == child.namespace
            return self.jobs_of("RayCluster", cluster) if cluster is not None and is_near else []
        with self._lock:
            uids = {child.owner_uid} if self.owner_of(child) is not None else set()
            if kind == "RayCluster":
                uids.update(self._selecting.of((child.namespace, child.name)))
            return [job for uid in sorted(uids) if (job := self._jobs.get(uid)) is not None]

    def owner_of(self, child: CachedChild) -> CachedJob | None:
        """Return the job that a child belongs to; None if none that is known."""
        job = self._jobs.get(child.owner_uid)
        return job if job is not None and _owns(job, child) else None

    def child_named(self, kind: str, namespace: str, name: str) -> CachedChild | None:
        """Return the child of that name, or None."""
        return self._children[kind].by_name.get((namespace, name))

    def put_runtime(self, key: tuple[str, str, str], runtime: CachedRuntime) -> None:
        """Keep a runtime, by kind, namespace and name."""
        with self._lock:
            self._runtimes[key] = runtime
            self._doubted.discard(key)

    def drop_runtime(self, key: tuple[str, str, str]) -> None:
        """Forget a runtime."""
        with self._lock:
            self._runtimes.pop(key, None)
            self._doubted.discard(key)

    def runtime(self, key: tuple[str, str, str]) -> CachedRuntime | None:
        """Return a runtime."""
        return self._runtimes.get(key)

    def jobs_on(self, key: tuple[str, str, str]) -> list[CachedJob]:
        """Return the TrainJobs that name a runtime."""
        with self._lock:
            return [self._jobs[uid] for uid in self._on_runtime.of(key)]
