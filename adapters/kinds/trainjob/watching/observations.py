"""Maps TrainJobs, runtimes and JobSets to observations: decoded and redacted.

Nothing gets past here unredacted, as in `adapters.kinds.rayjob.watching.observations`.
"""

import msgspec
from msgspec.structs import replace

from jobledger.adapters.kinds.trainjob.installation import TrainInstallation
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.adapters.service.observing.late_document import LateDocument
from jobledger.adapters.service.observing.mapper import (
    MESSAGE_CHARACTERS_MAX,
    REASON_CHARACTERS_MAX,
    ObservationMapper,
)
from jobledger.core.jobs.control.lost_history import RECOVER_ANNOTATION, mark_in
from jobledger.core.jobs.control.status_writers import is_driven_here
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.retries.job_deadline import read_job_deadline
from jobledger.core.log.keyed_digests import digest
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.log.storable import word
from jobledger.core.trainjob.building.runtimes import content_of, trainjob_owner
from jobledger.core.trainjob.building.validation import patches_of
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.observations import (
    JobCounts,
    JobSetEnd,
    JobSetSeen,
    RuntimeSeen,
    SeenTrainStatus,
    TrainJobSeen,
)
from jobledger.core.trainjob.phases import COMPLETE, FAILED
from jobledger.core.trainjob.spec import read_runtime_ref, read_spec
from jobledger.core.trainjob.status.status_format import TRAINJOB_CONTROLLER
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import EPOCH, Instant, parse_rfc3339


def runtime_key(manifest: Manifest) -> tuple[str, str, str]:
    """Return kind, namespace (empty: none) and name of the runtime that a TrainJob names."""
    ref = read_runtime_ref(manifest)
    namespace = "" if ref.is_cluster_wide else text(manifest, "metadata", "namespace")
    return ref.kind, namespace, ref.name


def runtime_digest(mapper: ObservationMapper, runtime: Manifest) -> str:
    """Return what tells whether a runtime has changed in what decides about a build."""
    return digest(mapper.redaction_key, content_of(runtime))


def see_trainjob(
    mapper: ObservationMapper,
    identity: JobIdentity,
    manifest: Manifest,
    redactor: Redactor,
    at: Instant,
) -> TrainJobSeen:
    """Return the sighting of a TrainJob."""
    metadata = child(manifest, "metadata")
    because = mapper.control_policy.why_recorded("TrainJob", manifest)
    recorded = redactor.text(because, REASON_CHARACTERS_MAX)
    marks = (
        msgspec.json.encode(mapper.of(TrainInstallation).policy).decode(),
        *((recorded,) if recorded else ()),
    )
    version = text(metadata, "resourceVersion")
    return TrainJobSeen(
        id=observation_id(identity.stream_id, "trainjob", version, *marks),
        at=at,
        identity=identity,
        generation=number(metadata, "generation") or 0,
        digest=digest(mapper.redaction_key, child(manifest, "spec")),
        spec=replace(read_spec(manifest), patches=_patches(mapper, manifest)),
        policy=mapper.of(TrainInstallation).policy,
        deleting_at=parse_rfc3339(text(metadata, "deletionTimestamp")),
        status=_seen_status(child(manifest, "status"), redactor),
        document=LateDocument(manifest, redactor),
        option_problems=tuple(
            redactor.message(one, MESSAGE_CHARACTERS_MAX)
            for one in read_job_deadline(manifest).problems
        ),
        recorded=recorded,
        written_here=is_driven_here(TRAINJOB_CONTROLLER, manifest),
        builder=mapper.of(TrainInstallation).builder,
        recover=mark_in(text(metadata, "annotations", RECOVER_ANNOTATION)),
    )


def _patches(mapper: ObservationMapper, manifest: Manifest) -> str:
    """Return the digest of the runtimePatches without the times that webhooks give them."""
    patches = patches_of(manifest)
    return digest(mapper.redaction_key, {"runtimePatches": patches}) if patches else ""


def _seen_status(status: Manifest, redactor: Redactor) -> SeenTrainStatus:
    return SeenTrainStatus(
        conditions=tuple(_condition(item, redactor) for item in items(status, "conditions")),
        jobs=_counts(items(status, "jobsStatus")),
    )


def _condition(item: Json, redactor: Redactor) -> Condition:
    return Condition(
        type=word(item, "type"),
        is_true=text(item, "status") == "True",
        unknown=text(item, "status") == "Unknown",
        reason=redactor.text(text(item, "reason"), REASON_CHARACTERS_MAX),
        message=redactor.text(text(item, "message"), MESSAGE_CHARACTERS_MAX),
        since=parse_rfc3339(text(item, "lastTransitionTime")) or EPOCH,
    )


def _counts(found: Json) -> tuple[JobCounts, ...]:
    return tuple(
        JobCounts(
            name=word(item, "name"),
            ready=number(item, "ready") or 0,
            succeeded=number(item, "succeeded") or 0,
            failed=number(item, "failed") or 0,
            active=number(item, "active") or 0,
            suspended=number(item, "suspended") or 0,
        )
        for item in items(found)
    )


def see_runtime(stream: StreamId, found: str, version: str, at: Instant) -> RuntimeSeen:
    """Return the sighting of a job's runtime; `found` is its digest, empty if it is not there."""
    mark = version or at.isoformat()
    return RuntimeSeen(id=observation_id(stream, "runtime", found, mark), at=at, digest=found)


def see_jobset(job: CachedJob, manifest: Manifest, at: Instant) -> JobSetSeen:
    """Return the sighting of a JobSet."""
    metadata, redactor = child(manifest, "metadata"), job.redactor
    uid, version = text(metadata, "uid"), text(metadata, "resourceVersion")
    stream = job.identity.stream_id
    return JobSetSeen(
        id=observation_id(stream, "jobset", uid, version, ""),
        at=at,
        name=text(metadata, "name"),
        uid=uid,
        owned=trainjob_owner(manifest) == job.identity.uid,
        generation=number(metadata, "generation") or 0,
        suspend=child(manifest, "spec").get("suspend") is True,
        restarts=number(manifest, "status", "restarts") or 0,
        deleting=text(metadata, "deletionTimestamp") != "",
        jobs=_counts(items(manifest, "status", "replicatedJobsStatus")),
        end=_end(manifest, redactor),
        version=version,
    )


def _end(jobset: Manifest, redactor: Redactor) -> JobSetEnd | None:
    """Return the end of a JobSet: by its conditions, of which Completed comes first."""
    for kind, ours in (("Completed", COMPLETE), ("Failed", FAILED)):
        for item in items(jobset, "status", "conditions"):
            if text(item, "type") == kind and text(item, "status") == "True":
                return JobSetEnd(
                    completed=ours == COMPLETE,
                    reason=redactor.text(text(item, "reason"), REASON_CHARACTERS_MAX),
                    message=redactor.text(text(item, "message"), MESSAGE_CHARACTERS_MAX),
                    ended_at=parse_rfc3339(text(item, "lastTransitionTime")) or EPOCH,
                )
    return None
