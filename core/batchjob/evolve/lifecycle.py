"""Applies facts and lifecycle events to the state of a Job."""

from typing import assert_never

from msgspec.structs import replace

from jobledger.core.batchjob import events
from jobledger.core.batchjob.evolve.recorded import status_observed
from jobledger.core.batchjob.observations import JobEnd
from jobledger.core.batchjob.state import (
    AttemptJob,
    BatchAttempt,
    BatchJobState,
    LateJob,
    UnknownJob,
    known_job,
    without_job,
    without_late_job,
)
from jobledger.core.jobs.evolve.shared_events import with_manifest
from jobledger.core.jobs.gone import is_there_again, remember_gone
from jobledger.core.jobs.identity import is_another


def evolve_fact(state: BatchJobState, event: events.BatchFactEvent) -> BatchJobState:
    """Return the state after a fact about an attempt's Job was observed.

    One of an attempt that the log does not know is taken when that attempt begins.
    """
    attempt = state.attempt
    is_of_now = attempt is not None and attempt.number == event.attempt
    match event:
        case events.AttemptJobObserved():
            return _observed(state, event)
        case events.AttemptJobVanished():
            state = without_late_job(state, event.uid)
            return without_job(state) if is_of_now else state
        case _:
            assert_never(event)


def _observed(state: BatchJobState, event: events.AttemptJobObserved) -> BatchJobState:
    attempt, state = state.attempt, is_there_again(state, event.uid)
    if attempt is not None and event.attempt < attempt.number:
        late = LateJob(event.name, event.uid)
        return replace(state, late_jobs=(*state.late_jobs, late))
    job = AttemptJob(
        uid=event.uid,
        suspend=event.suspend,
        deleting=event.deleting,
        pods=event.pods,
        end=event.end,
        observed=True,
        version=event.version,
    )
    state = replace(state, pods_succeeded=max(state.pods_succeeded, event.pods.succeeded))
    if attempt is None or attempt.number != event.attempt:
        return replace(state, unknown_job=UnknownJob(event.attempt, job))
    before = attempt.job
    if before is not None and is_another(before.uid, event.uid):
        state = remember_gone(without_job(state), before.uid)
    elif before is not None:
        job = replace(job, delete_asked=before.delete_asked)
    failed = max(state.pods_failed_min, state.pods_failed + job.pods.failed)
    return replace(state, attempt=replace(attempt, job=job, is_lost=False), pods_failed_min=failed)


def evolve_life(state: BatchJobState, event: events.BatchLifeEvent) -> BatchJobState:  # noqa: C901, PLR0911, PLR0912 one case per event
    """Return the state after something became of the job."""
    match event:
        case events.BatchJobDiscovered():
            return replace(state, identity=event.identity)
        case events.BatchJobAdopted() | events.OthersBatchStatusObserved():
            return status_observed(state, event.status)
        case events.BatchJobReceived():
            return with_manifest(state, known_job(event))
        case events.BatchAttemptStarted():
            return _attempt_started(state, event)
        case events.BatchAttemptEnded():
            return _attempt_ended(state, event)
        case events.BatchRetryGranted():
            if state.attempt is None:
                return state
            due = event.due_at <= event.at
            granted = replace(state.attempt, retry_at=event.due_at, retry_due=due)
            return replace(state, attempt=granted)
        case events.BatchRetryRefused():
            return state
        case events.BatchJobFailing():
            why = JobEnd(
                completed=False, reason=event.reason, message=event.message, ended_at=event.at
            )
            return replace(state, failing=why, reason=event.reason, message=event.message)
        case events.BatchJobSuspended():
            return replace(
                state, suspended=True, suspension_changed_at=event.at, deadline_from=None
            )
        case events.BatchJobResumed():
            goes_on = state.attempt is not None and not state.attempt.is_over
            return replace(
                state,
                suspended=False,
                suspension_changed_at=event.at,
                deadline_from=event.at if goes_on else None,
            )
        case events.BatchJobCompleted() | events.BatchJobFailed():
            return _ended(state, event)
        case events.BatchJobDeleted():
            return replace(state, deleted_at=event.at)
        case events.BatchJobDeletionStarted():
            return state
        case _:
            assert_never(event)


def _attempt_started(state: BatchJobState, event: events.BatchAttemptStarted) -> BatchJobState:
    attempt = BatchAttempt(
        number=event.attempt,
        generation=event.generation,
        started_at=event.at,
        job_name=event.job_name,
    )
    state = replace(
        state,
        retries=max(state.retries, event.attempt - 1),
        failed=max(state.failed, event.attempt - 1),
        started_at=state.started_at or event.at,
        deadline_from=state.deadline_from or event.at,
    )
    unknown = state.unknown_job
    if unknown is not None and unknown.attempt == event.attempt:
        attempt = replace(attempt, job=unknown.job)
    failed = state.pods_failed + (attempt.job.pods.failed if attempt.job is not None else 0)
    return replace(
        state, attempt=attempt, unknown_job=None, pods_failed_min=max(state.pods_failed_min, failed)
    )


def _attempt_ended(state: BatchJobState, event: events.BatchAttemptEnded) -> BatchJobState:
    attempt = state.attempt
    if attempt is None or attempt.number != event.attempt:
        return state
    over = replace(
        attempt, outcome=event.outcome, reason=event.reason, message=event.message, is_lost=False
    )
    return replace(
        state,
        attempt=over,
        succeeded=state.succeeded + (event.outcome == "succeeded"),
        failed=state.failed + (event.outcome == "failed"),
        reason=event.reason,
        message=event.message,
    )


def _ended(
    state: BatchJobState, event: events.BatchJobCompleted | events.BatchJobFailed
) -> BatchJobState:
    completed = isinstance(event, events.BatchJobCompleted)
    ended_at = event.ended_at if isinstance(event, events.BatchJobCompleted) else event.at
    end = JobEnd(completed=completed, reason=event.reason, message=event.message, ended_at=ended_at)
    return replace(
        state,
        end=end,
        ended_at=ended_at,
        reason=event.reason,
        message=event.message,
        succeeded=max(state.succeeded, int(completed)),
        failed=max(state.failed, int(not completed)),
        refused=(),
    )
