"""Maps objects and answers about RayJobs to observations.

Decoded, validated, redacted. The door of the log.

Nothing gets past here unredacted: whatever leaves this file for the core has gone through
`Redactor`.
"""

from functools import lru_cache

import msgspec

from jobledger.adapters.service.objects.runtime_env import parse_runtime_env
from jobledger.adapters.service.observing.late_document import LateDocument, LateStatus
from jobledger.adapters.service.observing.mapper import (
    COUNT_MAX,
    MESSAGE_CHARACTERS_MAX,
    REASON_CHARACTERS_MAX,
    WORD_CHARACTERS_MAX,
    ObservationMapper,
)
from jobledger.core.jobs.control.lost_history import RECOVER_ANNOTATION, mark_in
from jobledger.core.jobs.control.status_writers import is_driven_here
from jobledger.core.jobs.policy import Policy
from jobledger.core.log.keyed_digests import digest
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.log.storable import storable_text, word
from jobledger.core.rayjob.names import FINALIZER, LABEL_CLUSTER
from jobledger.core.rayjob.observations.children import (
    address_within,
    attempt_of,
    cluster_owner_uid,
    dashboard_address,
    head_restarts,
    head_taken,
    is_over,
    keeps_jobs,
    mirrored_status,
    owner_uid,
    sidecar_end,
    submission_of,
    submitter_end,
)
from jobledger.core.rayjob.observations.observations import (
    ClusterSeen,
    HeadPodSeen,
    JobIdentity,
    ManifestSeen,
    Problem,
    SeenStatus,
    SubmitterSeen,
)
from jobledger.core.rayjob.spec.installation import UPSTREAMS, Installation
from jobledger.core.rayjob.spec.retry_annotations import read_retry_options
from jobledger.core.rayjob.spec.spec import read_spec
from jobledger.core.rayjob.status.status_format import RAYJOB_CONTROLLER
from jobledger.core.rayjob.validation.spec import YAML_NOT_SHOWN
from jobledger.core.rayjob.validation.validate import validate
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import EPOCH, Instant, parse_rfc3339


def see_manifest(
    mapper: ObservationMapper,
    identity: JobIdentity,
    manifest: Manifest,
    redactor: Redactor,
    at: Instant,
) -> ManifestSeen:
    """Return the sighting of a RayJob."""
    metadata = child(manifest, "metadata")
    _, problem = parse_runtime_env(text(manifest, "spec", "runtimeEnvYAML"))
    seen_digest = digest(mapper.redaction_key, child(manifest, "spec"))
    deleting_at = parse_rfc3339(text(metadata, "deletionTimestamp"))
    finalizer = FINALIZER in items(metadata, "finalizers")
    version = text(metadata, "resourceVersion")
    recorded = redactor.text(
        mapper.control_policy.why_recorded("RayJob", manifest), REASON_CHARACTERS_MAX
    )
    marks = (hash_of(mapper.policy), *((recorded,) if recorded else ()))
    asked = read_retry_options(manifest)
    return ManifestSeen(
        id=observation_id(identity.stream_id, "manifest", version, *marks),
        at=at,
        identity=identity,
        generation=number(metadata, "generation") or 0,
        digest=seen_digest,
        spec=read_spec(manifest),
        problem=_problem(validate(manifest, problem), redactor),
        policy=mapper.policy,
        finalizer=finalizer,
        deleting_at=deleting_at,
        status=_seen_status(manifest, redactor, at),
        document=LateDocument(manifest, redactor, _runtime_env),
        options=asked.options,
        option_problems=tuple(
            redactor.message(one, MESSAGE_CHARACTERS_MAX) for one in asked.problems
        ),
        recorded=recorded,
        written_here=is_driven_here(RAYJOB_CONTROLLER, manifest),
        observed_generation=_count(child(manifest, "status"), "observedGeneration"),
        recover=mark_in(text(metadata, "annotations", RECOVER_ANNOTATION)),
    )


def _runtime_env(manifest: Manifest) -> Json:
    runtime_env, problem = parse_runtime_env(text(manifest, "spec", "runtimeEnvYAML"))
    return None if problem else runtime_env


def _problem(found: Problem | None, redactor: Redactor) -> Problem | None:
    """Return what is wrong without secrets: it quotes the values it complains of."""
    if found is None or found.message.startswith(YAML_NOT_SHOWN):
        return found
    return Problem(kind=found.kind, message=redactor.message(found.message, MESSAGE_CHARACTERS_MAX))


@lru_cache(maxsize=8)
def hash_of(policy: Policy) -> str:
    """Return a short text that differs between policies."""
    return msgspec.json.encode(policy).decode()


def _seen_status(manifest: Manifest, redactor: Redactor, at: Instant) -> SeenStatus:
    """Return what others left in `.status`; what no controller can have written is left out."""
    status, namespace = child(manifest, "status"), text(manifest, "metadata", "namespace")
    return SeenStatus(
        phase=_word(status, "jobDeploymentStatus"),
        job_status=_word(status, "jobStatus"),
        job_id=_word(status, "jobId"),
        cluster_name=_word(status, "rayClusterName"),
        address=address_within(namespace, _word(status, "dashboardURL")),
        reason=redactor.text(text(status, "reason"), REASON_CHARACTERS_MAX),
        message=redactor.text(text(status, "message"), MESSAGE_CHARACTERS_MAX),
        started_at=_past(status, "startTime", at),
        ended_at=_past(status, "endTime", at),
        succeeded=_count(status, "succeeded"),
        failed=_count(status, "failed"),
    )


def _word(status: Manifest, field: str) -> str:
    """Return a name; empty if it is too long for one."""
    found = text(status, field)
    return storable_text(found) if len(found) <= WORD_CHARACTERS_MAX else ""


def _past(status: Manifest, field: str, now: Instant) -> Instant | None:
    """Return an instant that is not later than now; None if it is before computers."""
    found = parse_rfc3339(text(status, field))
    return None if found is None or found < EPOCH else min(found, now)


def _count(status: Manifest, field: str) -> int:
    """Return a counter within reason: a negative one would grant retries without end."""
    return min(max(number(status, field) or 0, 0), COUNT_MAX)


def see_child(
    mapper: ObservationMapper,
    kind: str,
    job: tuple[StreamId, str],
    manifest: Manifest,
    redactor: Redactor,
    at: Instant,
) -> ClusterSeen | SubmitterSeen | HeadPodSeen:
    """Return the sighting of a child (RayCluster, Job, Pod) of a job of that stream and UID."""
    stream, uid = job
    if kind == "RayCluster":
        domain = mapper.of(Installation).cluster_domain
        return see_cluster(stream, uid, manifest, redactor, at, domain)
    if kind == "Job":
        return see_submitter(stream, uid, manifest, redactor, at)
    return see_head_pod(stream, manifest, redactor, at)


def see_cluster(
    stream: StreamId,
    job_uid: str,
    manifest: Manifest,
    redactor: Redactor,
    at: Instant,
    domain: str = UPSTREAMS.cluster_domain,
) -> ClusterSeen:
    """Return the sighting of a RayCluster."""
    metadata = child(manifest, "metadata")
    uid, version = text(metadata, "uid"), text(metadata, "resourceVersion")
    return ClusterSeen(
        id=observation_id(stream, "cluster", uid, version),
        at=at,
        name=text(metadata, "name"),
        uid=uid,
        owned=owner_uid(manifest) == job_uid,
        state=word(manifest, "status", "state"),
        address=storable_text(dashboard_address(manifest, domain)),
        deleting=text(metadata, "deletionTimestamp") != "",
        status=LateStatus(mirrored_status(manifest), redactor),
    )


def see_submitter(
    stream: StreamId, job_uid: str, manifest: Manifest, redactor: Redactor, at: Instant
) -> SubmitterSeen:
    """Return the sighting of a submitter."""
    metadata = child(manifest, "metadata")
    uid, version = text(metadata, "uid"), text(metadata, "resourceVersion")
    end = submitter_end(manifest)
    return SubmitterSeen(
        id=observation_id(stream, "submitter", uid, version),
        at=at,
        name=text(metadata, "name"),
        uid=uid,
        owned=owner_uid(manifest) == job_uid,
        finished=end.outcome,
        finished_at=end.finished_at,
        reason=redactor.text(end.reason, REASON_CHARACTERS_MAX),
        message=redactor.text(end.message, MESSAGE_CHARACTERS_MAX),
        deleting=text(metadata, "deletionTimestamp") != "",
        attempt=attempt_of(manifest),
        job_id=storable_text(submission_of(manifest)[:WORD_CHARACTERS_MAX]),
    )


def see_head_pod(
    stream: StreamId, manifest: Manifest, redactor: Redactor, at: Instant
) -> HeadPodSeen:
    """Return the sighting of the Pod of a head."""
    metadata = child(manifest, "metadata")
    uid, end = text(metadata, "uid"), sidecar_end(manifest)
    leaving = text(metadata, "deletionTimestamp")
    taken, over = redactor.text(head_taken(manifest), MESSAGE_CHARACTERS_MAX), is_over(manifest)
    restarts, ended = head_restarts(manifest)
    # Not its version: of most changes of a Pod nothing is seen here.
    return HeadPodSeen(
        id=observation_id(
            stream, "head", uid, leaving, end.outcome, taken, str(over), str(restarts)
        ),
        at=at,
        cluster=word(metadata, "labels", LABEL_CLUSTER),
        cluster_uid=storable_text(cluster_owner_uid(manifest)[:WORD_CHARACTERS_MAX]),
        name=text(metadata, "name"),
        uid=uid,
        deleting=leaving != "",
        finished=end.outcome,
        finished_at=end.finished_at,
        message=redactor.text(end.message, MESSAGE_CHARACTERS_MAX),
        taken=taken,
        over=over,
        restarts=restarts,
        ended=redactor.text(ended, REASON_CHARACTERS_MAX),
        keeps_jobs=keeps_jobs(manifest),
    )
