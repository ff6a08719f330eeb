"""The open decisions, effects and refusals of a job, and how events change them."""

from typing import TypeVar

from msgspec.structs import replace

from jobledger.core.jobs.events import (
    DecisionScheduled,
    EffectFailed,
    EffectFaltered,
    EffectRequested,
)
from jobledger.core.jobs.pending.decisions import PendingDecision
from jobledger.core.jobs.pending.effects import (
    DesiredEffect,
    EffectKind,
    OpenEffect,
    RefusedEffect,
    RepeatedEffect,
)
from jobledger.core.jobs.pending.pacing import AT_ONCE_MAX, subject_of
from jobledger.core.values.ids import DecisionId, EffectId


def pending(event: DecisionScheduled) -> PendingDecision:
    """Return the decision that is pending from now on."""
    return PendingDecision(
        decision_id=event.decision_id,
        kind=event.kind,
        attempt=event.attempt,
        due_at=event.due_at,
        subject=event.subject,
    )


def without_decision(
    decisions: tuple[PendingDecision, ...], ended: DecisionId
) -> tuple[PendingDecision, ...]:
    """Return the decisions that are still pending."""
    number = ended.int  # compared as numbers: UUIDs compare in Python
    return tuple([item for item in decisions if item.decision_id.int != number])


def opened(event: EffectRequested) -> OpenEffect:
    """Return the effect that is open from now on."""
    return OpenEffect(
        effect_id=event.effect_id,
        attempt=event.attempt,
        desired=DesiredEffect(
            kind=event.kind, name=event.name, uid=event.uid, address=event.address
        ),
        digest=event.digest,
        generation=event.generation,
    )


def effect_of(effects: tuple[OpenEffect, ...], effect_id: EffectId) -> OpenEffect | None:
    """Return the open effect of an id; None if it has ended."""
    number = effect_id.int
    for item in effects:
        if item.effect_id.int == number:
            return item
    return None


def with_trouble(effects: tuple[OpenEffect, ...], event: EffectFaltered) -> tuple[OpenEffect, ...]:
    """Return the open effects, of which one has met a trouble."""
    return tuple(
        replace(effect, trouble=event.trouble) if effect.effect_id == event.effect_id else effect
        for effect in effects
    )


def refused_once_more(
    refused: tuple[RefusedEffect, ...], event: EffectFailed
) -> tuple[RefusedEffect, ...]:
    """Return the refusals, of which the one of the event is the latest and counts the earlier."""
    key = (event.kind, event.name)
    times = next((item.times for item in refused if item.key == key), 0)
    refusal = RefusedEffect(
        kind=event.kind,
        name=event.name,
        times=times + 1,
        refused_at=event.at,
        trouble=event.trouble,
    )
    return (*(item for item in refused if item.key != key), refusal)


def without_effect(effects: tuple[OpenEffect, ...], ended: EffectId) -> tuple[OpenEffect, ...]:
    """Return the effects that are still open."""
    number = ended.int
    return tuple([item for item in effects if item.effect_id.int != number])


def not_refused(refused: tuple[RefusedEffect, ...], kind: EffectKind) -> tuple[RefusedEffect, ...]:
    """Return the refusals without those of a kind of effect: what was in its way has changed."""
    return tuple(item for item in refused if item.kind is not kind)


Waiting = TypeVar("Waiting", RefusedEffect, RepeatedEffect)


def tried_again(waiting: tuple[Waiting, ...], subject: str) -> tuple[Waiting, ...]:
    """Return what waits, of which the one that a decision was about need not wait any more."""
    return tuple(
        replace(item, waiting=False) if subject_of(item.key) == subject else item
        for item in waiting
    )


def tried_soon(refused: tuple[RefusedEffect, ...]) -> tuple[RefusedEffect, ...]:
    """Return the refusals, of which none need wait that has not been in vain too often.

    For what may go on for ever without a change of what is wanted.
    """
    return tuple(
        replace(item, waiting=False) if item.times <= AT_ONCE_MAX else item for item in refused
    )
