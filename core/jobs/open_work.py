"""The open decisions, effects and refusals of a job, and how events change them."""

from dataclasses import replace
from typing import TypeVar

from jobledger.core.jobs.events import DecisionScheduled
from jobledger.core.jobs.pending.decisions import PendingDecision
from jobledger.core.jobs.pending.effects import (
    BUILT_FROM_SPEC,
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
    return tuple(item for item in decisions if item.decision_id != ended)


def without_effect(effects: tuple[OpenEffect, ...], ended: EffectId) -> tuple[OpenEffect, ...]:
    """Return the effects that are still open."""
    return tuple(item for item in effects if item.effect_id != ended)


def is_outdated(effect: OpenEffect | None, digest: str) -> bool:
    """Return whether an effect was built from another specification than the one of a digest."""
    return effect is not None and effect.wanted.kind in BUILT_FROM_SPEC and effect.digest != digest


Waiting = TypeVar("Waiting", RefusedEffect, RepeatedEffect)


def tried_again(waiting: tuple[Waiting, ...], subject: str) -> tuple[Waiting, ...]:
    """Return what waits, of which the one that a decision was about need not wait any more."""
    return tuple(
        replace(item, waiting=False) if subject_of(item.key) == subject else item
        for item in waiting
    )


def tried_at_once(repeated: tuple[RepeatedEffect, ...]) -> tuple[RepeatedEffect, ...]:
    """Return what was done before, none of which need wait: something else is wanted now."""
    return tuple(replace(item, waiting=False) for item in repeated)


def tried_soon(refused: tuple[RefusedEffect, ...]) -> tuple[RefusedEffect, ...]:
    """Return the refusals, of which none need wait that has not been in vain too often.

    For what may go on for ever without a change of what is wanted.
    """
    return tuple(
        replace(item, waiting=False) if item.times <= AT_ONCE_MAX else item for item in refused
    )
