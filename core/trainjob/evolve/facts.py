"""Applies facts about the runtime, the JobSet and other objects to the state of a TrainJob."""

from typing import assert_never

from msgspec.structs import replace

from jobledger.core.jobs.evolve.open_work import not_refused, tried_soon
from jobledger.core.jobs.gone import is_there_again, remember_gone
from jobledger.core.jobs.pending.effects import EffectKind, RefusedEffect
from jobledger.core.trainjob import events
from jobledger.core.trainjob.conditions import merged, with_condition
from jobledger.core.trainjob.phases import DEADLINE_EXCEEDED
from jobledger.core.trainjob.state import (
    KnownJobSet,
    TrainJobState,
    is_applying,
    is_broken_snapshot,
    is_final,
)


def evolve_fact(state: TrainJobState, event: events.TrainFactEvent) -> TrainJobState:
    """Return the state after a fact was observed."""
    match event:
        case events.RuntimeObserved():
            state = replace(state, runtime=event.digest)
            is_news = state.built is not None and state.built.runtime != event.digest
            return replace(state, refused=()) if is_news else state
        case events.DependentVanished():
            return replace(
                remember_gone(state, event.uid),
                parts=tuple(part for part in state.parts if part != _part(event)),
                rebuild=True,
                rebuild_again=is_applying(state),
                refused=_refused_after(state, event),
            )
        case events.JobSetObserved():
            return _jobset(state, event)
        case events.JobSetVanished():
            state = remember_gone(replace(state, jobset=None, doomed=False), event.uid)
            if is_final(state):
                return state
            refused = not_refused(state.refused, EffectKind.APPLY_OBJECTS)
            return replace(state, rebuild=True, refused=refused)
        case events.TrainerProgressReported():
            return replace(state, progress=event.progress)
        case events.PluginConditionsObserved():
            return _contributed(state, event)
        case _:
            assert_never(event)


def _refused_after(
    state: TrainJobState, event: events.DependentVanished
) -> tuple[RefusedEffect, ...]:
    """Return the refusals: however often a broken snapshot was in the way, without it is anew."""
    if is_broken_snapshot(state, event.kind, event.name):
        return not_refused(state.refused, EffectKind.APPLY_OBJECTS)
    return tried_soon(state.refused)


def _part(event: events.DependentVanished) -> str:
    """Return an object as `Kind/name`; its kind may come with the group."""
    kind, _, _ = event.kind.partition(".")
    return f"{kind}/{event.name}"


def _contributed(state: TrainJobState, event: events.PluginConditionsObserved) -> TrainJobState:
    new, conditions = event.contribution, state.conditions
    for item in new.conditions:
        conditions = with_condition(conditions, item)
    which = (new.plugin, new.source.uid)
    known = tuple(one for one in state.contributions if (one.plugin, one.source.uid) != which)
    if event.gone:
        state = remember_gone(state, new.source.uid)
        return replace(state, conditions=conditions, contributions=known)
    return replace(state, conditions=conditions, contributions=(*known, new))


def _jobset(state: TrainJobState, event: events.JobSetObserved) -> TrainJobState:
    state = is_there_again(state, event.uid)
    before = state.jobset
    asked = before is not None and before.uid == event.uid and before.delete_asked
    if before is not None and before.uid != event.uid and before.observed:
        # One that was only applied may be the younger: then this is late news of its forerunner.
        state = remember_gone(state, before.uid)
    known = KnownJobSet(
        name=event.name,
        uid=event.uid,
        generation=event.generation,
        suspend=event.suspend,
        restarts=event.restarts,
        deleting=event.deleting,
        delete_asked=asked,
        end=event.end,
        observed=True,
        version=event.version,
        built_from=_built_from(state, before, event),
    )
    conditions = state.conditions
    if state.manifest is not None and state.manifest.policy.propagates:
        conditions = merged(conditions, event.contributed)
    late = state.reason == DEADLINE_EXCEEDED and is_final(state)
    return replace(
        state,
        jobset=known,
        doomed=state.doomed or (late and event.end is None and not (event.deleting or asked)),
        created_once=True,
        conditions=conditions,
        jobs=event.jobs,
        shown_jobs=state.shown_jobs or event.jobs != (),
    )


def _built_from(
    state: TrainJobState, before: KnownJobSet | None, event: events.JobSetObserved
) -> int:
    """Return whose apply made the JobSet as it is; the watch may tell of it before its outcome."""
    same = before is not None and before.uid == event.uid
    known = before.built_from if before is not None and same else 0
    if before is not None and same and event.generation <= before.generation:
        return known
    applies = [item for item in state.effects if item.desired.kind is EffectKind.APPLY_OBJECTS]
    return applies[0].generation if applies else known
