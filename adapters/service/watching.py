"""What the three watches tell, turned into observations of the jobs concerned.

A listener does no more than decode, redact and put into the inbox; it decides nothing.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec

from adapters.service.confirmations import Confirmations
from adapters.service.inbox import Inbox
from adapters.service.live import LiveChild, LiveJob, LiveObjects, pack
from adapters.service.sightings import (
    Door,
    identify,
    secrets_of,
    see_cluster,
    see_manifest,
    see_submitter,
)
from core.jobs.observations import WatchInterrupted
from core.log.redaction import Redactor
from core.rayjob.children import owner_uid
from core.rayjob.names import FINALIZER
from core.rayjob.observations import ClusterGone, ManifestGone, SubmitterGone
from core.values.documents import Manifest, child, items, number, text
from core.values.ids import StreamId, observation_id
from core.values.instants import Instant

ChildKind = Literal["RayCluster", "Job"]
CHILD_KINDS: tuple[ChildKind, ...] = ("RayCluster", "Job")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the listeners share."""

    door: Door
    inbox: Inbox
    live: LiveObjects
    confirmations: Confirmations
    synced: Callable[[str], None]
    """Called with the kind after each complete list."""
    telling: threading.RLock = field(default_factory=threading.RLock)
    """Held from taking note of an object until the jobs concerned have been told.

    Else two watches could tell the same job of the same child, the older form last.
    """


def version_is_older(version: str, than: str) -> bool:
    """Return whether a resourceVersion is older; what cannot be compared counts as newer.

    Source: KEP-5504, resourceVersions of one resource are comparable as whole numbers.
    """
    return version.isdigit() and than.isdigit() and int(version) < int(than)


class JobListener:
    """Takes in RayJobs."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Tell of a RayJob, unless nothing that matters has changed since the last time."""
        with self._around.telling:
            self._seen(manifest, at)

    def _seen(self, manifest: Manifest, at: Instant) -> None:
        around = self._around
        metadata = child(manifest, "metadata")
        known = around.live.job(text(metadata, "uid"))
        version = text(metadata, "resourceVersion")
        if known is not None and version_is_older(version, known.version):
            return
        glance = _glance(metadata)
        phase = text(manifest, "status", "jobDeploymentStatus")
        observed = number(manifest, "status", "observedGeneration") or 0
        if known is not None and known.glance == glance:
            now = replace(known, version=version, phase=phase, observed_generation=observed)
            around.live.put_job(now)
            around.confirmations.count(known.identity.stream_id, "RayJob", at)
            return
        secrets = secrets_of(manifest) | (known.secrets if known is not None else frozenset())
        redactor = Redactor(around.door.redaction_key, secrets)
        identity = identify(around.door.cluster, manifest)
        job = LiveJob(
            identity=identity,
            version=version,
            glance=glance,
            secrets=secrets,
            redactor=redactor,
            selected=text(manifest, "spec", "clusterSelector", "ray.io/cluster"),
            phase=phase,
            packed=pack(manifest),
            guarded=FINALIZER in items(metadata, "finalizers")
            and not text(metadata, "deletionTimestamp"),
            observed_generation=observed,
        )
        around.live.put_job(job)
        sighting = see_manifest(around.door, identity, manifest, redactor, at)
        around.inbox.put(identity.stream_id, sighting)
        if known is None:
            _tell_children(around, job, at)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Tell that a RayJob is gone."""
        with self._around.telling:
            job = self._around.live.drop_job(text(manifest, "metadata", "uid"))
            if job is not None:
                tell_job_gone(self._around, job.identity.stream_id, at)

    def synced(self, at: Instant) -> None:
        """Pass on that all RayJobs have been told."""
        del at
        self._around.synced("RayJob")

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Tell every job of the gap."""
        tell_gap(self._around, "RayJob", since, until, reason)


def _glance(metadata: Manifest) -> tuple[object, ...]:
    """Return what changes with everything that matters; labels are passed on to RayClusters."""
    inherited = (metadata.get("labels"), metadata.get("annotations"))
    return (
        metadata.get("generation"),
        metadata.get("deletionTimestamp"),
        tuple(str(item) for item in items(metadata, "finalizers")),
        hash(msgspec.json.encode(inherited)),
    )


def tell_job_gone(around: Surroundings, stream: StreamId, at: Instant) -> None:
    """Tell a job that its object is gone."""
    around.inbox.put(stream, ManifestGone(id=observation_id(stream, "manifest gone"), at=at))


def retell(around: Surroundings, uid: str, at: Instant) -> None:
    """Tell a RayJob and its children once more, as they were last seen."""
    with around.telling:
        job = around.live.job(uid)
        if job is None:
            return
        seen = see_manifest(around.door, job.identity, job.manifest, job.redactor, at)
        around.inbox.put(job.identity.stream_id, seen)
        _tell_children(around, job, at)


def _tell_children(around: Surroundings, job: LiveJob, at: Instant) -> None:
    """Tell of the children that were seen before their RayJob."""
    for kind in CHILD_KINDS:
        for item in around.live.children_of(kind, job):
            tell_child(around, kind, job, item.manifest, at)


def tell_child(
    around: Surroundings, kind: ChildKind, job: LiveJob, manifest: Manifest, at: Instant
) -> None:
    """Tell a job of one of its children."""
    stream, uid = job.identity.stream_id, job.identity.uid
    if kind == "RayCluster":
        around.inbox.put(stream, see_cluster(stream, uid, manifest, job.redactor, at))
    else:
        around.inbox.put(stream, see_submitter(stream, uid, manifest, job.redactor, at))


def tell_gap(
    around: Surroundings, source: str, since: Instant, until: Instant, reason: str
) -> None:
    """Tell every job that changes of a kind of object may have been missed."""
    for job in around.live.jobs():
        stream = job.identity.stream_id
        gap = WatchInterrupted(
            id=observation_id(stream, "gap", source, until.isoformat()),
            at=until,
            source=source,
            since=since,
            until=until,
            reason=reason,
        )
        around.inbox.put(stream, gap)


class ChildListener:
    """Takes in RayClusters, or submitters."""

    def __init__(self, around: Surroundings, kind: ChildKind) -> None:
        self._around = around
        self._kind = kind

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Tell the jobs concerned of a child."""
        around, metadata = self._around, child(manifest, "metadata")
        item = LiveChild(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            version=text(metadata, "resourceVersion"),
            owner_uid=owner_uid(manifest),
            packed=pack(manifest),
        )
        if self._kind == "Job" and not item.owner_uid:
            return
        with around.telling:
            known = around.live.child(self._kind, item.uid)
            if known is not None and version_is_older(item.version, known.version):
                return
            around.live.put_child(self._kind, item)
            for job in around.live.jobs_of(self._kind, item):
                tell_child(around, self._kind, job, manifest, at)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Tell the jobs concerned that a child is gone."""
        with self._around.telling:
            item = self._around.live.drop_child(self._kind, text(manifest, "metadata", "uid"))
            if item is None:
                return
            for job in self._around.live.jobs_of(self._kind, item):
                tell_child_gone(
                    self._around, self._kind, job.identity.stream_id, item.name, item.uid, at
                )

    def synced(self, at: Instant) -> None:
        """Pass on that all children have been told."""
        del at
        self._around.synced(self._kind)

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Tell every job of the gap."""
        tell_gap(self._around, self._kind, since, until, reason)


def tell_child_gone(
    around: Surroundings, kind: ChildKind, stream: StreamId, name: str, uid: str, at: Instant
) -> None:
    """Tell a job that one of its children is gone."""
    mark = observation_id(stream, kind, "gone", uid)
    if kind == "RayCluster":
        around.inbox.put(stream, ClusterGone(id=mark, at=at, name=name, uid=uid))
    else:
        around.inbox.put(stream, SubmitterGone(id=mark, at=at, name=name, uid=uid))
