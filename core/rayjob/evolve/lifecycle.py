"""Applies lifecycle events to the state of a RayJob. Total: no event once written is refused.

Facts and effects have files of their own beside this one.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias, assert_never, cast, get_args

from msgspec.structs import replace

from jobledger.core.jobs import events as shared
from jobledger.core.jobs.events import DecisionFired
from jobledger.core.jobs.evolve import shared_events
from jobledger.core.jobs.evolve.shared_events import SharedEvolution
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.rayjob.deletion import with_what_is_due
from jobledger.core.rayjob.events import lifecycle as events
from jobledger.core.rayjob.evolve.adoption import adopted
from jobledger.core.rayjob.evolve.effects import (
    effect_failed,
    effect_faltered,
    effect_requested,
    effect_succeeded,
    effect_superseded,
)
from jobledger.core.rayjob.evolve.facts import evolve_fact
from jobledger.core.rayjob.evolve.pods import evidence_given_up, failure_noticed
from jobledger.core.rayjob.evolve.recorded import (
    control_released,
    control_taken,
    ledger_behind_found,
    others_status_observed,
    with_cluster_left,
)
from jobledger.core.rayjob.observations.ray_job import Entrypoint
from jobledger.core.rayjob.phases import JobStatus, Phase
from jobledger.core.rayjob.state import Attempt, KnownCluster, RayJobState, known_manifest, selected
from jobledger.core.values.instants import Instant


def evolve(state: RayJobState, event: events.RayJobEvent) -> RayJobState:
    """Return the state after `event`."""
    return _APPLIED_BY[type(event)](state, event)


def _decision_fired(state: RayJobState, event: DecisionFired) -> RayJobState:
    """Return the state without the decision, and with what it allows from now on."""
    state = shared_events.decision_fired(state, event)
    if event.kind is DecisionKind.RETRY and state.attempt is not None:
        return replace(state, attempt=replace(state.attempt, retry_due=True))
    if event.kind is DecisionKind.EVIDENCE:
        return evidence_given_up(state)
    if event.kind is DecisionKind.TTL_SHUTDOWN:
        return replace(state, shutdown_due=True)
    if event.kind is DecisionKind.DELETION_RULE:
        policy = event.subject.partition(" ")[0]
        return replace(state, deletions_due=(*state.deletions_due, policy))
    return state


_SHARED: SharedEvolution[RayJobState] = SharedEvolution(
    effect_requested=effect_requested,
    effect_succeeded=effect_succeeded,
    effect_faltered=effect_faltered,
    effect_failed=effect_failed,
    effect_superseded=effect_superseded,
    decision_fired=_decision_fired,
    control_released=control_released,
    control_taken=control_taken,
    ledger_behind_found=ledger_behind_found,
)


def _evolve_life(state: RayJobState, event: events.LifeEvent) -> RayJobState:  # noqa: C901, PLR0911, PLR0912 one case per event
    match event:
        case events.JobDiscovered():
            return replace(state, identity=event.identity)
        case events.JobAdopted():
            found = adopted(state, event.status, event.at, begun=event.begun)
            return others_status_observed(found, event.status)
        case events.ManifestReceived():
            return _manifest_received(state, event)
        case events.ManifestRejected():
            return _rejected(state, event)
        case events.ManifestAccepted():
            return _accepted(state)
        case events.AttemptStarted():
            return _attempt_started(state, event)
        case events.AttemptReachedRunning():
            return _reached(state, Phase.RUNNING, event.address)
        case events.AttemptReachedWaiting():
            return _reached(state, Phase.WAITING, event.address)
        case events.SubmissionNamed():
            return _with_attempt(state, job_id=event.job_id)
        case events.AttemptFailed():
            return _failed(state, event)
        case events.RetryGranted():
            return _retrying(state, event)
        case events.AttemptCleared():
            return _cleared(state, Phase.NEW, kept=event.kept_cluster)
        case events.ClusterGivenUp():
            return _given_up(state)
        case events.SuspensionStarted():
            return _suspending(state)
        case events.JobSuspended():
            return _suspended(state, event)
        case events.JobResumed():
            return replace(state, phase=Phase.NEW)
        case events.JobCompleted():
            return _completed(state, event)
        case events.JobFailed():
            return _job_failed(state, event)
        case events.JobDeleted():
            return replace(state, deleted_at=event.at, returned=False)
        case events.SuspensionPostponed():
            return replace(state, suspension_postponed=True)
        case events.ClusterKept() | events.ClusterCovered():
            return replace(state, kept=isinstance(event, events.ClusterKept))
        case events.FailureNoticed():
            return failure_noticed(state, event)
        case events.OthersStatusObserved():
            return others_status_observed(state, event.status)
        case events.TransitionsMissed():
            return replace(_cleared(state, Phase.NEW), failed=event.failed)
        case events.RetryRefused() | events.DeletionStarted():
            return state
        case _:
            assert_never(event)


def _rejected(state: RayJobState, event: events.ManifestRejected) -> RayJobState:
    is_first = state.paused is None
    return replace(
        state,
        phase=Phase.VALIDATION_FAILED,
        paused=state.phase if is_first else state.paused,
        paused_words=(state.reason, state.message) if is_first else state.paused_words,
        reason=Phase.VALIDATION_FAILED.value,
        message=event.message,
    )


def _accepted(state: RayJobState) -> RayJobState:
    """Return the state as it was before the pause; the Ray job may have said something since."""
    phase = state.paused if state.paused is not None else Phase.NEW
    reason, message = state.paused_words
    if phase is Phase.RUNNING:
        message = state.entrypoint.message
    return replace(
        state, phase=phase, paused=None, paused_words=("", ""), reason=reason, message=message
    )


def _failed(state: RayJobState, event: events.AttemptFailed) -> RayJobState:
    attempt = replace(state.attempt, failing=None) if state.attempt is not None else None
    return replace(
        state,
        attempt=attempt,
        failed=event.failed,
        reason=event.reason,
        message=event.message,
        entrypoint=replace(state.entrypoint, status=event.job_status),
    )


def _retrying(state: RayJobState, event: events.RetryGranted) -> RayJobState:
    """Return the state that waits for the next attempt; what was refused belonged to the last."""
    granted = _with_attempt(state, retry_at=event.due_at)
    attempt = granted.attempt
    if attempt is not None:
        paused = event.due_at > event.at
        attempt = replace(attempt, retry_paused=paused, keeps_cluster=event.keeps_cluster)
    return replace(
        granted,
        attempt=attempt,
        phase=Phase.RETRYING,
        paused=None,
        retries=state.retries + 1,
        uncounted=event.uncounted,
        refused=(),
    )


def _suspending(state: RayJobState) -> RayJobState:
    return replace(
        state, phase=Phase.SUSPENDING, refused=(), suspension_postponed=False, deadline_from=None
    )


def _job_failed(state: RayJobState, event: events.JobFailed) -> RayJobState:
    """Return the state of a failed job; between two attempts it has a reason of its own."""
    failed = replace(state, phase=Phase.FAILED, paused=None, ended_at=event.at, refused=())
    if event.inferred:
        return failed
    return replace(failed, reason=event.reason, message=event.message)


def _completed(state: RayJobState, event: events.JobCompleted) -> RayJobState:
    return replace(
        state,
        phase=Phase.COMPLETE,
        paused=None,
        ended_at=event.at,
        refused=(),
        reason=event.reason,
        message=event.message,
        succeeded=state.succeeded + (event.job_status is JobStatus.SUCCEEDED),
    )


def _with_attempt(
    state: RayJobState, *, job_id: str | None = None, retry_at: Instant | None = None
) -> RayJobState:
    if state.attempt is None:
        return state
    attempt = state.attempt
    return replace(
        state,
        attempt=replace(
            attempt,
            job_id=attempt.job_id if job_id is None else job_id,
            retry_at=attempt.retry_at if retry_at is None else retry_at,
        ),
    )


def _manifest_received(state: RayJobState, event: events.ManifestReceived) -> RayJobState:
    manifest = known_manifest(event, state.manifest)
    changed = state.manifest is None or state.manifest.digest != event.digest
    received = replace(
        state,
        manifest=manifest,
        refused=() if changed else state.refused,
        repeated=() if changed else state.repeated,
        suspension_postponed=state.suspension_postponed and manifest.spec.suspend,
        returned=state.deleted_at is not None,
    )
    return with_what_is_due(received, event.at) if changed else received


def _given_up(state: RayJobState) -> RayJobState:
    attempt = replace(state.attempt, keeps_cluster=False) if state.attempt is not None else None
    return replace(state, attempt=attempt)


def _attempt_started(state: RayJobState, event: events.AttemptStarted) -> RayJobState:
    stays = state.cluster if event.same_cluster else _shared(state)
    return replace(
        state,
        phase=Phase.INITIALIZING,
        attempt=Attempt(
            number=event.attempt,
            cluster_name=event.cluster_name,
            job_id=event.job_id,
            generation=event.generation,
            started_at=event.at,
            same_cluster=event.same_cluster,
            selected=event.selected
            or (not event.same_cluster and event.cluster_name == selected(state) != ""),
            mode=state.manifest.spec.submission_mode if state.manifest is not None else None,
        ),
        cluster=stays,
        shown_cluster=stays.status if stays is not None else None,
        submitter=None,
        head=state.head if event.same_cluster else None,
        sidecar=None,
        entrypoint=Entrypoint(),
        refused=(),
        repeated=(),
        reason="",
        message="",
        paused=None,
        paused_words=("", ""),
        started_at=event.at,
        deadline_from=state.deadline_from or event.at,
    )


def _reached(state: RayJobState, phase: Phase, address: str) -> RayJobState:
    attempt = replace(state.attempt, address=address) if state.attempt is not None else None
    return replace(state, phase=phase, attempt=attempt)


def _cleared(state: RayJobState, phase: Phase, *, kept: str = "") -> RayJobState:
    """Return the state in which an attempt is over; with its RayCluster, if that is `kept`."""
    attempt = state.attempt
    if attempt is not None:
        attempt = replace(attempt, cleared=True, look_wanted=False)
    stays = state.cluster if kept else _shared(state)
    if stays is None:
        state = with_cluster_left(state)
    return replace(
        state,
        phase=phase,
        attempt=attempt,
        cluster=stays,
        submitter=None,
        head=state.head if kept else None,
        sidecar=None,
        entrypoint=Entrypoint(),
        refused=(),
        reason="",
        message="",
    )


def _suspended(state: RayJobState, event: events.JobSuspended) -> RayJobState:
    """Return the suspended state; what was to begin and did not has begun now, as upstream shows.

    What another controller wrote of it is not known, so nothing is said in its place.
    """
    begins = state.phase is Phase.NEW or state.started_at is None
    began = event.at if begins and not event.inferred else state.started_at
    return replace(_cleared(state, Phase.SUSPENDED), started_at=began, deadline_from=None)


def _shared(state: RayJobState) -> KnownCluster | None:
    """Return the RayCluster that outlives attempts: the one that the job selects now."""
    known = state.cluster
    return known if known is not None and known.name == selected(state) else None


_Apply: TypeAlias = Callable[[RayJobState, events.RayJobEvent], RayJobState]

_APPLIED_BY: Mapping[type, _Apply] = {
    **dict.fromkeys(get_args(events.FactEvent), cast("_Apply", evolve_fact)),
    **dict.fromkeys(get_args(events.LifeEvent), cast("_Apply", _evolve_life)),
    **dict.fromkeys(get_args(shared.SharedEvent), cast("_Apply", _SHARED.evolve)),
}
"""By the class of the event: to ask a union of classes whether it is one of them takes longer."""
