"""Maps Jobs to observations: the user's Job and the Jobs of its attempts, decoded and redacted."""

from jobledger.adapters.service.observing.late_document import LateDocument
from jobledger.adapters.service.observing.mapper import (
    MESSAGE_CHARACTERS_MAX,
    REASON_CHARACTERS_MAX,
    ObservationMapper,
)
from jobledger.core.batchjob.observations import (
    AttemptJobSeen,
    BatchJobSeen,
    JobEnd,
    PodCounts,
    SeenBatchStatus,
)
from jobledger.core.batchjob.spec import read_spec
from jobledger.core.batchjob.status.status_format import BATCHJOB_CONTROLLER
from jobledger.core.jobs.control.lost_history import RECOVER_ANNOTATION, mark_in
from jobledger.core.jobs.control.status_writers import is_driven_here
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.log.keyed_digests import digest
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.values.documents import Manifest, child, items, number, text
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import EPOCH, Instant, parse_rfc3339

COUNT_MAX = 1_000_000
"""Highest counter that is taken over from a status."""


def see_job(
    mapper: ObservationMapper,
    identity: JobIdentity,
    manifest: Manifest,
    redactor: Redactor,
    at: Instant,
) -> BatchJobSeen:
    """Return the sighting of a user's Job."""
    metadata, read = child(manifest, "metadata"), read_spec(manifest)
    because = mapper.control_policy.why_recorded("Job", manifest)
    recorded = redactor.text(because, REASON_CHARACTERS_MAX)
    version = text(metadata, "resourceVersion")
    marks = (recorded,) if recorded else ()
    return BatchJobSeen(
        id=observation_id(identity.stream_id, "job", version, *marks),
        at=at,
        identity=identity,
        generation=number(metadata, "generation") or 0,
        digest=digest(mapper.redaction_key, child(manifest, "spec")),
        spec=read.spec,
        policy=mapper.policy,
        deleting_at=parse_rfc3339(text(metadata, "deletionTimestamp")),
        status=_seen_status(child(manifest, "status"), redactor, at),
        document=LateDocument(manifest, redactor),
        option_problems=tuple(
            redactor.message(one, MESSAGE_CHARACTERS_MAX) for one in read.problems
        ),
        recorded=recorded,
        written_here=is_driven_here(BATCHJOB_CONTROLLER, manifest),
        recover=mark_in(text(metadata, "annotations", RECOVER_ANNOTATION)),
    )


def see_attempt(
    stream: StreamId, manifest: Manifest, redactor: Redactor, at: Instant
) -> AttemptJobSeen:
    """Return the sighting of the Job of an attempt."""
    metadata, status = child(manifest, "metadata"), child(manifest, "status")
    uid, version = text(metadata, "uid"), text(metadata, "resourceVersion")
    return AttemptJobSeen(
        id=observation_id(stream, "attempt's job", uid, version),
        at=at,
        name=text(metadata, "name"),
        uid=uid,
        suspend=child(manifest, "spec").get("suspend") is True,
        deleting=text(metadata, "deletionTimestamp") != "",
        pods=_pods(status),
        end=end_of(status, redactor, at),
        version=version,
    )


def end_of(status: Manifest, redactor: Redactor, now: Instant) -> JobEnd | None:
    """Return the end of a Job by its conditions; None if it goes on."""
    return _condition(status, "Complete", redactor, now) or _condition(
        status, "Failed", redactor, now
    )


def _seen_status(status: Manifest, redactor: Redactor, now: Instant) -> SeenBatchStatus:
    suspended = _true(status, "Suspended")
    since = parse_rfc3339(text(suspended, "lastTransitionTime")) if suspended else None
    return SeenBatchStatus(
        started_at=_dated(text(status, "startTime")),
        suspended_since=min(since or now, now) if suspended else None,
        pods=_pods(status),
        failing=_condition(status, "FailureTarget", redactor, now),
        end=end_of(status, redactor, now),
    )


def _condition(status: Manifest, kind: str, redactor: Redactor, now: Instant) -> JobEnd | None:
    found = _true(status, kind)
    if not found:
        return None
    return JobEnd(
        completed=kind == "Complete",
        reason=redactor.text(text(found, "reason"), REASON_CHARACTERS_MAX),
        message=redactor.text(text(found, "message"), MESSAGE_CHARACTERS_MAX),
        ended_at=_past(text(found, "lastTransitionTime"), now) or now,
    )


def _true(status: Manifest, kind: str) -> Manifest:
    """Return a condition that is True; empty if there is none."""
    for item in items(status, "conditions"):
        if text(item, "type") == kind and text(item, "status") == "True":
            return child(item)
    return {}


def _dated(written: str) -> Instant | None:
    """Return an instant as it is shown, perhaps in the future: a clock may have been set back.

    A start is taken so, as the API server lets none change.
    """
    found = parse_rfc3339(written)
    return None if found is None or found < EPOCH else found


def _past(written: str, now: Instant) -> Instant | None:
    found = _dated(written)
    return None if found is None else min(found, now)


def _pods(status: Manifest) -> PodCounts:
    def count(name: str) -> int:
        return min(max(number(status, name) or 0, 0), COUNT_MAX)

    return PodCounts(
        active=count("active"),
        ready=count("ready"),
        succeeded=count("succeeded"),
        failed=count("failed"),
        terminating=count("terminating"),
    )
