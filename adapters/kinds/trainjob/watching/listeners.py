"""Handles watch events of what TrainJobs are built from and own: runtimes, JobSets, other objects.

A listener does no more than decode, redact and put into the inbox; it decides nothing.
"""

from functools import partial

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.kinds.trainjob.snapshot_text import read_snapshot
from jobledger.adapters.kinds.trainjob.watching.observations import (
    runtime_digest,
    see_jobset,
    see_runtime,
)
from jobledger.adapters.kinds.trainjob.watching.plugin_conditions import PluginConditions
from jobledger.adapters.kinds.trainjob.watching.progress import ProgressReports, read_progress
from jobledger.adapters.service.objects.kept_children import (
    CachedChild,
    CachedRuntime,
    secrets_of_object,
)
from jobledger.adapters.service.objects.object_cache import CachedJob, kept_as
from jobledger.adapters.service.objects.packing import pack
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.job_listener import marked, tell_gap
from jobledger.adapters.service.watches.parts_looked_through import (
    Edit,
    child_looked_through,
    runtime_looked_through,
)
from jobledger.core.log.redaction.redact import secrets_in
from jobledger.core.ports.cluster import TRAINJOBS
from jobledger.core.trainjob.building.runtimes import trainjob_owner
from jobledger.core.trainjob.names import SNAPSHOT_ENDING, SNAPSHOT_KEY
from jobledger.core.trainjob.observations import DependentGone, JobSetGone
from jobledger.core.values.documents import Manifest, child, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant


def tell_progress(around: EventHandlers, manifest: Manifest, at: Instant) -> None:
    """Tell a TrainJob what its Pods have reported, as often as the rule has it."""
    job = around.live.job(text(manifest, "metadata", "uid"))
    if job is None or not around.concerns_us(job.identity.stream_id):
        return
    progress = read_progress(manifest, job.redactor)
    if progress is None:
        return
    stream, version = job.identity.stream_id, text(manifest, "metadata", "resourceVersion")
    seen = around.remembered(ProgressReports).note(stream, progress, version, at)
    if seen is not None:
        around.inbox.put(stream, seen)


def tell_objects(around: EventHandlers, job: CachedJob, at: Instant, mark: str = "") -> None:
    """Tell a TrainJob of its runtime and its objects, as they were last seen: of an end last.

    With a `mark` that is news again.
    """
    tell_runtime(around, job, at, mark)
    _tell_all_conditions(around, job, at, mark)
    stream = job.identity.stream_id
    for item in around.live.children_of("JobSet", job):
        around.inbox.put(stream, marked(see_jobset(job, item.manifest, at), stream, mark))


def tell_runtime(around: EventHandlers, job: CachedJob, at: Instant, mark: str = "") -> None:
    """Tell a TrainJob of its runtime, as it was last seen; with a `mark` that is news again."""
    found, stream = around.live.runtime(job.runtime), job.identity.stream_id
    if found is not None:
        seen = see_runtime(stream, found.digest, found.version, at)
        around.inbox.put(stream, marked(seen, stream, mark))


class RuntimeListener:
    """Takes in TrainingRuntimes, or ClusterTrainingRuntimes."""

    def __init__(self, around: EventHandlers, kind: str) -> None:
        self._around = around
        self._kind = kind

    def _key(self, manifest: Manifest) -> tuple[str, str, str]:
        metadata = child(manifest, "metadata")
        return self._kind, text(metadata, "namespace"), text(metadata, "name")

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Tell the jobs that name a runtime of it; at once, if one waits for it."""
        around, key = self._around, self._key(manifest)
        runtime = CachedRuntime(
            uid=text(manifest, "metadata", "uid"),
            version=text(manifest, "metadata", "resourceVersion"),
            digest=runtime_digest(around.mapper, manifest),
            packed=pack(manifest),
        )
        with around.telling:
            known = around.live.runtime(key)
            if known is not None and around.live.is_older(key, runtime.version, known.version):
                return
            if known is not None and known.uid != runtime.uid:
                known = None  # it went, and another was made
            jobs = around.live.jobs_on(key)
            edit = Edit(around, "/".join(key), manifest, jobs, partial(self.seen, at=at))
            read = runtime_looked_through(edit, runtime, known)
            if read is None:
                return
            around.live.put_runtime(key, read)
            if known is not None and known.digest == runtime.digest:
                return
            for job in jobs:
                around.live.learn(job.identity.uid, read.secrets)
                tell_runtime(around, job, at)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Tell the jobs that name a runtime that it is gone, unless another has its name by now.

        A new list tells first of what is there, and then of what is not.
        """
        around, key = self._around, self._key(manifest)
        with around.telling:
            known = around.live.runtime(key)
            if known is not None and known.uid != text(manifest, "metadata", "uid"):
                return
            around.waiting.pop("/".join(key), None)
            around.live.drop_runtime(key)
            for job in around.live.jobs_on(key):
                stream = job.identity.stream_id
                around.inbox.put(stream, see_runtime(stream, "", "", at))

    def synced(self, at: Instant) -> None:
        """Pass on that all runtimes have been told."""
        del at
        self._around.synced(self._kind)

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Tell every TrainJob of the gap."""
        tell_gap(self._around, TRAINJOBS.kind, self._kind, since, until, reason)


def _may_be_in_the_way(kind: str, name: str) -> bool:
    """Return whether an object that no TrainJob owns may have a name that one of ours needs."""
    return kind == "JobSet" or (kind == "ConfigMap" and name.endswith(SNAPSHOT_ENDING))


class DependentListener:
    """Takes in what TrainJobs own: JobSets, and other objects.

    Those that were built for a job are made again if they go.
    """

    def __init__(self, around: EventHandlers, kind: str, *, built: bool = True) -> None:
        self._around = around
        self._kind = kind
        self._built = built

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Take note of an object that a TrainJob owns; tell the job of its JobSet."""
        around, metadata = self._around, child(manifest, "metadata")
        item = CachedChild(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            version=text(metadata, "resourceVersion"),
            owner_uid=trainjob_owner(manifest),
            owner_kind=TRAINJOBS.kind,
            packed=pack(manifest),
            generation=number(metadata, "generation") or 0,
            declared=_secrets_of_snapshot if self._kind == "ConfigMap" else secrets_of_object,
        )
        is_kept = item.owner_uid != "" or _may_be_in_the_way(self._kind, item.name)
        with around.telling:
            known = around.live.child(self._kind, item.uid)
            if known is None and not is_kept:
                return
            if known is not None and around.live.is_older(item.uid, item.version, known.version):
                return
            owner = around.live.owner_of(item)
            if known is not None and known.owner_uid != item.owner_uid:
                self._tell_gone(known, at)
            concerned = (owner,) if owner is not None else ()
            edit = Edit(around, item.uid, manifest, concerned, partial(self.seen, at=at))
            read = child_looked_through(edit, self._kind, item, known)
            if read is None:
                return
            around.live.put_child(self._kind, read)
            if owner is None:
                return
            job = around.live.learn(owner.identity.uid, read.secrets) or owner
            if not around.concerns_us(job.identity.stream_id):
                return  # whoever gains its shard asks for all of it, in the order below
            tell_conditions(around, job, self._kind, manifest, at)  # before an end that it tells
            if self._kind == "JobSet":
                around.inbox.put(job.identity.stream_id, see_jobset(job, manifest, at))

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Tell the job that owned an object that it is gone."""
        with self._around.telling:
            uid = text(manifest, "metadata", "uid")
            self._around.waiting.pop(uid, None)
            item = self._around.live.drop_child(self._kind, uid)
            if item is not None:
                self._tell_gone(item, at)

    def _tell_gone(self, item: CachedChild, at: Instant) -> None:
        """Tell the job that owned an object that it has it no more."""
        job = self._around.live.owner_of(item)
        if job is not None:
            belonging, stream = (self._kind, item.name, item.uid), job.identity.stream_id
            tell_dependent_gone(self._around, stream, belonging, at, built=self._built)

    def synced(self, at: Instant) -> None:
        """Pass on that all objects of the kind have been told."""
        del at
        self._around.forget_unlisted(self._kind)
        self._around.synced(self._kind)

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Tell every TrainJob of the gap."""
        tell_gap(self._around, TRAINJOBS.kind, self._kind, since, until, reason)


def tell_dependent_gone(
    around: EventHandlers,
    stream: StreamId,
    belonging: tuple[str, str, str],
    at: Instant,
    *,
    built: bool = True,
) -> None:
    """Tell a job that an object of kind, name and UID (empty: unknown) is gone.

    And whether it is built for jobs.
    """
    kind, name, uid = belonging
    mark = observation_id(stream, kind, "gone", uid or name)
    if kind == "JobSet":
        around.inbox.put(stream, JobSetGone(id=mark, at=at, name=name, uid=uid))
    else:
        gone = DependentGone(id=mark, at=at, name=name, uid=uid, kind=kind, built=built)
        around.inbox.put(stream, gone)


def _secrets_of_snapshot(manifest: Manifest) -> frozenset[str]:
    """Return the secrets of the runtime that a ConfigMap holds; a ConfigMap may hold another."""
    written = text(manifest, "data", SNAPSHOT_KEY)
    if not written:
        return frozenset()
    held, problem = read_snapshot(written)
    if problem or not held:
        return secrets_in({"spec": {"runtimeEnvYAML": written}}, None)
    return secrets_in(held, None)


def _tell_all_conditions(around: EventHandlers, job: CachedJob, at: Instant, mark: str) -> None:
    """Tell a TrainJob what plugins make of each of its objects, as they were last seen."""
    if not around.mapper.of(TrainInstallation).policy.propagates:
        return
    if not around.concerns_us(job.identity.stream_id):
        return
    kinds = {
        kept_as(one)
        for plugin in around.mapper.of(TrainInstallation).plugins
        for one in plugin.conditions_from
    }
    for kind in sorted(kinds):
        for item in around.live.children_of(kind, job):
            tell_conditions(around, job, kind, item.manifest, at, mark)


def tell_conditions(
    around: EventHandlers,
    job: CachedJob,
    kind: str,
    manifest: Manifest,
    at: Instant,
    mark: str = "",
) -> None:
    """Tell a TrainJob what plugins make of one of its objects; with a `mark` that is news again."""
    stream = job.identity.stream_id
    for seen in around.remembered(PluginConditions).about(around.mapper, job, kind, manifest, at):
        around.inbox.put(stream, marked(seen, stream, mark))
