"""Handles watch events of what belongs to RayJobs: RayClusters, submitters, the Pods of heads.

A listener does no more than decode, redact and put into the inbox; it decides nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

from jobledger.adapters.kinds.rayjob.watching.observations import see_child
from jobledger.adapters.service.objects.kept_children import CachedChild
from jobledger.adapters.service.objects.object_cache import CachedJob, version_is_older
from jobledger.adapters.service.objects.packing import pack
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.job_listener import marked, tell_gap
from jobledger.adapters.service.watches.parts_looked_through import Edit, child_looked_through
from jobledger.core.ports.cluster import RAYJOBS
from jobledger.core.rayjob.manifests.submitter_container import token_secret
from jobledger.core.rayjob.observations.children import (
    cluster_owner_uid,
    dashboard_address,
    head_pod_summary,
    owner_uid,
)
from jobledger.core.rayjob.observations.observations import (
    ClusterGone,
    ClusterSeen,
    HeadPodGone,
    SubmitterGone,
)
from jobledger.core.rayjob.spec.installation import Installation
from jobledger.core.values.documents import Manifest, child, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant

ChildKind = Literal["RayCluster", "Job", "Pod"]
CHILD_KINDS: tuple[ChildKind, ...] = ("RayCluster", "Job", "Pod")


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
    told = marked(seen, stream, mark)
    is_end = not isinstance(seen, ClusterSeen) and seen.finished != ""
    if not (is_end and around.tell_with_answer(stream, told)):
        around.inbox.put(stream, told)


_TAKERS: Mapping[ChildKind, tuple[Callable[[Manifest], str], Callable[[Manifest], Manifest]]] = {
    "RayCluster": (owner_uid, lambda manifest: manifest),
    "Job": (owner_uid, lambda manifest: manifest),
    "Pod": (cluster_owner_uid, head_pod_summary),
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
        owner_of, summary_of = _TAKERS[self._kind]
        item = CachedChild(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            version=text(metadata, "resourceVersion"),
            owner_uid=owner_of(manifest),
            owner_kind="RayCluster" if self._kind == "Pod" else RAYJOBS.kind,
            packed=pack(summary_of(manifest)),
            generation=number(metadata, "generation") or 0,
        )
        if self._kind == "RayCluster":
            domain = around.mapper.of(Installation).cluster_domain
            item = replace(
                item,
                address=dashboard_address(manifest, domain),
                token_secret=token_secret(child(manifest, "spec"), item.name),
            )
        with around.telling:
            known = around.live.child(self._kind, item.uid)
            if known is None and self._kind != "RayCluster" and not item.owner_uid:
                return
            if known is not None and around.live.is_older(item.uid, item.version, known.version):
                return
            concerned = around.live.jobs_of(self._kind, item)
            former = around.live.owner_of(known) if known is not None else None
            if former is not None and all(one.identity != former.identity for one in concerned):
                stream = former.identity.stream_id
                tell_child_gone(around, self._kind, stream, item.name, item.uid, at)
            edit = Edit(around, item.uid, manifest, concerned, partial(self.seen, at=at))
            read = child_looked_through(edit, self._kind, item, known)
            if read is None:
                return
            self._make_way(read, at)
            around.live.put_child(self._kind, read)
            if known is not None and known.packed == item.packed:
                return  # nothing of what is looked at has changed
            for one in concerned:
                job = around.live.learn(one.identity.uid, read.secrets) or one
                tell_child(around, self._kind, job, manifest, at)
                if self._kind == "RayCluster" and known is None:
                    for pod in around.live.heads_of(item.uid):
                        job = around.live.learn(job.identity.uid, pod.secrets) or job
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
            self._around.waiting.pop(text(manifest, "metadata", "uid"), None)
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
        self._around.forget_unlisted(self._kind)
        self._around.synced(self._kind)

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Tell every job of the gap."""
        tell_gap(self._around, RAYJOBS.kind, self._kind, since, until, reason)


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
