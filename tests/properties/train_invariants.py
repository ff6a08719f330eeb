"""The invariants of a TrainJob, as far as a history of the core can show them."""

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from jobledger.core.jobs.events import (
    DecisionCancelled,
    DecisionFired,
    DecisionScheduled,
    EffectFailed,
    EffectRequested,
    EffectSucceeded,
    EffectSuperseded,
)
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.trainjob.conditions import found
from jobledger.core.trainjob.decide.decide import TRAINJOB
from jobledger.core.trainjob.events import (
    JobSetObserved,
    JobSetVanished,
    ObjectsApplied,
    TrainAttemptEnded,
    TrainAttemptStarted,
    TrainJobEvent,
)
from jobledger.core.trainjob.phases import COMPLETE, FAILED
from jobledger.core.trainjob.state import TrainJobState, is_final
from jobledger.core.trainjob.status.status import status
from tests.support.rows import check_laws, through_the_log

Id = TypeVar("Id")

LIFE = ("phase", "reason", "message", "ended_at", "failed", "succeeded", "started_at", "attempt")


def check_train_history(history: Sequence[TrainJobEvent]) -> None:
    """Hold a whole history against every invariant."""
    check_laws(TRAINJOB, history, len(history) // 2)
    check_no_attempt_after_the_end(history)
    check_one_execution(history)
    check_train_effects_and_decisions(history)
    state = TRAINJOB.initial
    for event in history:
        after = TRAINJOB.evolve(state, event)
        check_train_step(state, event, after)
        state = after
    assert status(TRAINJOB.fold(through_the_log(history))) == status(state)


def check_no_attempt_after_the_end(history: Sequence[TrainJobEvent]) -> None:
    """Invariant 2: what has ended is not tried again."""
    state = TRAINJOB.initial
    for event in history:
        begins = isinstance(event, TrainAttemptStarted)
        assert not (begins and is_final(state)), f"{event} comes after the end"
        state = TRAINJOB.evolve(state, event)


def check_one_execution(history: Sequence[TrainJobEvent]) -> None:
    """Invariant 3: one execution at a time, each once and in order."""
    running = last = 0
    for event in history:
        if isinstance(event, TrainAttemptStarted):
            assert not running, f"attempt {event.attempt} begins beside {running}"
            assert event.attempt == last + 1, f"attempt {event.attempt} comes after {last}"
            running = last = event.attempt
        if isinstance(event, TrainAttemptEnded):
            assert event.attempt == running, f"{event.attempt} ends, {running} is running"
            running = 0


def check_train_effects_and_decisions(history: Sequence[TrainJobEvent]) -> None:
    """Invariant 5: each is asked for once and ends once; nothing ends that never began."""
    ends = (EffectSucceeded, EffectFailed, EffectSuperseded)
    begun = Counter(e.effect_id for e in history if isinstance(e, EffectRequested))
    over = Counter(e.effect_id for e in history if isinstance(e, ends))
    state = TRAINJOB.fold(history)
    _check_pairs(begun, over, {item.effect_id for item in state.effects})
    resolutions = (DecisionFired, DecisionCancelled)
    made = Counter(e.decision_id for e in history if isinstance(e, DecisionScheduled))
    done = Counter(e.decision_id for e in history if isinstance(e, resolutions))
    _check_pairs(made, done, {item.decision_id for item in state.decisions})


def check_train_step(before: TrainJobState, event: TrainJobEvent, after: TrainJobState) -> None:
    """Invariants 4 and 6: what is final stays so; only the job's own JobSet is deleted."""
    for kind in (COMPLETE, FAILED):
        condition = found(before.conditions, kind)
        stays = condition is None or found(after.conditions, kind) == condition
        assert stays, f"{type(event).__name__} changes {kind} of a job that has ended"
    if is_final(before):
        changed = [name for name in LIFE if getattr(before, name) != getattr(after, name)]
        assert not changed, f"{type(event).__name__} changes {changed} of a job that has ended"
        if isinstance(event, EffectRequested):
            assert event.kind is EffectKind.DELETE_JOBSET, event
    if isinstance(event, EffectRequested) and event.kind is EffectKind.DELETE_JOBSET:
        ours = before.jobset
        assert event.uid == (ours.uid if ours is not None else ""), event


def jobsets_of(history: Sequence[TrainJobEvent]) -> set[str]:
    """Return the UIDs of the JobSets that a history takes for the job's own."""
    told = (JobSetObserved, JobSetVanished)
    seen = {event.uid for event in history if isinstance(event, told)}
    made = {event.jobset_uid for event in history if isinstance(event, ObjectsApplied)}
    return (seen | made) - {""}


def _check_pairs(begun: Counter[Id], over: Counter[Id], open_now: set[Id]) -> None:
    once = all(count == 1 for count in (*begun.values(), *over.values()))
    assert once, "an effect or a decision is doubled"
    assert set(over) <= set(begun), "something ends that never began"
    assert open_now == set(begun) - set(over), "what is open is not what has not ended"
