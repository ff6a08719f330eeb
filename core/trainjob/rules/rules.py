"""The rules of a TrainJob's state, in order of priority.

After an observation has changed a fact, the rules are asked one after the other; the first that
has something to say is carried out, and all are asked again, until none has. Effects and decisions
come last: they are compared with what the state calls for (`core.trainjob.rules.desired`).
"""

from collections.abc import Callable
from typing import TypeAlias

from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.pending.decisions import DecisionKind, PendingDecision
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect
from jobledger.core.jobs.reconcile import ReconcileRules
from jobledger.core.jobs.rows import LOST
from jobledger.core.trainjob.conditions import found, is_true
from jobledger.core.trainjob.events import (
    JobsBuildFailed,
    TrainAttemptEnded,
    TrainAttemptStarted,
    TrainJobCompleted,
    TrainJobEvent,
    TrainJobFailed,
    TrainJobResumed,
    TrainJobSuspended,
)
from jobledger.core.trainjob.evolve.evolve import evolve
from jobledger.core.trainjob.phases import RUNTIME_NOT_SUPPORTED, SUSPENDED, Phase
from jobledger.core.trainjob.policy import ConditionStyle
from jobledger.core.trainjob.rules.desired import called_for, desired_decisions
from jobledger.core.trainjob.state import KnownJobSet, TrainAttempt, TrainJobState, is_final
from jobledger.core.values.instants import Instant

Rule: TypeAlias = Callable[[TrainJobState, Instant], tuple[TrainJobEvent, ...]]


def _conclusion(state: TrainJobState, at: Instant) -> tuple[TrainJobEvent, ...]:
    """The JobSet's end is the job's; the first end wins."""
    jobset = state.jobset
    if is_final(state) or jobset is None or jobset.end is None:
        return ()
    end = jobset.end
    outcome = "succeeded" if end.completed else "failed"
    over = _over(state, at, outcome, end.reason, end.message)
    cls = TrainJobCompleted if end.completed else TrainJobFailed
    return *over, cls(at=at, ended_at=end.ended_at, reason=end.reason, message=end.message)


def _runtime_kind(state: TrainJobState, at: Instant) -> tuple[TrainJobEvent, ...]:
    """A runtime of a kind that nobody knows cannot be built from.

    In the setting `upstream` it is the end, as upstream intends and does not manage (trainer#4087).
    """
    manifest = state.manifest
    if is_final(state) or manifest is None or manifest.spec.runtime.is_supported:
        return ()
    if is_leaving(state):
        return ()
    cause = f"unsupported runtime: {manifest.spec.runtime.key}"
    if manifest.policy.conditions is ConditionStyle.UPSTREAM:
        reason = RUNTIME_NOT_SUPPORTED
        return (TrainJobFailed(at=at, reason=reason, message=cause, ended_at=at),)
    if state.built is not None and state.built.digest == manifest.digest:
        return ()
    return (
        JobsBuildFailed(
            at=at,
            generation=manifest.generation,
            digest=manifest.digest,
            runtime="",
            cause=cause,
        ),
    )


def _suspension(state: TrainJobState, at: Instant) -> tuple[TrainJobEvent, ...]:
    """Suspended follows spec.suspend, whatever Created says, and of a finished job as well."""
    if state.manifest is None:
        return ()
    condition = found(state.conditions, SUSPENDED)
    shown = condition is not None and condition.is_true
    if state.manifest.spec.suspend:
        return () if shown else (TrainJobSuspended(at=at),)
    return (TrainJobResumed(at=at),) if shown else ()


def execution(state: TrainJobState, at: Instant) -> tuple[TrainJobEvent, ...]:
    """An attempt is one execution: it ends with a suspension, a restart, or the JobSet's loss."""
    attempt, jobset = state.attempt, state.jobset
    if is_final(state) or (is_leaving(state) and (jobset is None or jobset.deleting)):
        return ()  # a JobSet that goes with its job is no loss
    if attempt is not None and not attempt.is_over:
        return _interruption(state, attempt, jobset, at)
    if jobset is None or jobset.suspend or jobset.deleting or not jobset.uid:
        return ()
    return (
        TrainAttemptStarted(
            at=at,
            attempt=attempt.number + 1 if attempt is not None else 1,
            generation=jobset.built_from or _newest(state),
            jobset_uid=jobset.uid,
            restarts=jobset.restarts,
            cause=_why_started(attempt, jobset),
        ),
    )


def _newest(state: TrainJobState) -> int:
    return state.manifest.generation if state.manifest is not None else 0


def _why_started(attempt: TrainAttempt | None, jobset: KnownJobSet) -> str:
    if attempt is None:
        return "first"
    if attempt.jobset_uid != jobset.uid:
        return "recreated"
    return "resumed" if attempt.outcome == "suspended" else "restarted"


def _interruption(
    state: TrainJobState, attempt: TrainAttempt, jobset: KnownJobSet | None, at: Instant
) -> tuple[TrainJobEvent, ...]:
    if jobset is None or jobset.uid != attempt.jobset_uid:
        return _over(state, at, LOST, "JobSetDeleted", "the JobSet was deleted by somebody")
    if jobset.restarts > attempt.restarts:
        message = f"the JobSet was restarted ({jobset.restarts} times so far)"
        return _over(state, at, "failed", "JobSetRestarted", message)
    return _over(state, at, "suspended") if jobset.suspend else ()


def _over(
    state: TrainJobState, at: Instant, outcome: str, reason: str = "", message: str = ""
) -> tuple[TrainJobEvent, ...]:
    """Return the end of the present attempt, if there is one."""
    attempt = state.attempt
    if attempt is None or attempt.is_over:
        return ()
    return (
        TrainAttemptEnded(
            at=at, attempt=attempt.number, outcome=outcome, reason=reason, message=message
        ),
    )


RULES: tuple[Rule, ...] = (_conclusion, _runtime_kind, _suspension, execution)
"""In order of priority. What is known to have ended has ended, even if it is to be suspended."""


def _is_done(state: TrainJobState, effect: OpenEffect) -> bool:
    """Return whether an open effect's outcome is still to be heard, though it is not wanted.

    An apply that goes on while the job ends, or whose work the watch has told already, is not
    dropped: what it did belongs into the log.
    """
    if effect.desired.kind is EffectKind.APPLY_OBJECTS:
        return not (is_dormant(state) or is_leaving(state) or is_final(state))
    return not is_dormant(state)


def _why_cancelled(state: TrainJobState, decision: PendingDecision) -> str:
    is_try = decision.kind is DecisionKind.EFFECT_RETRY
    if state.deleted_at is not None or (is_leaving(state) and is_try):
        return "the TrainJob is being deleted"
    if is_final(state):
        return f"the job is {state.phase}"
    if is_true(state.conditions, SUSPENDED):
        return "the job is suspended"
    return f"the job is {state.phase or Phase.NEW.name.lower()}"


reconcile = ReconcileRules(
    evolve=evolve,
    rules=RULES,
    called_for=called_for,
    desired_decisions=desired_decisions,
    is_awaited=_is_done,
    why_cancelled=_why_cancelled,
).reconcile
