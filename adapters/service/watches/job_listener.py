"""Handles watch events of jobs themselves, of every kind.

A listener does no more than decode, redact and put into the inbox; it decides nothing.
"""

from functools import partial

import msgspec
from msgspec.structs import replace

from jobledger.adapters.service.control.control_policy import FIRST_SIGHT, LiveWriter
from jobledger.adapters.service.objects.declared_secrets import redactor_of_job, secrets_of_parts
from jobledger.adapters.service.objects.object_cache import CachedJob, version_is_older
from jobledger.adapters.service.objects.packing import pack, pack_status
from jobledger.adapters.service.observing.left_out import tell_left_out
from jobledger.adapters.service.observing.mapper import identify
from jobledger.adapters.service.watches.event_handlers import EventHandlers, KindWatching
from jobledger.adapters.service.work.inbox import LateSighting
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.core.jobs.control.status_writers import StatusWriter
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.observations import WatchInterrupted
from jobledger.core.kinds import JobObservation, altered
from jobledger.core.values.documents import Manifest, child, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant, parse_rfc3339, rfc3339

log = get_logger(__name__)


class JobListener:
    """Takes in the jobs of one kind."""

    def __init__(self, around: EventHandlers, kind: str) -> None:
        self._around, self._name = around, kind

    @property
    def _kind(self) -> KindWatching:
        return self._around.kinds[self._name]

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Tell of a job, unless nothing that matters has changed since the last time."""
        around, metadata = self._around, child(manifest, "metadata")
        with around.telling:
            known = around.live.job(uid := text(metadata, "uid"))
            if known is None and around.live.is_gone(self._name, uid):
                return  # told once more, by a watch that was resumed too early
            version = text(metadata, "resourceVersion")
            # Also of a version that a write of ours has followed: that another wrote it is news.
            policy = around.mapper.control_policy
            other = policy.note(self._name, manifest, last_writer(known), at)
            if known is not None and around.live.is_older(
                known.identity.uid, version, known.version
            ):
                return
            self._take_in(known, manifest, other, at)
            self._kind.noted(around, known, manifest, at)
            if known is None or version == known.version:
                return
            if policy.why_recorded(self._name, manifest):
                return
            if around.concerns_us(stream := known.identity.stream_id):
                went_back = version_is_older(version, known.version)
                around.changed(stream, version, child(manifest, "status"), went_back=went_back)

    def _take_in(
        self, known: CachedJob | None, manifest: Manifest, other: StatusWriter | None, at: Instant
    ) -> None:
        around, kind, metadata = self._around, self._kind, child(manifest, "metadata")
        look, version = kind.look(manifest), text(metadata, "resourceVersion")
        recorded = around.mapper.control_policy.why_recorded(kind.name, manifest)
        others = newest_writer(known, other)
        declared = declared_by(metadata)
        fingerprint = (
            declared,
            metadata.get("deletionTimestamp"),
            *look.fingerprint,
            *_recorded_fingerprint(recorded, manifest),
        )
        take_in = partial(self._take_in, other=None, at=at)
        if known is not None and around.stays(known, fingerprint, manifest, take_in, at):
            now = replace(
                known,
                version=version,
                phase=look.phase,
                observed_generation=look.observed_generation,
                copied=look.copied,
                others=others,
                shown=pack_status(manifest),
                told=version,
            )
            around.live.put_job(now)
            return
        packed, key = pack(manifest), around.mapper.redaction_key
        job = CachedJob(
            kind=kind.name,
            identity=identify(around.mapper.cluster, manifest),
            version=version,
            fingerprint=fingerprint,
            declared=declared,
            redactor=redactor_of_job(key, manifest, packed, known, declared),
            selected=look.selected,
            runtime=look.runtime,
            phase=look.phase,
            packed=packed,
            copied=look.copied,
            observed_generation=look.observed_generation,
            generation=number(metadata, "generation") or 0,
            leaving=parse_rfc3339(text(metadata, "deletionTimestamp")) is not None,
            others=others,
            recorded=recorded,
            told=version,
            is_told_left_out=known is not None and known.is_told_left_out,
        )
        self._tell(known, job, manifest, at)

    def _tell(
        self, known: CachedJob | None, job: CachedJob, manifest: Manifest, at: Instant
    ) -> None:
        around, kind, stream = self._around, self._kind, job.identity.stream_id
        around.live.put_job(job)
        for secrets in secrets_of_parts(around.live, job, kind.parts):
            job = around.live.learn(job.identity.uid, secrets) or job
        if not around.concerns_us(stream):
            return
        if known is None and job.others is None and around.inbox.holds_back(stream):
            late = partial(_made_late, around, job, at)
            around.inbox.put_late(stream, LateSighting(job.identity.namespace, late))
            kind.tell_related(around, known, job, at)
            return
        seen = kind.see(around.mapper, job.identity, manifest, job.redactor, at)
        if known is None and job.others is not None and not job.recorded:
            told, seen = after_another(seen, job.identity, job.others)
            around.inbox.put(stream, told)
        tell_left_out(around.live, job, getattr(seen, "option_problems", ()))
        around.inbox.put(stream, seen)
        kind.tell_related(around, known, job, at)

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Tell that a job's object is gone."""
        around = self._around
        with around.telling:
            around.waiting.pop(text(manifest, "metadata", "uid"), None)
            job = around.live.drop_job(self._name, text(manifest, "metadata", "uid"))
            if job is not None:
                self._kind.forget(around, job.identity.stream_id)
                around.job_gone(job)
                tell_job_gone(around, self._name, job.identity.stream_id, at)

    def synced(self, at: Instant) -> None:
        """Pass on that all jobs of the kind have been told."""
        self._around.forget_unlisted(self._name, jobs=True)
        record_from_the_first(self._around, self._name, at)
        self._around.synced(self._name)

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Tell every job of the gap."""
        tell_gap(self._around, self._name, self._name, since, until, reason)


def _made_late(around: EventHandlers, job: CachedJob, at: Instant) -> JobObservation | None:
    """Return the first sighting of a job, as it was then; None if the log has decided on that."""
    try:
        if around.is_decided_on(job):
            return None
        with around.telling:
            now = around.live.job(job.identity.uid)  # which may know more secrets by now
            redactor, see = (now or job).redactor, around.kinds[job.kind].see
            seen = see(around.mapper, job.identity, job.manifest, redactor, at)
            if now is not None:
                tell_left_out(around.live, now, getattr(seen, "option_problems", ()))
    except Exception:  # one strange object must not hide others
        log.exception("job_not_looked_at", job=f"{job.identity.namespace}/{job.identity.name}")
        return None
    return seen


def see_job(around: EventHandlers, job: CachedJob, at: Instant) -> JobObservation:
    """Return the sighting of a job as it was last seen."""
    see = around.kinds[job.kind].see
    return see(around.mapper, job.identity, job.newest, job.redactor, at)


def record_from_the_first(around: EventHandlers, kind: str, at: Instant) -> None:
    """Let jobs be only recorded that were listed before another controller was met beside them.

    As long as nothing has been decided about them, the log says no other thing of them.
    """
    policy = around.mapper.control_policy
    with around.telling:
        met = {
            job.identity.stream_id: job
            for job in around.live.jobs()
            if job.kind == kind and not job.recorded
            if policy.is_refused(kind, job.identity.namespace)
        }
        sightings = {stream: see_job(around, job, at) for stream, job in met.items()}
        for stream in around.inbox.replace_held_back(sightings):
            job, manifest = met[stream], met[stream].newest
            recorded = policy.why_recorded(kind, manifest)
            fingerprint = *job.fingerprint, *_recorded_fingerprint(recorded, manifest)
            around.live.put_job(replace(job, recorded=recorded, fingerprint=fingerprint))


def retell_job(around: EventHandlers, uid: str, at: Instant) -> None:
    """Tell a job and what belongs to it once more, as they were last seen."""
    with around.telling:
        around.take_up(uid)
        job = around.live.job(uid)
        if job is None:
            return
        around.inbox.put(job.identity.stream_id, see_job(around, job, at))
        around.kinds[job.kind].retell(around, job, at)


def tell_job_gone(around: EventHandlers, kind: str, stream: StreamId, at: Instant) -> None:
    """Tell a job that its object is gone."""
    around.inbox.put(stream, around.kinds[kind].gone(stream, at))


def tell_gap(
    around: EventHandlers, kind: str, source: str, since: Instant, until: Instant, reason: str
) -> None:
    """Tell every job of a kind that changes of a kind of object may have been missed."""
    around.live.doubt(source, around.namespace, jobs=source == kind)
    for job in around.live.jobs():
        if job.kind != kind or around.namespace not in ("", job.identity.namespace):
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


def marked(seen: JobObservation, stream: StreamId, mark: str) -> JobObservation:
    """Return an observation that is news although it was told before; as it is without a mark."""
    return replace(seen, id=observation_id(stream, str(seen.id), mark)) if mark else seen


def after_another(
    seen: JobObservation, identity: JobIdentity, other: StatusWriter
) -> tuple[JobObservation, JobObservation]:
    """Return the first sighting of a job that another controller drove while nobody was here.

    First what that one did is recorded, then control is taken. What a start is told is news though
    an earlier one may have been told the same.
    """
    stream, at = identity.stream_id, seen.at.isoformat()
    why = f"{other.manager or 'another controller'} wrote its status at {rfc3339(other.written_at)}"
    mark = observation_id(stream, "driven by another", str(seen.id), at)
    told = altered(seen, id=mark, recorded=why, in_between=True)
    return told, replace(seen, id=observation_id(stream, "taken back", str(seen.id), at))


def last_writer(known: CachedJob | None) -> LiveWriter:
    """Return the other controller that the last sighting of a job told of."""
    return FIRST_SIGHT if known is None or known.recorded else known.others


def newest_writer(known: CachedJob | None, other: StatusWriter | None) -> StatusWriter | None:
    """Return the last write of another controller that any sighting of a job has told of."""
    before = known.others if known is not None else None
    if before is None or other is None:
        return other or before
    return max(before, other, key=lambda one: one.written_at)


def declared_by(metadata: Manifest) -> tuple[object, ...]:
    """Return what changes with the specification, the labels and the annotations of a job."""
    shown = (metadata.get("labels"), metadata.get("annotations"))
    return metadata.get("generation"), hash(msgspec.json.encode(shown))


def _recorded_fingerprint(recorded: str, manifest: Manifest) -> tuple[object, ...]:
    """Return what matters besides of a job that is only recorded: what others say of it."""
    if not recorded:
        return ()
    return recorded, hash(msgspec.json.encode(child(manifest, "status")))
