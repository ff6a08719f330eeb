"""Events of `then` in a TrainJob's table: instant and ids are left to the rules.

The name is that of the event; what is left out is as in a story of `tests.support.trainjobs`.
"""

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
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.trainjob.conditions import Condition
from jobledger.core.trainjob.events import (
    JobsBuildFailed,
    JobsCreationFailed,
    JobSetObserved,
    JobSetVanished,
    ObjectsApplied,
    TrainAttemptEnded,
    TrainAttemptStarted,
    TrainJobCompleted,
    TrainJobFailed,
    TrainJobReceived,
)
from jobledger.core.trainjob.observations import JobCounts, JobSetEnd, TrainJobSeen
from jobledger.core.values.instants import Instant
from tests.support.rows import THIS_DECISION, THIS_EFFECT, WHEN
from tests.support.trainjobs import COMPLETED_MESSAGE, JOB, after

APPLY = EffectKind.APPLY_OBJECTS
THE_END = after(60)


def received(seen: TrainJobSeen, *, document: bool = True) -> TrainJobReceived:
    """Return what is written of a look at the object; `document` only if its spec changed."""
    return TrainJobReceived(
        at=WHEN,
        generation=seen.generation,
        digest=seen.digest,
        spec=seen.spec,
        policy=seen.policy,
        deleting_at=seen.deleting_at,
        document=seen.document if document else {},
    )


def requested(
    kind: EffectKind = APPLY, *, attempt: int = 0, uid: str = "", generation: int = 1
) -> EffectRequested:
    """Return that an effect is asked for."""
    return EffectRequested(
        at=WHEN,
        effect_id=THIS_EFFECT,
        kind=kind,
        attempt=attempt,
        name=JOB,
        uid=uid,
        generation=generation,
        digest=f"digest-{generation}",
    )


def done(kind: EffectKind = APPLY, *, uid: str = "jobset-1", gone: bool = False) -> EffectSucceeded:
    """Return that an effect was done."""
    return EffectSucceeded(at=WHEN, effect_id=THIS_EFFECT, kind=kind, name=JOB, uid=uid, gone=gone)


def stumbled(kind: EffectKind = APPLY, *, trouble: str = "503") -> EffectFaltered:
    """Return that a try failed in a way that may pass."""
    return EffectFaltered(at=WHEN, effect_id=THIS_EFFECT, kind=kind, name=JOB, trouble=trouble)


def refused(kind: EffectKind = APPLY, *, trouble: str) -> EffectFailed:
    """Return that an effect was refused."""
    return EffectFailed(at=WHEN, effect_id=THIS_EFFECT, kind=kind, name=JOB, trouble=trouble)


def dropped(kind: EffectKind = APPLY, *, cause: str, sent: bool = True) -> EffectSuperseded:
    """Return that an open effect is no longer wanted."""
    return EffectSuperseded(
        at=WHEN, effect_id=THIS_EFFECT, kind=kind, name=JOB, cause=cause, sent=sent
    )


def scheduled(
    kind: DecisionKind, due_at: Instant, *, cause: str, attempt: int = 0, subject: str = ""
) -> DecisionScheduled:
    """Return that a decision is scheduled."""
    return DecisionScheduled(
        at=WHEN,
        decision_id=THIS_DECISION,
        kind=kind,
        attempt=attempt,
        due_at=due_at,
        cause=cause,
        subject=subject,
    )


def fired(kind: DecisionKind, due_at: Instant, *, subject: str = "") -> DecisionFired:
    """Return that a decision fired."""
    return DecisionFired(
        at=WHEN, decision_id=THIS_DECISION, kind=kind, due_at=due_at, subject=subject
    )


def cancelled(kind: DecisionKind, *, cause: str) -> DecisionCancelled:
    """Return that a decision was cancelled."""
    return DecisionCancelled(at=WHEN, decision_id=THIS_DECISION, kind=kind, cause=cause)


def not_built(
    cause: str, *, generation: int = 1, runtime: str = "runtime-1", may_pass: bool = False
) -> JobsBuildFailed:
    """Return that the objects could not be built."""
    return JobsBuildFailed(
        at=WHEN,
        generation=generation,
        digest=f"digest-{generation}",
        runtime=runtime,
        cause=cause,
        may_pass=may_pass,
    )


def not_created(
    cause: str, *, generation: int = 1, runtime: str = "runtime-1", may_pass: bool = True
) -> JobsCreationFailed:
    """Return that an object could not be applied."""
    return JobsCreationFailed(
        at=WHEN,
        generation=generation,
        digest=f"digest-{generation}",
        runtime=runtime,
        cause=cause,
        may_pass=may_pass,
    )


def in_place(
    *,
    generation: int = 1,
    jobset_uid: str = "jobset-1",
    jobset_generation: int = 1,
    jobset_suspend: bool = False,
) -> ObjectsApplied:
    """Return that all objects are in place."""
    return ObjectsApplied(
        at=WHEN,
        generation=generation,
        digest=f"digest-{generation}",
        runtime="runtime-1",
        jobset_uid=jobset_uid,
        jobset_generation=jobset_generation,
        jobset_suspend=jobset_suspend,
        names=(f"JobSet/{JOB}",),
        snapshot=True,
    )


def started(
    attempt: int = 1,
    *,
    cause: str = "first",
    generation: int = 1,
    jobset_uid: str = "jobset-1",
    restarts: int = 0,
    inferred: bool = False,
) -> TrainAttemptStarted:
    """Return that an execution began."""
    return TrainAttemptStarted(
        at=WHEN,
        attempt=attempt,
        generation=generation,
        jobset_uid=jobset_uid,
        restarts=restarts,
        cause=cause,
        inferred=inferred,
    )


def ended(
    outcome: str,
    attempt: int = 1,
    *,
    reason: str = "",
    message: str = "",
    inferred: bool = False,
) -> TrainAttemptEnded:
    """Return that an execution ended."""
    return TrainAttemptEnded(
        at=WHEN, attempt=attempt, outcome=outcome, reason=reason, message=message, inferred=inferred
    )


def complete(
    *,
    reason: str = "AllJobsCompleted",
    message: str = COMPLETED_MESSAGE,
    ended_at: Instant = THE_END,
    inferred: bool = False,
) -> TrainJobCompleted:
    """Return that the job is Complete."""
    return TrainJobCompleted(
        at=WHEN, reason=reason, message=message, ended_at=ended_at, inferred=inferred
    )


def failed(
    reason: str, *, message: str, ended_at: Instant, inferred: bool = False
) -> TrainJobFailed:
    """Return that the job is Failed."""
    return TrainJobFailed(
        at=WHEN, reason=reason, message=message, ended_at=ended_at, inferred=inferred
    )


def observed(
    *jobs: JobCounts,
    uid: str = "jobset-1",
    generation: int = 1,
    suspend: bool = False,
    restarts: int = 0,
    deleting: bool = False,
    end: JobSetEnd | None = None,
    contributed: tuple[Condition, ...] = (),
) -> JobSetObserved:
    """Return that the JobSet is there."""
    return JobSetObserved(
        at=WHEN,
        name=JOB,
        uid=uid,
        generation=generation,
        suspend=suspend,
        restarts=restarts,
        deleting=deleting,
        jobs=jobs,
        end=end,
        contributed=contributed,
    )


def vanished(*, uid: str = "jobset-1", asked: bool = False, inferred: str = "") -> JobSetVanished:
    """Return that the JobSet is gone."""
    return JobSetVanished(at=WHEN, name=JOB, uid=uid, asked=asked, inferred=inferred)
