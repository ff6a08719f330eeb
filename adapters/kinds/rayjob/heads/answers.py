"""Maps what the head of a RayCluster tells of a Ray job to an observation: redacted."""

from datetime import UTC

from jobledger.adapters.service.observing.mapper import (
    MESSAGE_CHARACTERS_MAX,
    REASON_CHARACTERS_MAX,
)
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.ports.ray_jobs import RayJobInfo
from jobledger.core.rayjob.observations.observations import PollAnswered
from jobledger.core.rayjob.phases import JobStatus
from jobledger.core.values.ids import StreamId, observation_id
from jobledger.core.values.instants import Instant


def see_answer(
    stream: StreamId, job_id: str, info: RayJobInfo, redactor: Redactor, at: Instant
) -> PollAnswered:
    """Return the sighting of a Ray job, as its head told it."""
    return PollAnswered(
        id=observation_id(stream, "poll", job_id, at.astimezone(UTC).isoformat()),
        at=at,
        job_id=job_id,
        status=JobStatus(info.status),
        message=redactor.text(info.message, MESSAGE_CHARACTERS_MAX, keep_end=True),
        started_at=info.started_at,
        ended_at=info.ended_at,
        error_type=redactor.text(info.error_type, REASON_CHARACTERS_MAX),
        exit_code=info.exit_code,
    )
