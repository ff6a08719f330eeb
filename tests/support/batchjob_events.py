"""Events of `then` in a Job's table: instant and ids are left to the rules."""

from jobledger.core.batchjob.events import (
    AttemptJobObserved,
    AttemptJobVanished,
    BatchAttemptEnded,
    BatchAttemptStarted,
    BatchJobCompleted,
    BatchJobFailed,
    BatchJobFailing,
    BatchJobReceived,
    BatchRetryGranted,
    BatchRetryRefused,
)
from jobledger.core.batchjob.observations import BatchJobSeen, JobEnd
from jobledger.core.jobs.events import (
    DecisionCancelled,
    DecisionFired,
    DecisionScheduled,
    EffectRequested,
    EffectSucceeded,
    EffectSuperseded,
)
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.values.instants import Instant
from tests.support.batchjobs import BACKOFF, CREATE, REACHED, after, name_of, pods, uid_of
from tests.support.rows import THIS_DECISION, THIS_EFFECT, WHEN


def received(seen: BatchJobSeen, *, document: bool = True) -> BatchJobReceived:
    """Return what is written of a look at the object; `document` only if its spec changed."""
    return BatchJobReceived(
        at=WHEN,
        generation=seen.generation,
        digest=seen.digest,
        spec=seen.spec,
        policy=seen.policy,
        deleting_at=seen.deleting_at,
        document=seen.document if document else {},
    )


def started(
    attempt: int = 1, *, generation: int = 1, inferred: bool = False
) -> BatchAttemptStarted:
    """Return that an attempt began."""
    return BatchAttemptStarted(
        at=WHEN,
        attempt=attempt,
        generation=generation,
        job_name=name_of(attempt),
        inferred=inferred,
    )


def ended(
    outcome: str,
    attempt: int = 1,
    *,
    reason: str = "BackoffLimitExceeded",
    message: str = BACKOFF,
    failure: FailureClass = FailureClass.OTHER,
    inferred: bool = False,
) -> BatchAttemptEnded:
    """Return that an attempt ended."""
    return BatchAttemptEnded(
        at=WHEN,
        attempt=attempt,
        outcome=outcome,
        reason=reason,
        message=message,
        failure=failure,
        inferred=inferred,
    )


def granted(
    rule: str,
    due_at: Instant = WHEN,
    *,
    attempt: int = 1,
    limit: int = 1,
    reason: str = "BackoffLimitExceeded",
    failure: FailureClass = FailureClass.OTHER,
) -> BatchRetryGranted:
    """Return that another attempt follows."""
    return BatchRetryGranted(
        at=WHEN,
        attempt=attempt,
        backoff_limit=limit,
        failed=attempt,
        reason=reason,
        rule=rule,
        due_at=due_at,
        failure=failure,
    )


def refused(
    rule: str, *, attempt: int = 1, limit: int = 0, reason: str = "BackoffLimitExceeded"
) -> BatchRetryRefused:
    """Return that no other attempt follows."""
    return BatchRetryRefused(
        at=WHEN, attempt=attempt, backoff_limit=limit, failed=attempt, reason=reason, rule=rule
    )


def failing(reason: str = "BackoffLimitExceeded", message: str = BACKOFF) -> BatchJobFailing:
    """Return that the job is to fail."""
    return BatchJobFailing(at=WHEN, reason=reason, message=message)


def failed(
    reason: str = "BackoffLimitExceeded", message: str = BACKOFF, *, inferred: bool = False
) -> BatchJobFailed:
    """Return that the job has failed."""
    return BatchJobFailed(at=WHEN, reason=reason, message=message, inferred=inferred)


def complete(ended_at: Instant, *, inferred: bool = False) -> BatchJobCompleted:
    """Return that the job is complete."""
    return BatchJobCompleted(
        at=WHEN,
        reason="CompletionsReached",
        message=REACHED,
        ended_at=ended_at,
        inferred=inferred,
    )


def observed(
    attempt: int = 1,
    *,
    uid: str = "",
    suspend: bool = False,
    deleting: bool = False,
    end: JobEnd | None = None,
    **numbers: int,
) -> AttemptJobObserved:
    """Return what is written of a look at an attempt's Job."""
    return AttemptJobObserved(
        at=WHEN,
        attempt=attempt,
        name=name_of(attempt),
        uid=uid or uid_of(attempt),
        suspend=suspend,
        deleting=deleting,
        pods=pods(**numbers),
        end=end,
    )


def vanished(attempt: int = 1, *, uid: str = "", asked: bool) -> AttemptJobVanished:
    """Return that an attempt's Job is gone."""
    name = name_of(attempt)
    return AttemptJobVanished(
        at=WHEN, attempt=attempt, name=name, uid=uid or uid_of(attempt), asked=asked
    )


def requested(
    kind: EffectKind = CREATE,
    attempt: int = 1,
    *,
    uid: str = "",
    generation: int = 1,
    name: str = "",
) -> EffectRequested:
    """Return that an effect is asked for; `name` is that of an earlier attempt's Job."""
    return EffectRequested(
        at=WHEN,
        effect_id=THIS_EFFECT,
        kind=kind,
        attempt=attempt,
        name=name or name_of(attempt),
        uid=uid,
        generation=generation,
        digest=f"digest-{generation}",
    )


def done(
    kind: EffectKind = CREATE, attempt: int = 1, *, uid: str = "", gone: bool = False
) -> EffectSucceeded:
    """Return that an effect was done."""
    return EffectSucceeded(
        at=WHEN,
        effect_id=THIS_EFFECT,
        kind=kind,
        name=name_of(attempt),
        uid=uid or uid_of(attempt),
        gone=gone,
    )


def dropped(
    kind: EffectKind = CREATE, attempt: int = 1, *, cause: str = "no longer wanted"
) -> EffectSuperseded:
    """Return that an open effect is no longer wanted."""
    return EffectSuperseded(
        at=WHEN, effect_id=THIS_EFFECT, kind=kind, name=name_of(attempt), cause=cause
    )


def scheduled(
    kind: DecisionKind, due_at: Instant, *, cause: str, attempt: int = 1
) -> DecisionScheduled:
    """Return that a decision is scheduled."""
    return DecisionScheduled(
        at=WHEN,
        decision_id=THIS_DECISION,
        kind=kind,
        attempt=attempt,
        due_at=due_at,
        cause=cause,
    )


def fired(kind: DecisionKind, due_at: float) -> DecisionFired:
    """Return that a decision fired."""
    return DecisionFired(at=WHEN, decision_id=THIS_DECISION, kind=kind, due_at=after(due_at))


def cancelled(kind: DecisionKind, *, cause: str) -> DecisionCancelled:
    """Return that a decision was cancelled."""
    return DecisionCancelled(at=WHEN, decision_id=THIS_DECISION, kind=kind, cause=cause)
