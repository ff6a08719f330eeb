"""How Jobs are watched, and what they are told.

One watch tells of both: a Job that is given to this controller is a job, a Job whose controller is
a Job is one of its attempts. Any other is passed over, and nothing of it is kept.
"""

from functools import partial

from jobledger.adapters.kinds.batchjob.observations import see_attempt, see_job
from jobledger.adapters.service.objects.kept_children import CachedChild
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.objects.packing import pack
from jobledger.adapters.service.watches.event_handlers import (
    EventHandlers,
    JobLook,
    KindWatching,
    WatchedKind,
)
from jobledger.adapters.service.watches.job_listener import JobListener, marked, tell_gap
from jobledger.adapters.service.watches.parts_looked_through import Edit, child_looked_through
from jobledger.core.batchjob.observations import AttemptJobGone, BatchJobGone
from jobledger.core.batchjob.spec import MANAGED_BY_US
from jobledger.core.jobs.control.ownership import controller_uid
from jobledger.core.ports.cluster import BATCH_JOBS
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant

JOB = BATCH_JOBS.kind
"""The kind of the user's Job, and of those of its attempts."""

ATTEMPT = "Job of an attempt"
"""As what the Jobs of attempts are kept: submitters of RayJobs are kept as Jobs, and each watch
tells of its own alone that it went."""

WATCH = "batch Jobs"
"""What the watch is called: submitters of RayJobs are watched as Jobs too."""


class BatchJobListener:
    """Takes in Jobs: those that are given to this controller, and those of their attempts."""

    def __init__(self, around: EventHandlers) -> None:
        self._around, self._jobs = around, JobListener(around, JOB)

    def seen(self, manifest: Manifest, at: Instant) -> None:
        """Tell of a Job, unless it is none of ours."""
        if text(manifest, "spec", "managedBy") in MANAGED_BY_US:
            self._jobs.seen(manifest, at)
            return
        owner = controller_uid(manifest, BATCH_JOBS.group, JOB)
        if owner or self._around.live.has_child(ATTEMPT, text(manifest, "metadata", "uid")):
            self._attempt_seen(manifest, owner, at)

    def _attempt_seen(self, manifest: Manifest, owner: str, at: Instant) -> None:
        around, metadata = self._around, child(manifest, "metadata")
        uid = text(metadata, "uid")
        item = CachedChild(
            namespace=text(metadata, "namespace"),
            name=text(metadata, "name"),
            uid=uid,
            version=text(metadata, "resourceVersion"),
            owner_uid=owner,
            owner_kind=JOB,
            packed=pack(manifest),
            generation=number(metadata, "generation") or 0,
        )
        with around.telling:
            known = around.live.child(ATTEMPT, uid)
            if known is not None and around.live.is_older(uid, item.version, known.version):
                return
            job = around.live.owner_of(item)
            if known is not None and known.owner_uid != owner:
                self._tell_gone(known, at)
            take_in = partial(self._attempt_seen, owner=owner, at=at)
            edit = Edit(around, uid, manifest, (job,) if job is not None else (), take_in)
            read = child_looked_through(edit, JOB, item, known)
            if read is None:
                return
            around.live.put_child(ATTEMPT, read)
            if job is None:
                return
            job = around.live.learn(owner, read.secrets)
            if job is not None and around.concerns_us(stream := job.identity.stream_id):
                around.inbox.put(stream, see_attempt(stream, manifest, job.redactor, at))

    def gone(self, manifest: Manifest, at: Instant) -> None:
        """Tell that a Job is gone: the user's, or that of an attempt."""
        around, uid = self._around, text(manifest, "metadata", "uid")
        with around.telling:
            around.waiting.pop(uid, None)
            if around.live.job(uid) is not None:
                self._jobs.gone(manifest, at)
                return
            item = around.live.drop_child(ATTEMPT, uid)
            if item is not None:
                self._tell_gone(item, at)

    def _tell_gone(self, item: CachedChild, at: Instant) -> None:
        """Tell the job that the Job of an attempt belonged to that it has it no more."""
        job = self._around.live.owner_of(item)
        if job is not None:
            tell_attempt_gone(self._around, job.identity.stream_id, item.name, item.uid, at)

    def synced(self, at: Instant) -> None:
        """Pass on that all Jobs have been told."""
        del at
        self._around.forget_unlisted(ATTEMPT)
        self._around.synced(WATCH)

    def interrupted(self, since: Instant, until: Instant, reason: str) -> None:
        """Tell every job of the gap."""
        self._around.live.doubt(ATTEMPT, self._around.namespace)
        tell_gap(self._around, JOB, JOB, since, until, reason)


def tell_attempt_gone(
    around: EventHandlers, stream: StreamId, name: str, uid: str, at: Instant
) -> None:
    """Tell a job that the Job of an attempt is gone; without a UID it was asked for by name."""
    mark = observation_id(stream, "attempt's job gone", uid or name)
    around.inbox.put(stream, AttemptJobGone(id=mark, at=at, name=name, uid=uid))


def tell_attempts(around: EventHandlers, job: CachedJob, at: Instant, mark: str = "") -> None:
    """Tell a job of the Jobs of its attempts, as they were last seen."""
    stream = job.identity.stream_id
    for item in around.live.children_of(ATTEMPT, job):
        seen = see_attempt(stream, item.manifest, job.redactor, at)
        around.inbox.put(stream, marked(seen, stream, mark))


def _look(manifest: Manifest) -> JobLook:
    """Return what is kept of a Job; its status has no generation, so an end is of the present."""
    status = child(manifest, "status")
    shown = {
        text(one, "type") for one in items(status, "conditions") if text(one, "status") == "True"
    }
    phase = next((kind for kind in ("Complete", "Failed") if kind in shown), "")
    generation = number(manifest, "metadata", "generation") or 0
    return JobLook(fingerprint=(), phase=phase, observed_generation=generation if phase else 0)


def _gone(stream: StreamId, at: Instant) -> BatchJobGone:
    return BatchJobGone(id=observation_id(stream, "job gone"), at=at)


def _tell_related(
    around: EventHandlers, known: CachedJob | None, job: CachedJob, at: Instant
) -> None:
    if known is None or job.recorded or known.recorded:
        tell_attempts(around, job, at)


BATCHJOB_WATCHING = KindWatching(
    resource=BATCH_JOBS,
    watched=(WatchedKind(resource=BATCH_JOBS, listener=BatchJobListener, called=WATCH),),
    parts=(ATTEMPT,),
    whole=ATTEMPT,
    pods_of={BATCH_JOBS: ATTEMPT},
    look=_look,
    see=see_job,
    gone=_gone,
    tell_related=_tell_related,
    tell_children=tell_attempts,
    retell=tell_attempts,
)
