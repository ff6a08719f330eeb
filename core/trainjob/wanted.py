"""Which effects and decisions a TrainJob's state calls for.

Source for when objects are applied: Trainer v2.3, trainjob_controller.go and the JobSet plugin's
builder. A running JobSet is never touched, so an apply may well find nothing to do.
"""

from collections.abc import Iterator
from datetime import timedelta

from core.jobs.backoff import EFFECT_RETRY_MAX, doubled
from core.jobs.decisions import DecisionKind, WantedDecision
from core.jobs.effects import EffectKind, WantedEffect
from core.trainjob.phases import Phase
from core.trainjob.state import (
    KnownTrainJob,
    TrainJobState,
    deadline_start,
    is_dormant,
    is_final,
    is_leaving,
)
from core.values.instants import later


def wanted_effects(state: TrainJobState) -> tuple[WantedEffect, ...]:
    """Return every effect that should be under way now; none that waits after a refusal."""
    manifest, identity = state.manifest, state.identity
    if is_dormant(state) or is_leaving(state) or manifest is None or identity is None:
        return ()
    wanted: list[WantedEffect] = []
    if state.doomed:
        uid = state.jobset.uid if state.jobset is not None else ""
        wanted.append(WantedEffect(kind=EffectKind.DELETE_JOBSET, name=identity.name, uid=uid))
    elif not is_final(state) and wants_apply(state, manifest):
        wanted.append(WantedEffect(kind=EffectKind.APPLY_OBJECTS, name=identity.name))
    waiting = {item.key for item in state.refused if item.waiting}
    return tuple(effect for effect in wanted if effect.key not in waiting)


def wants_apply(state: TrainJobState, manifest: KnownTrainJob) -> bool:
    """Return whether the objects are to be built and applied."""
    if not manifest.spec.runtime.is_supported:
        return False
    built, jobset = state.built, state.jobset
    if built is None or built.digest != manifest.digest or state.rebuild:
        return True
    if built.phase is not Phase.CREATED:
        return True  # unless it waits: then it is among the refused
    if jobset is None or jobset.deleting:
        return False  # it is on its way, or will be told as gone
    drifted = jobset.generation > built.jobset_generation
    return jobset.suspend != manifest.spec.suspend or (manifest.spec.suspend and drifted)


def wanted_decisions(state: TrainJobState) -> tuple[WantedDecision, ...]:
    """Return every decision that should be pending now."""
    manifest = state.manifest
    if is_dormant(state) or is_leaving(state) or manifest is None:
        return ()
    return (*_tries(state, manifest), *_deadline(state, manifest))


def _deadline(state: TrainJobState, manifest: KnownTrainJob) -> Iterator[WantedDecision]:
    spec, start = manifest.spec, deadline_start(state)
    if is_final(state) or spec.suspend or spec.active_deadline_seconds < 1 or start is None:
        return
    yield WantedDecision(
        kind=DecisionKind.ACTIVE_DEADLINE,
        due_at=later(start, timedelta(seconds=spec.active_deadline_seconds)),
        cause=f"activeDeadlineSeconds {spec.active_deadline_seconds}",
    )


def _tries(state: TrainJobState, manifest: KnownTrainJob) -> Iterator[WantedDecision]:
    first = timedelta(seconds=manifest.policy.retry_seconds)
    for refused in state.refused:
        if not refused.waiting:
            continue
        lasting = state.built is not None and not state.built.may_pass
        if refused.kind is EffectKind.APPLY_OBJECTS and lasting:
            continue  # the same again would fail again: it waits for a change
        pause = doubled(first, refused.times - 1, EFFECT_RETRY_MAX)
        yield WantedDecision(
            kind=DecisionKind.EFFECT_RETRY,
            due_at=refused.refused_at + pause,
            cause=f"{refused.kind} was refused: {refused.trouble}",
            subject=f"{refused.kind}/{refused.name}",
        )
