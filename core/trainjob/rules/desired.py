"""The effects and decisions that a TrainJob's state calls for.

Source for when objects are applied: Trainer v2.3, trainjob_controller.go and the JobSet plugin's
builder. A running JobSet is never touched, so an apply may well find nothing to do.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.pending.decisions import DecisionKind, DesiredDecision
from jobledger.core.jobs.pending.effects import DesiredEffect, EffectKind, RefusedEffect
from jobledger.core.jobs.pending.pacing import is_any_waiting, wanted_tries
from jobledger.core.jobs.retries.job_deadline import cause, due_at
from jobledger.core.trainjob.phases import Phase
from jobledger.core.trainjob.state import KnownTrainJob, TrainJobState, deadline_start, is_final
from jobledger.core.values.instants import later


def called_for(state: TrainJobState) -> tuple[DesiredEffect, ...]:
    """Return every effect that the state calls for, whether it has to wait or not."""
    manifest, identity = state.manifest, state.identity
    if is_dormant(state) or manifest is None or identity is None:
        return ()
    desired: list[DesiredEffect] = []
    if state.doomed:
        uid = state.jobset.uid if state.jobset is not None else ""
        desired.append(DesiredEffect(kind=EffectKind.DELETE_JOBSET, name=identity.name, uid=uid))
    elif not is_final(state) and wants_apply(state, manifest):
        desired.append(DesiredEffect(kind=EffectKind.APPLY_OBJECTS, name=identity.name))
    return tuple(desired)


def wants_apply(state: TrainJobState, manifest: KnownTrainJob) -> bool:
    """Return whether the objects are to be built and applied.

    Of a job that is being deleted, and that somebody's finalizer holds, only the JobSet that is
    there is still suspended and resumed; nothing is made anew.
    """
    if not manifest.spec.runtime.is_supported:
        return False
    built, jobset = state.built, state.jobset
    if is_leaving(state):
        return (
            jobset is not None and not jobset.deleting and jobset.suspend != manifest.spec.suspend
        )
    if jobset is not None and state.withheld == manifest.digest and not state.rebuild:
        return jobset.suspend != manifest.spec.suspend
    if built is None or built.digest != manifest.digest or state.rebuild:
        return True
    if built.phase is not Phase.CREATED:
        return True  # unless it waits: then it is among the refused
    if jobset is None or jobset.deleting:
        return False  # it is on its way, or will be told as gone
    drifted = jobset.generation != built.jobset_generation
    return jobset.suspend != manifest.spec.suspend or (manifest.spec.suspend and drifted)


def desired_decisions(state: TrainJobState) -> tuple[DesiredDecision, ...]:
    """Return every decision that should be pending now."""
    manifest = state.manifest
    if is_dormant(state) or manifest is None:
        return ()
    deadlines = (*_deadline(state, manifest), *_job_deadline(state, manifest))
    return (*_tries(state, manifest), *deadlines)


def _job_deadline(state: TrainJobState, manifest: KnownTrainJob) -> Iterator[DesiredDecision]:
    """Yield the deadline over all attempts, from the first of them."""
    spec, start = manifest.spec, state.deadline_from
    if is_final(state) or spec.suspend or spec.job_deadline_seconds < 1 or start is None:
        return
    yield DesiredDecision(
        kind=DecisionKind.JOB_DEADLINE,
        due_at=due_at(start, spec.job_deadline_seconds),
        cause=cause(spec.job_deadline_seconds),
    )


def _deadline(state: TrainJobState, manifest: KnownTrainJob) -> Iterator[DesiredDecision]:
    spec, start = manifest.spec, deadline_start(state)
    if is_final(state) or spec.suspend or spec.active_deadline_seconds < 1 or start is None:
        return
    yield DesiredDecision(
        kind=DecisionKind.ACTIVE_DEADLINE,
        due_at=later(start, timedelta(seconds=spec.active_deadline_seconds)),
        cause=f"activeDeadlineSeconds {spec.active_deadline_seconds}",
    )


def _tries(state: TrainJobState, manifest: KnownTrainJob) -> Iterable[DesiredDecision]:
    if not is_any_waiting(state.refused, state.repeated):
        return ()
    keys = {effect.key for effect in called_for(state)}
    apply = (EffectKind.APPLY_OBJECTS, state.identity.name if state.identity is not None else "")
    refused = state.refused
    if any(item.key == apply and _lasts(state, item) for item in refused):
        refused = tuple(item for item in refused if item.key != apply)
        keys.discard(apply)
    return wanted_tries(refused, state.repeated, keys, manifest.policy.retry_seconds)


def _lasts(state: TrainJobState, refused: RefusedEffect) -> bool:
    """Return whether building the same again would fail again, so that it waits for a change.

    One that has come already, a runtime that changed meanwhile, is not waited for. What the API
    server refused does not last: nobody is told when a definition or a policy of admission changes.
    """
    built = state.built
    if not refused.waiting or built is None or built.may_pass:
        return False
    if built.phase is not Phase.BUILD_FAILED:
        return False
    return state.created_once or state.runtime in (None, built.runtime)
