"""Applies events of effects and decisions to the state of a Job."""

from msgspec.structs import replace

from jobledger.core.batchjob.state import (
    AttemptJob,
    BatchAttempt,
    BatchJobState,
    late_job_of,
    without_job,
    without_late_job,
)
from jobledger.core.jobs.events import DecisionFired, EffectSucceeded
from jobledger.core.jobs.evolve import shared_events
from jobledger.core.jobs.gone import remember_gone
from jobledger.core.jobs.identity import is_another
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind

_SUSPEND = {EffectKind.SUSPEND_ATTEMPT_JOB: True, EffectKind.RESUME_ATTEMPT_JOB: False}


def effect_succeeded(state: BatchJobState, event: EffectSucceeded) -> BatchJobState:
    """Return the state with what the effect brought about."""
    state = shared_events.effect_done(state, event)
    attempt = state.attempt
    if late_job_of(state, event.uid) is not None:
        return _late_job_acted_on(state, event)
    if attempt is None or attempt.job_name != event.name:
        return state
    return _acted_on(state, attempt, event)


def _late_job_acted_on(state: BatchJobState, event: EffectSucceeded) -> BatchJobState:
    """Return the state after the deletion of an earlier attempt's Job."""
    if event.gone:
        return without_late_job(state, event.uid)
    asked = tuple(
        replace(late, delete_asked=True) if late.uid == event.uid else late
        for late in state.late_jobs
    )
    return replace(state, late_jobs=asked)


def _acted_on(state: BatchJobState, attempt: BatchAttempt, event: EffectSucceeded) -> BatchJobState:
    """Return the state after something was done about a Job; the watch may have told more."""
    job = attempt.job
    if event.kind is EffectKind.CREATE_ATTEMPT_JOB:
        if job is not None:
            return state
        if event.uid in state.gone:
            return replace(state, attempt=replace(attempt, is_lost=not attempt.is_over))
        return replace(state, attempt=replace(attempt, job=AttemptJob(uid=event.uid)))
    if job is None or is_another(job.uid, event.uid):
        return state
    if event.kind is EffectKind.DELETE_ATTEMPT_JOB:
        if event.gone:
            return remember_gone(without_job(state), job.uid)
        return replace(state, attempt=replace(attempt, job=replace(job, delete_asked=True)))
    suspend = _SUSPEND.get(event.kind, job.suspend)
    return replace(state, attempt=replace(attempt, job=replace(job, suspend=suspend)))


def decision_fired(state: BatchJobState, event: DecisionFired) -> BatchJobState:
    """Return the state without the decision, and with what it allows from now on."""
    state = shared_events.decision_fired(state, event)
    if event.kind is DecisionKind.RETRY and state.attempt is not None:
        return replace(state, attempt=replace(state.attempt, retry_due=True))
    return state
