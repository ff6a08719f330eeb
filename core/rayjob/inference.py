"""Infers from a RayJob's status what the other controller has decided.

Asked step by step, as the rules of `core.rayjob.rules.rules` are: each step is one that KubeRay's
controller takes, told by the event of that step and marked as inferred, until what is known agrees
with what was shown. Where a status can have been reached in several ways (a watch had a gap), that
is said (`TransitionsMissed`) and no way is made up. What is behind what is known is no news.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias

from jobledger.core.decider import Decided
from jobledger.core.jobs.reconcile import fixpoint
from jobledger.core.rayjob.events.lifecycle import (
    AttemptCleared,
    AttemptFailed,
    AttemptReachedRunning,
    AttemptReachedWaiting,
    AttemptStarted,
    EntrypointObserved,
    JobCompleted,
    JobFailed,
    JobResumed,
    JobSuspended,
    ManifestAccepted,
    ManifestRejected,
    RayJobEvent,
    RetryGranted,
    RetryRefused,
    SubmissionNamed,
    SuspensionStarted,
    TransitionsMissed,
)
from jobledger.core.rayjob.evolve.adoption import end_beneath
from jobledger.core.rayjob.evolve.lifecycle import evolve
from jobledger.core.rayjob.names_ahead import is_of_a_user, number_ahead, submission_ahead
from jobledger.core.rayjob.observations.observations import SeenStatus
from jobledger.core.rayjob.phases import FINAL, JobStatus, Phase
from jobledger.core.rayjob.spec.spec import waits_since_creation
from jobledger.core.rayjob.state import Attempt, RayJobState
from jobledger.core.values.instants import Instant

Step: TypeAlias = tuple[RayJobEvent, ...]
Rule: TypeAlias = Callable[[RayJobState, SeenStatus, Phase, Instant], Step]

UNKNOWN = "Unknown"
"""Reason and kind where the other controller gave none."""

_PHASES = {phase.value: phase for phase in Phase}
_JOB_STATUSES = {status.value: status for status in JobStatus}
_ACTIVE = frozenset({Phase.INITIALIZING, Phase.WAITING, Phase.RUNNING})
_BETWEEN = frozenset({Phase.NEW, Phase.SUSPENDED})
_BEFORE_RUNNING = frozenset({Phase.INITIALIZING, Phase.WAITING})
_OTHERS_SECOND = timedelta(seconds=1)
"""Instants in a status are whole seconds."""


def infer(state: RayJobState, at: Instant) -> Decided[RayJobState, RayJobEvent]:
    """Return everything that the status shown last lets conclude, in order."""
    return fixpoint(state, evolve, lambda now: _next(now, at))


def _next(state: RayJobState, at: Instant) -> Step:
    shown = state.recorded.shown if state.recorded is not None else None
    if shown is None or state.deleted_at is not None or state.phase in FINAL:
        return ()
    target = end_beneath(shown) or _PHASES.get(shown.phase)
    if target is None or _is_behind(state, shown, target):  # None: of a newer controller
        return ()
    for rule in RULES:
        if events := rule(state, shown, target, at):
            return events
    return ()


def _is_behind(state: RayJobState, shown: SeenStatus, target: Phase) -> bool:
    """Return whether a status tells of an attempt that was over before the one that is known.

    So it is where control was given up before the newest attempt was shown. An end is never behind:
    no attempt follows it.
    """
    attempt, began = state.attempt, shown.started_at
    if attempt is None or not shown.cluster_name or target in FINAL:
        return False
    if submission_ahead(state, shown.job_id):  # of a later attempt on the same RayCluster
        return False
    other = shown.cluster_name != attempt.cluster_name
    alone = not (attempt.selected or attempt.same_cluster)
    if not other and alone:  # a name of its own: the very same attempt
        return attempt.cleared
    if began is None:
        return other and not attempt.cleared and shown.failed <= state.failed
    if attempt.started_at - began > _OTHERS_SECOND:
        return True
    return attempt.cleared and not _is_another(attempt, shown)


def _validity(state: RayJobState, shown: SeenStatus, target: Phase, at: Instant) -> Step:
    generation = state.manifest.generation if state.manifest is not None else 0
    if target is Phase.VALIDATION_FAILED:
        if state.phase is target:
            return ()
        kind = shown.reason or UNKNOWN
        rejected = ManifestRejected(
            at=at, generation=generation, kind=kind, message=shown.message, inferred=True
        )
        return (rejected,)
    if state.phase is Phase.VALIDATION_FAILED:
        return (ManifestAccepted(at=at, generation=generation, inferred=True),)
    return ()


def _parting(state: RayJobState, shown: SeenStatus, target: Phase, at: Instant) -> Step:
    """An attempt is over when the status names none any more, or another."""
    attempt = state.attempt
    if target is Phase.VALIDATION_FAILED or attempt is None or attempt.cleared:
        return ()
    if shown.cluster_name and not _is_another(attempt, shown):
        return ()
    if not shown.cluster_name and target not in {Phase.NEW, Phase.SUSPENDED}:
        return ()
    if state.phase is Phase.RETRYING:
        return (AttemptCleared(at=at, attempt=attempt.number, inferred=True),)
    if state.phase is Phase.SUSPENDING:
        return (JobSuspended(at=at, attempt=attempt.number, inferred=True),)
    if target is Phase.SUSPENDED and shown.failed == state.failed:
        return (SuspensionStarted(at=at, attempt=attempt.number, inferred=True),)
    missed = TransitionsMissed(
        at=at,
        attempt=attempt.number,
        before=state.phase.value,
        after=target.value,
        failed_before=state.failed,
        failed=shown.failed,
    )
    return (missed,)


def _missed(state: RayJobState, shown: SeenStatus, target: Phase, at: Instant) -> Step:
    """Attempts have failed while none was known to go on: how is not known, but they count."""
    attempt = state.attempt
    goes_on = attempt is not None and not attempt.cleared
    if target is Phase.VALIDATION_FAILED or goes_on or state.phase not in _BETWEEN:
        return ()
    over = target in {Phase.RETRYING, Phase.FAILED} and shown.cluster_name != ""
    if shown.failed - over <= state.failed:
        return ()
    missed = TransitionsMissed(
        at=at,
        attempt=attempt.number if attempt is not None else 0,
        before=state.phase.value,
        after=target.value,
        failed_before=state.failed,
        failed=shown.failed - over,
    )
    return (missed,)


def _is_another(attempt: Attempt, shown: SeenStatus) -> bool:
    """Return whether a status tells of another attempt: of other names, or begun later."""
    if shown.cluster_name != attempt.cluster_name:
        return True
    began = shown.started_at
    return began is not None and began - attempt.started_at > _OTHERS_SECOND


def _beginning(state: RayJobState, shown: SeenStatus, target: Phase, at: Instant) -> Step:
    attempt = state.attempt
    if attempt is not None and not attempt.cleared:
        return ()
    if state.phase is Phase.SUSPENDED:
        if target is Phase.SUSPENDED:
            return ()
        return (JobResumed(at=at, inferred=True),)
    if target is Phase.SUSPENDED:  # whatever led there was missed
        number = attempt.number if attempt is not None else 0
        return (JobSuspended(at=at, attempt=number, inferred=True),)
    if state.phase is not Phase.NEW or not shown.cluster_name or _waits_since_creation(state):
        return ()
    before = attempt.number if attempt is not None else 0
    ours = state.recorded is not None and state.recorded.behind
    named = 0
    if ours:
        named = number_ahead(state, shown.cluster_name) or submission_ahead(state, shown.job_id)
    over = target in {Phase.RETRYING, Phase.FAILED}
    started = AttemptStarted(
        at=shown.started_at or at,
        attempt=named or max(before + 1, shown.failed + (not over)),
        cluster_name=shown.cluster_name,
        job_id=shown.job_id,
        generation=state.manifest.generation if state.manifest is not None else 0,
        inferred=True,
        selected=ours and is_of_a_user(_name(state), shown.cluster_name),
    )
    return (started,)


def _name(state: RayJobState) -> str:
    return state.identity.name if state.identity is not None else ""


def _waits_since_creation(state: RayJobState) -> bool:
    """Return whether names that are shown are only reserved."""
    manifest = state.manifest
    return manifest is not None and waits_since_creation(manifest.spec, manifest.generation)


def _progress(state: RayJobState, shown: SeenStatus, target: Phase, at: Instant) -> Step:
    """Running and Waiting are reached; that an end was shown with Ray's status tells it as well."""
    attempt = state.attempt
    if attempt is None or attempt.cleared or state.phase not in _ACTIVE:
        return ()
    if shown.job_id and attempt.job_id != shown.job_id:
        return (SubmissionNamed(at=at, job_id=shown.job_id, inferred=True),)
    if state.phase not in _BEFORE_RUNNING or not shown.address:
        return ()
    if target is Phase.WAITING and state.phase is Phase.INITIALIZING:
        waiting = AttemptReachedWaiting(
            at=at, attempt=attempt.number, address=shown.address, inferred=True
        )
        return (waiting,)
    ran = target in {Phase.RUNNING, Phase.COMPLETE} or shown.job_status != ""
    if target in {Phase.INITIALIZING, Phase.WAITING} or not ran:
        return ()
    running = AttemptReachedRunning(
        at=at, attempt=attempt.number, address=shown.address, inferred=True
    )
    return (running,)


def _entrypoint(state: RayJobState, shown: SeenStatus, target: Phase, at: Instant) -> Step:
    """What Ray says is copied from the status; nobody asks the head."""
    attempt = state.attempt
    status = _JOB_STATUSES.get(shown.job_status, JobStatus.NEW)
    if attempt is None or state.phase is not Phase.RUNNING or status is JobStatus.NEW:
        return ()
    del target
    if status is state.entrypoint.status:
        return ()
    told = EntrypointObserved(
        at=at, job_id=attempt.job_id, status=status, message=shown.message, inferred=True
    )
    return (told,)


def _ending(state: RayJobState, shown: SeenStatus, target: Phase, at: Instant) -> Step:
    attempt = state.attempt
    if attempt is None or attempt.cleared or state.phase in {Phase.NEW, Phase.SUSPENDED}:
        return _end_of_nothing(state, shown, target, at)
    if target is Phase.SUSPENDING and state.phase in _ACTIVE:
        return (SuspensionStarted(at=at, attempt=attempt.number, inferred=True),)
    if target is Phase.COMPLETE:
        return (_completed(shown, attempt.number, at),)
    if target is Phase.FAILED and state.phase not in _ACTIVE:
        # Its attempt had ended already, as before a deadline over all attempts ends the pause.
        return (_failed(shown, attempt.number, at),)
    if target not in {Phase.RETRYING, Phase.FAILED} or state.phase not in _ACTIVE:
        return ()
    ended = shown.ended_at or at
    failed = AttemptFailed(
        at=ended,
        attempt=attempt.number,
        reason=shown.reason or UNKNOWN,
        message=shown.message,
        failed=shown.failed,
        job_status=_JOB_STATUSES.get(shown.job_status, JobStatus.NEW),
        inferred=True,
    )
    limit = state.manifest.spec.backoff_limit if state.manifest is not None else 0
    if target is Phase.RETRYING:
        granted = RetryGranted(
            at=at,
            attempt=attempt.number,
            backoff_limit=limit,
            failed=shown.failed,
            reason=failed.reason,
            rule="the controller in charge retries it",
            due_at=at,
            inferred=True,
        )
        return failed, granted
    refused = RetryRefused(
        at=ended,
        attempt=attempt.number,
        backoff_limit=limit,
        failed=shown.failed,
        reason=failed.reason,
        rule="the controller in charge does not retry it",
        inferred=True,
    )
    return failed, refused, _failed(shown, attempt.number, at)


def _end_of_nothing(state: RayJobState, shown: SeenStatus, target: Phase, at: Instant) -> Step:
    """An end is told even if it names no attempt, as of a status that others have spoilt."""
    number = state.attempt.number if state.attempt is not None else 0
    if target is Phase.COMPLETE:
        return (_completed(shown, number, at),)
    return (_failed(shown, number, at),) if target is Phase.FAILED else ()


def _completed(shown: SeenStatus, attempt: int, at: Instant) -> JobCompleted:
    return JobCompleted(
        at=shown.ended_at or at,
        attempt=attempt,
        job_status=_JOB_STATUSES.get(shown.job_status, JobStatus.NEW),
        reason=shown.reason,
        message=shown.message,
        inferred=True,
    )


def _failed(shown: SeenStatus, attempt: int, at: Instant) -> JobFailed:
    return JobFailed(
        at=shown.ended_at or at,
        attempt=attempt,
        reason=shown.reason or UNKNOWN,
        message=shown.message,
        inferred=True,
    )


RULES: tuple[Rule, ...] = (
    _validity,
    _parting,
    _missed,
    _beginning,
    _progress,
    _entrypoint,
    _ending,
)
"""In the order in which the other controller must have acted."""
