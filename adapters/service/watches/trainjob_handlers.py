"""Handles watch events of TrainJobs, runtimes and their objects.

JobSets and the other objects that a TrainJob owns come in by `watching.ChildListener`.
"""

from dataclasses import replace

from jobledger.adapters.service.objects.declared_secrets import (
    secrets_of,
    secrets_of_child,
    secrets_of_job,
    secrets_of_parts,
)
from jobledger.adapters.service.objects.object_cache import (
    CachedChild,
    CachedJob,
    CachedRuntime,
    pack,
    pack_status,
)
from jobledger.adapters.service.observing.left_out import tell_left_out
from jobledger.adapters.service.observing.progress import read_progress
from jobledger.adapters.service.observing.rayjob_observations import identify
from jobledger.adapters.service.observing.trainjob_observations import (
    runtime_digest,
    runtime_key,
    see_jobset,
    see_runtime,
    see_trainjob,
)
from jobledger.adapters.service.watches.condition_telling import (
    tell_all_conditions,
    tell_conditions,
)
from jobledger.adapters.service.watches.event_handlers import EventHandlers
from jobledger.adapters.service.watches.rayjob_handlers import (
    after_another,
    declared_by,
    last_writer,
    newest_writer,
    recorded_glance,
    redactor_of,
    tell_gap,
)
from jobledger.core.jobs.control.status_writers import StatusWriter
from jobledger.core.trainjob.building.runtimes import trainjob_owner
from jobledger.core.trainjob.names import SNAPSHOT_ENDING
from jobledger.core.trainjob.observations import BelongingGone, JobSetGone, TrainJobGone
from jobledger.core.trainjob.phases import SUSPENDED, TERMINAL
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant


class TrainJobListener:
    """Takes in TrainJobs."""

    def __init__(self, around: EventHandlers) -> None:
        self._around = around

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Tell of a TrainJob, unless nothing that matters has changed since the last time."""
        around, metadata = self._around, child(manifest, "metadata")
        with around.telling:
            known = around.live.job(text(metadata, "uid"))
            version = text(metadata, "resourceVersion")
            # Also of a version that a write of ours has followed: that another wrote it is news.
            other = around.mapper.control_policy.note("TrainJob", manifest, last_writer(known), at)
            if known is not None and around.live.is_older(
                known.identity.uid, version, known.version
            ):
                return
            self._take_in(known, manifest, other, at)
            if known is not None or not _ended(manifest):  # else it is of an earlier life
                tell_progress(around, manifest, at)
            is_ours = not around.mapper.control_policy.why_recorded("TrainJob", manifest)
            if known is None or version == known.version or not is_ours:
                return
            if around.concerns_us(stream := known.identity.stream_id):
                around.changed(stream, version, child(manifest, "status"))

    def _take_in(
        self, known: CachedJob | None, manifest: Manifest, other: StatusWriter | None, at: Instant
    ) -> None:
        around, metadata = self._around, child(manifest, "metadata")
        version = text(metadata, "resourceVersion")
        recorded = around.mapper.control_policy.why_recorded("TrainJob", manifest)
        others = newest_writer(known, other)
        glance = (*_glance(metadata), *recorded_glance(recorded, manifest))
        ended = _ended(manifest)
        if known is not None and known.glance == glance:
            observed = _observed(manifest)
            around.live.put_job(
                replace(
                    known,
                    version=version,
                    phase=ended,
                    observed_generation=observed,
                    others=others,
                    shown=pack_status(manifest),
                    told=version,
                )
            )
            around.confirmations.count(known.identity.stream_id, "TrainJob", at)
            return
        declared = declared_by(metadata)
        secrets = secrets_of_job(manifest, known, declared)
        identity = identify(around.mapper.cluster, manifest)
        job = CachedJob(
            identity=identity,
            version=version,
            glance=glance,
            declared=declared,
            secrets=secrets,
            redactor=redactor_of(around, known, secrets),
            selected="",
            phase=ended,
            packed=pack(manifest),
            observed_generation=_observed(manifest),
            kind="TrainJob",
            runtime=runtime_key(manifest),
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
        sighting = see_trainjob(around.mapper, identity, manifest, job.redactor, at)
        if known is None and others is not None and not recorded:
            told, sighting = after_another(sighting, others)
            around.inbox.put(identity.stream_id, told)
        tell_left_out(around.live, job, sighting.option_problems)
        around.inbox.put(identity.stream_id, sighting)
        if known is None or known.runtime != job.runtime:
            tell_runtime(around, job, at)
        if known is None or recorded or known.recorded:
            _tell_objects(around, job, at)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Tell that a TrainJob is gone."""
        with self._around.telling:
            job = self._around.live.drop_job(text(manifest, "metadata", "uid"))
            if job is not None:
                self._around.progress.forget(job.identity.stream_id)
                tell_trainjob_gone(self._around, job.identity.stream_id, at)

    def synced(self, at: Instant) -> None:
        """Pass on that all TrainJobs have been told."""
        del at
        self._around.synced("TrainJob")

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Tell every TrainJob of the gap."""
        tell_gap(self._around, "TrainJob", since, until, reason, "TrainJob")


def _glance(metadata: Manifest) -> tuple[object, ...]:
    """Return what changes with everything that matters; labels are only written down."""
    return declared_by(metadata), metadata.get("deletionTimestamp")


def _observed(manifest: Manifest) -> int:
    """Return the generation that the status tells of; 0 if it tells of an earlier one.

    A TrainJob has no observedGeneration: what may still change after its end are Suspended, which
    follows the specification, and the counters of Jobs that are on their way out.
    """
    status = child(manifest, "status")
    shown = {text(item, "type"): text(item, "status") for item in items(status, "conditions")}
    wants = child(manifest, "spec").get("suspend") is True
    winds_up = any(
        number(item, "active") or number(item, "ready") for item in items(status, "jobsStatus")
    )
    if (shown.get(SUSPENDED) == "True") != wants or winds_up:
        return 0
    return number(manifest, "metadata", "generation") or 0


def _ended(manifest: Manifest) -> str:
    """Return the type of the condition that ends a TrainJob, as it is shown."""
    for item in items(manifest, "status", "conditions"):
        if text(item, "type") in TERMINAL and text(item, "status") == "True":
            return text(item, "type")
    return ""


def tell_trainjob_gone(around: EventHandlers, stream: StreamId, at: Instant) -> None:
    """Tell a job that its object is gone."""
    around.inbox.put(stream, TrainJobGone(id=observation_id(stream, "trainjob gone"), at=at))


def retell_trainjob(around: EventHandlers, job: CachedJob, at: Instant) -> None:
    """Tell a TrainJob, its runtime and its JobSet once more, as they were last seen."""
    with around.telling:
        seen = see_trainjob(around.mapper, job.identity, job.newest, job.redactor, at)
        around.inbox.put(job.identity.stream_id, seen)
        tell_runtime(around, job, at)
        _tell_objects(around, job, at)
        around.progress.forget(job.identity.stream_id)
        tell_progress(around, job.newest, at)


def tell_progress(around: EventHandlers, manifest: Manifest, at: Instant) -> None:
    """Tell a TrainJob what its Pods have reported, as often as the rule has it."""
    job = around.live.job(text(manifest, "metadata", "uid"))
    if job is None or not around.concerns_us(job.identity.stream_id):
        return
    progress = read_progress(manifest, job.redactor)
    if progress is None:
        return
    stream, version = job.identity.stream_id, text(manifest, "metadata", "resourceVersion")
    seen = around.progress.note(stream, progress, version, at)
    if seen is not None:
        around.inbox.put(stream, seen)


def _tell_objects(around: EventHandlers, job: CachedJob, at: Instant) -> None:
    """Tell a TrainJob of its objects, as they were last seen: of an end last."""
    tell_all_conditions(around, job, at)
    tell_jobsets(around, job, at)


def tell_jobsets(around: EventHandlers, job: CachedJob, at: Instant, mark: str = "") -> None:
    """Tell a TrainJob of its JobSet, as it was last seen; with a `mark` that is news again."""
    stream = job.identity.stream_id
    for item in around.live.children_of("JobSet", job):
        seen = see_jobset(job, item.manifest, at)
        if mark:
            seen = replace(seen, id=observation_id(stream, str(seen.id), mark))
        around.inbox.put(stream, seen)


def tell_runtime(around: EventHandlers, job: CachedJob, at: Instant) -> None:
    """Tell a TrainJob of its runtime, as it was last seen."""
    found = around.live.runtime(job.runtime)
    if found is not None:
        seen = see_runtime(job.identity.stream_id, found.digest, found.version, at)
        around.inbox.put(job.identity.stream_id, seen)


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
            version=text(manifest, "metadata", "resourceVersion"),
            digest=runtime_digest(around.mapper, manifest),
            packed=pack(manifest),
            secrets=secrets_of(manifest),
        )
        with around.telling:
            known = around.live.runtime(key)
            if known is not None and around.live.is_older(key, runtime.version, known.version):
                return
            around.live.put_runtime(key, runtime)
            if known is not None and known.digest == runtime.digest:
                return
            for job in around.live.jobs_on(key):
                around.live.learn(job.identity.uid, runtime.secrets)
                tell_runtime(around, job, at)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Tell the jobs that name a runtime that it is gone."""
        around, key = self._around, self._key(manifest)
        with around.telling:
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
        tell_gap(self._around, self._kind, since, until, reason, "TrainJob")


def _may_be_in_the_way(kind: str, name: str) -> bool:
    """Return whether an object that no TrainJob owns may have a name that one of ours needs."""
    return kind == "JobSet" or (kind == "ConfigMap" and name.endswith(SNAPSHOT_ENDING))


class BelongingListener:
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
        before = around.live.child(self._kind, text(metadata, "uid"))
        item = CachedChild(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            uid=text(metadata, "uid"),
            version=text(metadata, "resourceVersion"),
            owner_uid=trainjob_owner(manifest),
            packed=pack(manifest),
            generation=number(metadata, "generation") or 0,
            secrets=secrets_of_child(self._kind, manifest, before),
        )
        if not item.owner_uid and not _may_be_in_the_way(self._kind, item.name):
            return
        with around.telling:
            known = around.live.child(self._kind, item.uid)
            if known is not None and around.live.is_older(item.uid, item.version, known.version):
                return
            around.live.put_child(self._kind, item)
            job = around.live.learn(item.owner_uid, item.secrets)
            if job is None:
                return
            tell_conditions(around, job, self._kind, manifest, at)  # before an end that it tells
            if self._kind == "JobSet":
                around.inbox.put(job.identity.stream_id, see_jobset(job, manifest, at))

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Tell the job that owned an object that it is gone."""
        with self._around.telling:
            uid = text(manifest, "metadata", "uid")
            item = self._around.live.drop_child(self._kind, uid)
            job = self._around.live.job(item.owner_uid) if item is not None else None
            if item is not None and job is not None:
                belonging = (self._kind, item.name, item.uid)
                stream = job.identity.stream_id
                tell_belonging_gone(self._around, stream, belonging, at, built=self._built)

    def synced(self, at: Instant) -> None:
        """Pass on that all objects of the kind have been told."""
        del at
        self._around.synced(self._kind)

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Tell every TrainJob of the gap."""
        tell_gap(self._around, self._kind, since, until, reason, "TrainJob")


def tell_belonging_gone(
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
        gone = BelongingGone(id=mark, at=at, name=name, uid=uid, kind=kind, built=built)
        around.inbox.put(stream, gone)
