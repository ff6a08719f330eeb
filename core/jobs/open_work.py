"""What is open of a job, of any kind: decisions, effects and refusals, as events change them."""

from dataclasses import replace

from core.jobs.decisions import PendingDecision
from core.jobs.effects import OpenEffect, RefusedEffect
from core.jobs.events import DecisionScheduled
from core.values.ids import DecisionId, EffectId


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


def tried_again(refused: tuple[RefusedEffect, ...], subject: str) -> tuple[RefusedEffect, ...]:
    """Return the refusals, of which the one that a decision was about need not wait any more."""
    return tuple(
        replace(item, waiting=False) if f"{item.kind}/{item.name}" == subject else item
        for item in refused
    )
