"""The decisions that a RayJob's state calls for. Others that are pending are cancelled."""

from collections.abc import Iterator
from datetime import timedelta

from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.pending.decisions import DecisionKind, DesiredDecision
from jobledger.core.jobs.reconcile import tries
from jobledger.core.jobs.retries.job_deadline import cause as deadline_cause
from jobledger.core.rayjob.deletion import desired_deletions
from jobledger.core.rayjob.ending import job_deadline
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.rules.desired_effects import called_for
from jobledger.core.rayjob.state import (
    Attempt,
    Failing,
    KnownManifest,
    RayJobState,
    standing,
    submitter_of,
)
from jobledger.core.values.instants import Instant

ACTIVE = frozenset({Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING})
"""Phases that the active deadline bounds.

Upstream does not look at it in Waiting, and fails the job right after.
"""

BOUNDED = ACTIVE | {Phase.NEW, Phase.RETRYING}
"""Phases that the deadline over all attempts bounds."""

PRE_RUNNING = frozenset({Phase.INITIALIZING, Phase.WAITING})


def desired_decisions(state: RayJobState) -> tuple[DesiredDecision, ...]:
    """Return every decision that should be pending now."""
    manifest = state.manifest
    if is_dormant(state) or manifest is None:
        return ()
    desired = list(tries(state, called_for, manifest.policy.effect_retry_seconds))
    if is_leaving(state):
        return tuple(desired)
    if state.attempt is not None and state.attempt.failing is not None:
        desired += _evidence(manifest, state.attempt.failing)
    elif state.attempt is not None:
        desired += _deadlines(state, manifest, state.attempt)
        desired += _job_deadline(state, manifest)
        desired += _time_outs(state, manifest)
        desired += _retry(state, state.attempt)
    desired += desired_deletions(state, manifest)
    return tuple(desired)


def _deadlines(
    state: RayJobState, manifest: KnownManifest, attempt: Attempt
) -> Iterator[DesiredDecision]:
    phase, spec = standing(state), manifest.spec
    if spec.active_deadline_seconds is not None and phase in ACTIVE:
        due_at = attempt.started_at + timedelta(seconds=spec.active_deadline_seconds)
        if not state.entrypoint.has_ended:
            cause = f"activeDeadlineSeconds {spec.active_deadline_seconds} of this attempt"
            yield DesiredDecision(kind=DecisionKind.ACTIVE_DEADLINE, due_at=due_at, cause=cause)
    if spec.pre_running_deadline_seconds is not None and phase in PRE_RUNNING:
        due_at = attempt.started_at + timedelta(seconds=spec.pre_running_deadline_seconds)
        cause = f"preRunningDeadlineSeconds {spec.pre_running_deadline_seconds} of this attempt"
        yield DesiredDecision(kind=DecisionKind.PRE_RUNNING_DEADLINE, due_at=due_at, cause=cause)


def _job_deadline(state: RayJobState, manifest: KnownManifest) -> Iterator[DesiredDecision]:
    """Yield the deadline over all attempts, which bounds the pauses between them as well.

    A Ray job that has ended is concluded first: it may have succeeded in time.
    """
    phase, due = standing(state), job_deadline(state)
    concluding = phase is Phase.RUNNING and state.entrypoint.has_ended
    if due is None or concluding or phase not in BOUNDED:
        return
    why = deadline_cause(manifest.options.job_deadline_seconds or 0)
    yield DesiredDecision(kind=DecisionKind.JOB_DEADLINE, due_at=due, cause=why)


def _time_outs(state: RayJobState, manifest: KnownManifest) -> Iterator[DesiredDecision]:
    if standing(state) is not Phase.RUNNING:
        return
    entrypoint, policy = state.entrypoint, manifest.policy
    submitter = submitter_of(state)
    if entrypoint.has_ended and entrypoint.ended_seen_at is not None:
        since = _ended_at(state, entrypoint.ended_seen_at)
        due_at = since + policy.transition_grace
        cause = f"the Ray job is {entrypoint.status}, its submitter has not ended"
        yield DesiredDecision(kind=DecisionKind.TRANSITION_GRACE, due_at=due_at, cause=cause)
        return
    looked = state.attempt is not None and not state.attempt.look_wanted
    if submitter is not None and submitter.seen_finished_at is not None and looked:
        due_at = submitter.seen_finished_at + policy.submitter_finished_timeout
        cause = f"the submitter ended ({submitter.outcome}), the Ray job has not"
        yield DesiredDecision(kind=DecisionKind.SUBMITTER_FINISHED, due_at=due_at, cause=cause)
    if entrypoint.silent_since is not None:
        due_at = entrypoint.silent_since + policy.status_check_timeout
        cause = f"the head does not answer: {entrypoint.trouble}"
        yield DesiredDecision(kind=DecisionKind.STATUS_CHECK, due_at=due_at, cause=cause)


def _ended_at(state: RayJobState, seen_at: Instant) -> Instant:
    """Return when the Ray job ended: by Ray's own word, where that can be.

    An end before the attempt began, or after it was seen, is told by a clock that is wrong; then it
    is when the end was seen. Upstream takes Ray's word for all of it.
    """
    attempt, told = state.attempt, state.entrypoint.ended_at
    if attempt is None or told is None or not attempt.started_at <= told <= seen_at:
        return seen_at
    return told


def _evidence(manifest: KnownManifest, failing: Failing) -> Iterator[DesiredDecision]:
    if not failing.looked:
        due_at = failing.since + manifest.policy.evidence_timeout
        trouble = f" ({failing.trouble})" if failing.trouble else ""
        cause = f"{failing.reason}: the retry policy waits for a look at the Pods{trouble}"
        yield DesiredDecision(kind=DecisionKind.EVIDENCE, due_at=due_at, cause=cause)


def _retry(state: RayJobState, attempt: Attempt) -> Iterator[DesiredDecision]:
    waiting = standing(state) is Phase.RETRYING and not attempt.retry_due
    if waiting and attempt.retry_at is not None:
        why = f" ({state.reason})" if state.phase is Phase.RETRYING else ""
        cause = f"attempt {attempt.number} failed{why}"
        yield DesiredDecision(kind=DecisionKind.RETRY, due_at=attempt.retry_at, cause=cause)
