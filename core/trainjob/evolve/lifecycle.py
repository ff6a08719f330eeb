"""Applies lifecycle events to the state of a TrainJob."""

from typing import assert_never

from msgspec.structs import replace

from jobledger.core.jobs.evolve.open_work import not_refused, tried_soon
from jobledger.core.jobs.evolve.shared_events import with_manifest
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.rows import LOST
from jobledger.core.trainjob import events
from jobledger.core.trainjob.conditions import Condition, is_true, with_condition
from jobledger.core.trainjob.evolve.recorded import others_status_observed
from jobledger.core.trainjob.phases import (
    BUILD_FAILED,
    BUILD_FAILED_MESSAGE,
    COMPLETE,
    CREATED,
    CREATION_FAILED,
    CREATION_FAILED_MESSAGE,
    CREATION_SUCCEEDED,
    CREATION_SUCCEEDED_MESSAGE,
    DEADLINE_EXCEEDED,
    FAILED,
    RESUMED_MESSAGE,
    RESUMED_REASON,
    SUSPENDED,
    SUSPENDED_MESSAGE,
    SUSPENDED_REASON,
    Phase,
)
from jobledger.core.trainjob.state import (
    Built,
    KnownJobSet,
    TrainAttempt,
    TrainJobState,
    known_trainjob,
    waits_for_snapshot,
)
from jobledger.core.values.instants import Instant


def evolve_life(state: TrainJobState, event: events.TrainLifeEvent) -> TrainJobState:  # noqa: C901, PLR0911, PLR0912 one case per event
    """Return the state after something became of the job."""
    match event:
        case events.TrainJobDiscovered():
            return replace(state, identity=event.identity)
        case events.TrainJobAdopted():
            return others_status_observed(_adopted(state, event), event.status)
        case events.OthersTrainStatusObserved():
            return others_status_observed(state, event.status)
        case events.TrainJobReceived():
            return with_manifest(state, known_trainjob(event))
        case events.JobsBuildFailed() | events.JobsCreationFailed():
            return _not_created(state, event)
        case events.RuntimePatchesWithheld():
            return replace(state, withheld=event.digest)
        case events.BuilderChanged():
            return _built_by_another(state, event)
        case events.ObjectsApplied():
            return _applied(state, event)
        case events.TrainAttemptStarted():
            return _attempt_started(state, event)
        case events.TrainAttemptEnded():
            return _attempt_ended(state, event)
        case events.TrainJobSuspended():
            state = replace(state, deadline_from=None)
            return _set(state, SUSPENDED, True, SUSPENDED_REASON, SUSPENDED_MESSAGE, event.at)  # noqa: FBT003
        case events.TrainJobResumed():
            return _set(state, SUSPENDED, False, RESUMED_REASON, RESUMED_MESSAGE, event.at)  # noqa: FBT003
        case events.TrainJobCompleted():
            ended = _ended(state, COMPLETE, event)
            return replace(ended, succeeded=max(ended.succeeded, 1)) if event.inferred else ended
        case events.TrainJobFailed():
            ended = _ended(state, FAILED, event)
            if event.inferred:  # its JobSet may have gone before
                ended = replace(ended, failed=max(ended.failed, 1))
            known = not event.inferred or ended.jobset is not None
            return replace(ended, doomed=event.reason == DEADLINE_EXCEEDED and known)
        case events.TrainJobDeleted():
            return replace(state, deleted_at=event.at)
        case events.TrainJobDeletionStarted():
            return state
        case _:
            assert_never(event)


def _set(
    state: TrainJobState,
    kind: str,
    is_true: bool,  # noqa: FBT001 the condition's own value
    reason: str,
    message: str,
    since: Instant,
) -> TrainJobState:
    new = Condition(type=kind, is_true=is_true, reason=reason, message=message, since=since)
    return replace(state, conditions=with_condition(state.conditions, new))


def _adopted(state: TrainJobState, event: events.TrainJobAdopted) -> TrainJobState:
    status = event.status
    ends = [item for item in status.conditions if item.type in (COMPLETE, FAILED) and item.is_true]
    end = ends[0] if ends else None
    return replace(
        state,
        conditions=status.conditions,
        jobs=status.jobs,
        shown_jobs=status.jobs != (),
        created_once=status.jobs != () or is_true(status.conditions, CREATED),
        reason=end.reason if end is not None else "",
        message=end.message if end is not None else "",
        ended_at=end.since if end is not None else None,
        succeeded=int(end is not None and end.type == COMPLETE),
        failed=int(end is not None and end.type == FAILED),
    )


def _not_created(
    state: TrainJobState, event: events.JobsBuildFailed | events.JobsCreationFailed
) -> TrainJobState:
    if isinstance(event, events.JobsBuildFailed):
        phase, reason, begun = Phase.BUILD_FAILED, BUILD_FAILED, BUILD_FAILED_MESSAGE
    else:
        phase, reason, begun = Phase.CREATION_FAILED, CREATION_FAILED, CREATION_FAILED_MESSAGE
    message = f"{begun}: {event.cause}"
    built = Built(
        phase=phase,
        digest=event.digest,
        runtime=event.runtime,
        may_pass=event.may_pass,
        builder=event.builder if isinstance(event, events.JobsBuildFailed) else "",
    )
    state = _set(state, CREATED, False, reason, message, event.at)  # noqa: FBT003
    if _is_outdated(state, event):
        state = replace(state, refused=tried_soon(state.refused))
    state = replace(state, built=built, reason=reason, message=message)
    if state.rebuild_again and waits_for_snapshot(state):  # it may be what has gone meanwhile
        state = replace(state, refused=tried_soon(state.refused))
    return state


def _built_by_another(state: TrainJobState, event: events.BuilderChanged) -> TrainJobState:
    built = state.built
    return replace(
        state,
        built=replace(built, builder=event.builder) if built is not None else None,
        refused=not_refused(state.refused, EffectKind.APPLY_OBJECTS),
    )


def _is_outdated(
    state: TrainJobState, event: events.JobsBuildFailed | events.JobsCreationFailed
) -> bool:
    """Return whether the runtime has changed while the objects were built; true only once."""
    told_before = state.built is not None and state.built.runtime == event.runtime
    changed = state.runtime is not None and state.runtime != event.runtime
    return changed and not state.created_once and not told_before


def _applied(state: TrainJobState, event: events.ObjectsApplied) -> TrainJobState:
    state = _set(
        state,
        CREATED,
        True,  # noqa: FBT003
        CREATION_SUCCEEDED,
        CREATION_SUCCEEDED_MESSAGE,
        event.at,
    )
    built = Built(
        phase=Phase.CREATED,
        digest=event.digest,
        runtime=event.runtime,
        jobset_generation=event.jobset_generation,
    )
    return replace(
        state,
        built=built,
        created_once=True,
        parts=_parts_after(state, event),
        rebuild=state.rebuild_again or event.jobset_uid in state.gone,
        rebuild_again=False,
        reason="",
        message="",
        jobset=_jobset_after(state, event),
    )


def _parts_after(state: TrainJobState, event: events.ObjectsApplied) -> tuple[str, ...]:
    """Return what was made for the job by now; what was found and left alone is known from before.

    The JobSet is known by its UID instead.
    """
    made = (name for name in event.names if not name.startswith("JobSet/"))
    return tuple(dict.fromkeys((*state.parts, *made)))


def _jobset_after(state: TrainJobState, event: events.ObjectsApplied) -> KnownJobSet | None:
    """Return the JobSet as the apply left it; what the watch told since then stays."""
    known = state.jobset
    if not event.jobset_uid or event.jobset_uid in state.gone:
        return known
    if known is None or known.uid != event.jobset_uid:
        name = state.identity.name if state.identity is not None else ""
        return KnownJobSet(
            name=name,
            uid=event.jobset_uid,
            generation=event.jobset_generation,
            suspend=event.jobset_suspend,
            built_from=event.generation,
        )
    if event.jobset_generation <= known.generation:  # told by the watch already, or left as it was
        return known if known.built_from else replace(known, built_from=event.generation)
    return replace(
        known,
        generation=event.jobset_generation,
        suspend=event.jobset_suspend,
        built_from=event.generation,
    )


def _attempt_started(state: TrainJobState, event: events.TrainAttemptStarted) -> TrainJobState:
    attempt = TrainAttempt(
        number=event.attempt,
        generation=event.generation,
        started_at=event.at,
        jobset_uid=event.jobset_uid,
        restarts=event.restarts,
    )
    again = state.attempt is not None and state.attempt.outcome in ("failed", LOST)
    return replace(
        state,
        attempt=attempt,
        started_at=state.started_at or event.at,
        deadline_from=state.deadline_from or event.at,
        retries=state.retries + again,
    )


def _attempt_ended(state: TrainJobState, event: events.TrainAttemptEnded) -> TrainJobState:
    attempt = state.attempt
    if attempt is None or attempt.number != event.attempt:
        return state
    return replace(
        state,
        attempt=replace(attempt, is_over=True, outcome=event.outcome),
        succeeded=state.succeeded + (event.outcome == "succeeded"),
        failed=state.failed + (event.outcome in ("failed", LOST)),
    )


def _ended(
    state: TrainJobState, kind: str, event: events.TrainJobCompleted | events.TrainJobFailed
) -> TrainJobState:
    state = _set(state, kind, True, event.reason, event.message, event.ended_at)  # noqa: FBT003
    return replace(
        state,
        reason=event.reason,
        message=event.message,
        ended_at=event.ended_at,
        refused=(),
        rebuild=False,
        rebuild_again=False,
    )
