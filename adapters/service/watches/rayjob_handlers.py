"""Handles watch events of RayJobs and their objects.

A listener does no more than decode, redact and put into the inbox; it decides nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import msgspec

from jobledger.adapters.service.control.control_policy import FIRST_SIGHT, LiveWriter
from jobledger.adapters.service.objects.declared_secrets import (
    secrets_of_child,
    secrets_of_job,
    secrets_of_parts,
)
from jobledger.adapters.service.objects.object_cache import (
    CachedChild,
    CachedJob,
    pack,
    pack_status,
    version_is_older,
)
from jobledger.adapters.service.observing.left_out import tell_left_out
from jobledger.adapters.service.observing.rayjob_observations import (
    identify,
    see_child,
    see_manifest,
)
from jobledger.adapters.service.watches.event_handlers import CHILD_KINDS, ChildKind, EventHandlers
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.jobs.control.status_writers import StatusWriter
from jobledger.core.jobs.observations import WatchInterrupted
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.rayjob.manifests.submitter_container import token_secret
from jobledger.core.rayjob.observations.children import (
    cluster_owner_uid,
    dashboard_address,
    head_pod_glance,
    owner_uid,
)
from jobledger.core.rayjob.observations.observations import (
    ClusterGone,
    HeadPodGone,
    ManifestGone,
    ManifestSeen,
    SubmitterGone,
)
from jobledger.core.trainjob.observations import TrainJobSeen
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant, rfc3339

log = get_logger(__name__)


class JobListener:
    """Takes in RayJobs."""

    def __init__(self, around: EventHandlers) -> None:
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
        # Also of a version that a write of ours has followed: that another wrote it is news.
        other = around.mapper.control_policy.note("RayJob", manifest, last_writer(known), at)
        if known is not None and around.live.is_older(known.identity.uid, version, known.version):
            return
        self._take_in(known, manifest, other, at)
        is_ours = not around.mapper.control_policy.why_recorded("RayJob", manifest)
        if known is None or version == known.version or not is_ours:
            return
        if around.concerns_us(stream := known.identity.stream_id):
            around.changed(stream, version, child(manifest, "status"))

    def _take_in(
        self, known: CachedJob | None, manifest: Manifest, other: StatusWriter | None, at: Instant
    ) -> None:
        around, metadata = self._around, child(manifest, "metadata")
        version = text(metadata, "resourceVersion")
        recorded = around.mapper.control_policy.why_recorded("RayJob", manifest)
        others = newest_writer(known, other)
        glance = (*_glance(metadata), *recorded_glance(recorded, manifest))
        phase = text(manifest, "status", "jobDeploymentStatus")
        observed = number(manifest, "status", "observedGeneration") or 0
        is_copied = "rayClusterStatus" in child(manifest, "status")
        copied = text(manifest, "status", "rayClusterName") if is_copied else ""
        if known is not None and known.glance == glance:
            now = replace(
                known,
                version=version,
                phase=phase,
                observed_generation=observed,
                copied=copied,
                others=others,
                shown=pack_status(manifest),
                told=version,
            )
            around.live.put_job(now)
            around.confirmations.count(known.identity.stream_id, "RayJob", at)
            return
        declared = declared_by(metadata)
        secrets = secrets_of_job(manifest, known, declared)
        redactor = redactor_of(around, known, secrets)
        identity = identify(around.mapper.cluster, manifest)
        job = CachedJob(
            identity=identity,
            version=version,
            glance=glance,
            declared=declared,
            secrets=secrets,
            redactor=redactor,
            selected=text(manifest, "spec", "clusterSelector", "ray.io/cluster"),
            phase=phase,
            packed=pack(manifest),
            copied=copied,
            observed_generation=observed,
            others=others,
            recorded=recorded,
            shown=pack_status(manifest),
            told=version,
            is_told_left_out=known is not None and known.is_told_left_out,
        )
        around.live.put_job(job)
        job = around.live.learn(identity.uid, secrets_of_parts(around.live, job)) or job
        if not around.concerns_us(identity.stream_id):
            return
        sighting = see_manifest(around.mapper, identity, manifest, job.redactor, at)
        if known is None and others is not None and not recorded:
            told, sighting = after_another(sighting, others)
            around.inbox.put(identity.stream_id, told)
        tell_left_out(around.live, job, sighting.option_problems)
        around.inbox.put(identity.stream_id, sighting)
        if known is None or known.selected != job.selected or recorded or known.recorded:
            tell_children(around, job, at)  # which of them are meant follows from the status

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


Sighting = TypeVar("Sighting", ManifestSeen, TrainJobSeen)


def after_another(sighting: Sighting, other: StatusWriter) -> tuple[Sighting, Sighting]:
    """Return the first sighting of a job that another controller drove while nobody was here.

    First what that one did is recorded, then control is taken. What a start is told is news though
    an earlier one may have been told the same.
    """
    stream, at = sighting.identity.stream_id, sighting.at.isoformat()
    why = f"{other.manager or 'another controller'} wrote its status at {rfc3339(other.written_at)}"
    mark = observation_id(stream, "driven by another", str(sighting.id), at)
    told = replace(sighting, id=mark, recorded=why, in_between=True)
    return told, replace(sighting, id=observation_id(stream, "taken back", str(sighting.id), at))


def last_writer(known: CachedJob | None) -> LiveWriter:
    """Return the other controller that the last sighting of a job told of."""
    return FIRST_SIGHT if known is None or known.recorded else known.others


def newest_writer(known: CachedJob | None, other: StatusWriter | None) -> StatusWriter | None:
    """Return the last write of another controller that any sighting of a job has told of."""
    before = known.others if known is not None else None
    if before is None or other is None:
        return other or before
    return max(before, other, key=lambda one: one.written_at)


def recorded_glance(recorded: str, manifest: Manifest) -> tuple[object, ...]:
    """Return what matters besides of a job that is only recorded: what others say of it."""
    if not recorded:
        return ()
    return recorded, hash(msgspec.json.encode(child(manifest, "status")))


def _glance(metadata: Manifest) -> tuple[object, ...]:
    """Return what changes with everything that matters; labels are passed on to RayClusters."""
    finalizers = tuple(str(item) for item in items(metadata, "finalizers"))
    return declared_by(metadata), metadata.get("deletionTimestamp"), finalizers


def redactor_of(
    around: EventHandlers, known: CachedJob | None, secrets: frozenset[str]
) -> Redactor:
    """Return the redactor of a job, which is made anew only for other secrets."""
    if known is not None and known.secrets == secrets:
        return known.redactor
    return Redactor(around.mapper.redaction_key, secrets)


def declared_by(metadata: Manifest) -> tuple[object, ...]:
    """Return what changes with the specification, the labels and the annotations of a job."""
    shown = (metadata.get("labels"), metadata.get("annotations"))
    return metadata.get("generation"), hash(msgspec.json.encode(shown))


def tell_job_gone(around: EventHandlers, stream: StreamId, at: Instant) -> None:
    """Tell a job that its object is gone."""
    around.inbox.put(stream, ManifestGone(id=observation_id(stream, "manifest gone"), at=at))


def retell(around: EventHandlers, uid: str, at: Instant) -> None:
    """Tell a RayJob and its children once more, as they were last seen."""
    with around.telling:
        job = around.live.job(uid)
        if job is None:
            return
        seen = see_manifest(around.mapper, job.identity, job.newest, job.redactor, at)
        around.inbox.put(job.identity.stream_id, seen)
        tell_children(around, job, at)


def tell_children(around: EventHandlers, job: CachedJob, at: Instant, mark: str = "") -> None:
    """Tell of the children that were seen before their RayJob; `mark` as `tell_child` takes it."""
    for kind in CHILD_KINDS:
        for item in around.live.children_of(kind, job):
            tell_child(around, kind, job, item.manifest, at, mark)


def tell_child(
    around: EventHandlers,
    kind: ChildKind,
    job: CachedJob,
    manifest: Manifest,
    at: Instant,
    mark: str = "",
) -> None:
    """Tell a job of one of its children.

    With a `mark` that is news although it was told before: since then the job was taken over.
    """
    stream, uid = job.identity.stream_id, job.identity.uid
    if not around.concerns_us(stream):
        return
    seen = see_child(around.mapper, kind, (stream, uid), manifest, job.redactor, at)
    if mark:
        seen = replace(seen, id=observation_id(stream, str(seen.id), mark))
    around.inbox.put(stream, seen)


def tell_gap(
    around: EventHandlers,
    source: str,
    since: Instant,
    until: Instant,
    reason: str,
    kind: str = "RayJob",
) -> None:
    """Tell every job of a kind that changes of a kind of object may have been missed."""
    around.live.doubt(source)
    for job in around.live.jobs():
        if job.kind != kind:
            continue
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


_TAKERS: Mapping[ChildKind, tuple[Callable[[Manifest], str], Callable[[Manifest], Manifest]]] = {
    "RayCluster": (owner_uid, lambda manifest: manifest),
    "Job": (owner_uid, lambda manifest: manifest),
    "Pod": (cluster_owner_uid, head_pod_glance),
}
"""Kind -> who owns such a child, and what of it is kept."""


class ChildListener:
    """Takes in RayClusters, or submitters, or the Pods of heads."""

    def __init__(self, around: EventHandlers, kind: ChildKind) -> None:
        self._around = around
        self._kind = kind

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Tell the jobs concerned of a child."""
        around, metadata = self._around, child(manifest, "metadata")
        owner_of, glance_at = _TAKERS[self._kind]
        before = around.live.child(self._kind, text(metadata, "uid"))
        item = CachedChild(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            version=text(metadata, "resourceVersion"),
            owner_uid=owner_of(manifest),
            packed=pack(glance_at(manifest)),
            generation=number(metadata, "generation") or 0,
            secrets=secrets_of_child(self._kind, manifest, before),
        )
        if self._kind == "RayCluster":
            domain = around.mapper.installation.cluster_domain
            item = replace(
                item,
                address=dashboard_address(manifest, domain),
                token_secret=token_secret(child(manifest, "spec"), item.name),
            )
        if self._kind != "RayCluster" and not item.owner_uid:
            return
        with around.telling:
            known = around.live.child(self._kind, item.uid)
            if known is not None and around.live.is_older(item.uid, item.version, known.version):
                return
            self._make_way(item, at)
            around.live.put_child(self._kind, item)
            if known is not None and known.packed == item.packed:
                return  # nothing of what is looked at has changed
            for concerned in around.live.jobs_of(self._kind, item):
                job = around.live.learn(concerned.identity.uid, item.secrets) or concerned
                tell_child(around, self._kind, job, manifest, at)
                if self._kind == "RayCluster" and known is None:
                    for pod in around.live.heads_of(item.uid):
                        tell_child(around, "Pod", job, pod.manifest, at)

    def _make_way(self, item: CachedChild, at: Instant) -> None:
        """Tell that another of its name is gone, if nobody has: a name is free only then."""
        other = self._around.live.child_named(self._kind, item.namespace, item.name)
        if other is None or other.uid == item.uid:
            return
        if version_is_older(other.version, item.version):
            self.gone({"metadata": {"uid": other.uid}}, at)

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
    around: EventHandlers, kind: ChildKind, stream: StreamId, name: str, uid: str, at: Instant
) -> None:
    """Tell a job that one of its children is gone."""
    mark = observation_id(stream, kind, "gone", uid)
    if kind == "RayCluster":
        around.inbox.put(stream, ClusterGone(id=mark, at=at, name=name, uid=uid))
    elif kind == "Job":
        around.inbox.put(stream, SubmitterGone(id=mark, at=at, name=name, uid=uid))
    else:
        around.inbox.put(stream, HeadPodGone(id=mark, at=at, name=name, uid=uid))
