"""Projection `attempt` for RayJobs: `(row, event) -> row`."""

from msgspec.structs import replace

from jobledger.core.jobs.events import SHARED_EVENTS
from jobledger.core.jobs.rows import AttemptRow, PlatformColumns, begun_row
from jobledger.core.rayjob.events import lifecycle as events
from jobledger.core.rayjob.evolve.adoption import end_beneath
from jobledger.core.rayjob.observations.observations import SeenStatus
from jobledger.core.rayjob.phases import FINAL, Phase
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

OUTCOME_BY_JOB_STATUS = {"SUCCEEDED": "succeeded", "STOPPED": "stopped"}


def columns(state: RayJobState) -> PlatformColumns:
    """Return what Ray says, the RayCluster's name and the submission id."""
    attempt = state.attempt
    if attempt is None or attempt.cleared:
        return PlatformColumns(job_status=state.entrypoint.status.value)
    return PlatformColumns(state.entrypoint.status.value, attempt.cluster_name, attempt.job_id)


def begun(stream: StreamId, state: RayJobState) -> AttemptRow:
    """Return the row of an attempt that has just begun, or was just taken over."""
    attempt = state.attempt
    assert attempt is not None, "it has begun"
    return begun_row(stream, attempt, cluster_name=attempt.cluster_name, job_id=attempt.job_id)


def end_told(state: RayJobState) -> Instant | None:
    """Return when the current attempt's Ray job ended, by Ray; None: it goes on.

    At the latest it was when that was seen: a later one is told by a clock that is ahead.
    """
    known = state.entrypoint
    if not known.has_ended or known.ended_seen_at is None:
        return None
    return min(known.ended_at or known.ended_seen_at, known.ended_seen_at)


def project_attempt(row: AttemptRow, event: events.RayJobEvent) -> AttemptRow:  # noqa: C901, PLR0911 one return per event
    """Return the row after an event; the same row if the event does not concern it."""
    if type(event) in SHARED_EVENTS:
        return row
    if isinstance(event, events.JobAdopted):
        return _adopted(row, event.status, event.at)
    if isinstance(event, events.AttemptReachedRunning):
        return replace(row, running_at=row.running_at or event.at)
    if isinstance(event, events.SubmissionNamed):
        return replace(row, ray_job_id=event.job_id)
    if isinstance(event, events.EntrypointObserved):
        return replace(row, job_status=event.status.value)
    if isinstance(event, events.AttemptFailed):
        return replace(
            row,
            ended_at=event.at,
            outcome="failed",
            reason=event.reason,
            message=event.message,
            job_status=event.job_status.value,
        )
    if isinstance(event, events.RetryGranted):
        return replace(row, retried=True)
    if isinstance(event, events.SuspensionStarted):
        return replace(row, ended_at=event.at, outcome="suspended")
    if isinstance(event, events.JobCompleted):
        return replace(
            row,
            ended_at=event.at,
            outcome=OUTCOME_BY_JOB_STATUS.get(event.job_status.value, "succeeded"),
            reason=event.reason,
            message=event.message,
            job_status=event.job_status.value,
        )
    if isinstance(event, events.TransitionsMissed) and row.ended_at is None:
        return replace(row, ended_at=event.at, outcome="unknown")
    if isinstance(event, events.JobDeleted) and row.ended_at is None:
        return replace(row, ended_at=event.at, outcome="deleted")
    return row


def _adopted(row: AttemptRow, status: SeenStatus, at: Instant) -> AttemptRow:
    """Return the row of an attempt that others began; its end, if it has come to one.

    Where the status does not say when it ended, that was at the latest when it was found.
    """
    ended_at, phase = status.ended_at or at, end_beneath(status) or status.phase
    row = replace(row, job_status=status.job_status)
    if phase == Phase.SUSPENDED:
        return replace(row, ended_at=ended_at, outcome="suspended")
    if phase == Phase.RETRYING:
        reason, message = status.reason, status.message
        return replace(
            row, ended_at=ended_at, outcome="failed", reason=reason, message=message, retried=True
        )
    if phase not in FINAL:
        return row
    failed = phase == Phase.FAILED
    return replace(
        row,
        ended_at=ended_at,
        outcome="failed" if failed else OUTCOME_BY_JOB_STATUS.get(status.job_status, "succeeded"),
        reason=status.reason,
        message=status.message,
    )
