"""Applies events of effects and decisions to the state of a Job."""

from dataclasses import replace

from jobledger.core.batchjob.state import (
    AttemptJob,
    BatchAttempt,
    BatchJobState,
    remembered,
    stray_of,
    without_job,
    without_stray,
)
from jobledger.core.jobs.events import (
    DecisionCancelled,
    DecisionFired,
    DecisionScheduled,
    EffectFailed,
    EffectFaltered,
    EffectRequested,
    EffectSucceeded,
    EffectSuperseded,
)
from jobledger.core.jobs.identity import is_another
from jobledger.core.jobs.open_work import (
    effect_of,
    is_outdated,
    opened,
    pending,
    refused_once_more,
    tried_again,
    with_trouble,
    without_decision,
    without_effect,
)
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.pending.pacing import done_once_more

_SUSPEND = {EffectKind.SUSPEND_ATTEMPT_JOB: True, EffectKind.RESUME_ATTEMPT_JOB: False}


def effect_requested(state: BatchJobState, event: EffectRequested) -> BatchJobState:
    """Return the state with the effect open."""
    return state._replace(effects=(*state.effects, opened(event)))


def effect_faltered(state: BatchJobState, event: EffectFaltered) -> BatchJobState:
    """Return the state with the trouble noted."""
    return state._replace(effects=with_trouble(state.effects, event))


def effect_failed(state: BatchJobState, event: EffectFailed) -> BatchJobState:
    """Return the state with the effect refused."""
    effects = without_effect(state.effects, event.effect_id)
    return state._replace(effects=effects, refused=refused_once_more(state.refused, event))


def effect_superseded(state: BatchJobState, event: EffectSuperseded) -> BatchJobState:
    """Return the state without the effect; one that was not sent waits for its specification."""
    effect = effect_of(state.effects, event.effect_id)
    state = state._replace(effects=without_effect(state.effects, event.effect_id))
    outdated = state.manifest is None or effect is None or effect.digest != state.manifest.digest
    if event.sent or outdated:
        return state
    key = (event.kind, event.name)
    return state._replace(repeated=done_once_more(state.repeated, key, event.at, unsent=True))


def effect_succeeded(state: BatchJobState, event: EffectSucceeded) -> BatchJobState:
    """Return the state with what the effect brought about."""
    effect = effect_of(state.effects, event.effect_id)
    digest = state.manifest.digest if state.manifest is not None else ""
    key, outdated = (event.kind, event.name), is_outdated(effect, digest)
    state = state._replace(
        effects=without_effect(state.effects, event.effect_id),
        refused=tuple(item for item in state.refused if item.key != key),
        repeated=done_once_more(state.repeated, key, event.at, outdated=outdated),
    )
    attempt = state.attempt
    if stray_of(state, event.uid) is not None:
        return _stray_acted_on(state, event)
    if attempt is None or attempt.job_name != event.name:
        return state
    return _acted_on(state, attempt, event)


def _stray_acted_on(state: BatchJobState, event: EffectSucceeded) -> BatchJobState:
    """Return the state after the deletion of an earlier attempt's Job."""
    if event.gone:
        return without_stray(state, event.uid)
    asked = tuple(
        replace(stray, delete_asked=True) if stray.uid == event.uid else stray
        for stray in state.strays
    )
    return state._replace(strays=asked)


def _acted_on(state: BatchJobState, attempt: BatchAttempt, event: EffectSucceeded) -> BatchJobState:
    """Return the state after something was done about a Job; the watch may have told more."""
    job = attempt.job
    if event.kind is EffectKind.CREATE_ATTEMPT_JOB:
        if job is not None:
            return state
        if event.uid in state.gone:
            return state._replace(attempt=replace(attempt, is_lost=not attempt.is_over))
        return state._replace(attempt=replace(attempt, job=AttemptJob(uid=event.uid)))
    if job is None or is_another(job.uid, event.uid):
        return state
    if event.kind is EffectKind.DELETE_ATTEMPT_JOB:
        if event.gone:
            return without_job(state)._replace(gone=remembered(state.gone, job.uid))
        return state._replace(attempt=replace(attempt, job=replace(job, delete_asked=True)))
    suspend = _SUSPEND.get(event.kind, job.suspend)
    return state._replace(attempt=replace(attempt, job=replace(job, suspend=suspend)))


def decision_scheduled(state: BatchJobState, event: DecisionScheduled) -> BatchJobState:
    """Return the state with the decision pending."""
    return state._replace(decisions=(*state.decisions, pending(event)))


def decision_cancelled(state: BatchJobState, event: DecisionCancelled) -> BatchJobState:
    """Return the state without the decision."""
    return state._replace(decisions=without_decision(state.decisions, event.decision_id))


def decision_fired(state: BatchJobState, event: DecisionFired) -> BatchJobState:
    """Return the state without the decision, and with what it allows from now on."""
    state = state._replace(decisions=without_decision(state.decisions, event.decision_id))
    if event.kind is DecisionKind.RETRY and state.attempt is not None:
        return state._replace(attempt=replace(state.attempt, retry_due=True))
    if event.kind is not DecisionKind.EFFECT_RETRY:
        return state
    return state._replace(
        refused=tried_again(state.refused, event.subject),
        repeated=tried_again(state.repeated, event.subject),
    )
