"""Turns the outcomes of the controller's own effects into events, for every kind of job."""

from collections.abc import Sequence
from typing import TypeAlias, assert_never

from jobledger.core.jobs.events import (
    AnnotationsRejected,
    DecisionFired,
    EffectFailed,
    EffectFaltered,
    EffectSucceeded,
    EffectSuperseded,
    ObservationGapFound,
    ObservationsConfirmed,
    StatusPublished,
)
from jobledger.core.jobs.observations import (
    DecisionDue,
    EffectEnded,
    NothingNew,
    StatusWritten,
    WatchInterrupted,
)
from jobledger.core.jobs.pending.decisions import PendingDecision
from jobledger.core.jobs.pending.effects import OpenEffect, Outcome
from jobledger.core.values.instants import Instant

EffectOutcome: TypeAlias = EffectSucceeded | EffectFaltered | EffectFailed | EffectSuperseded


def outcome_of(effect: OpenEffect, ended: EffectEnded) -> tuple[EffectOutcome, ...]:
    """Return the event of an open effect's outcome; nothing of a trouble that is known already."""
    kind, name = effect.desired.kind, effect.desired.name
    match ended.outcome:
        case Outcome.SUCCEEDED:
            succeeded = EffectSucceeded(
                at=ended.at,
                effect_id=effect.effect_id,
                kind=kind,
                name=name,
                uid=ended.uid,
                gone=ended.gone,
                already=ended.already,
                sent=ended.sent,
            )
            return (succeeded,)
        case Outcome.FALTERED:
            faltered = EffectFaltered(
                at=ended.at, effect_id=effect.effect_id, kind=kind, name=name, trouble=ended.trouble
            )
            return () if effect.trouble == ended.trouble else (faltered,)
        case Outcome.FAILED:
            failed = EffectFailed(
                at=ended.at, effect_id=effect.effect_id, kind=kind, name=name, trouble=ended.trouble
            )
            return (failed,)
        case Outcome.SUPERSEDED:
            superseded = EffectSuperseded(
                at=ended.at,
                effect_id=effect.effect_id,
                kind=kind,
                name=name,
                cause=ended.trouble,
                sent=False,
            )
            return (superseded,)
        case _:
            assert_never(ended.outcome)


def due_decision(decisions: Sequence[PendingDecision], due: DecisionDue) -> PendingDecision | None:
    """Return the pending decision that is due; None if it has ended, or its instant is to come."""
    found = next((item for item in decisions if item.decision_id == due.decision_id), None)
    return found if found is not None and due.at >= found.due_at else None


def firing_of(decision: PendingDecision, at: Instant) -> DecisionFired:
    """Return the firing of a decision."""
    return DecisionFired(
        at=at,
        decision_id=decision.decision_id,
        kind=decision.kind,
        due_at=decision.due_at,
        subject=decision.subject,
    )


def gap_of(gap: WatchInterrupted, known_until: Instant | None) -> tuple[ObservationGapFound, ...]:
    """Return a gap in what was watched, if it goes beyond the one that is known."""
    if known_until is not None and gap.until <= known_until:
        return ()
    found = ObservationGapFound(
        at=gap.until, source=gap.source, since=gap.since, until=gap.until, reason=gap.reason
    )
    return (found,)


def confirmation_of(
    total: NothingNew, confirmed_at: Instant | None
) -> tuple[ObservationsConfirmed, ...]:
    """Return the sum of what was seen unchanged, if anything was since the last."""
    told = confirmed_at is not None and total.at <= confirmed_at
    if told or not total.sources:
        return ()
    return (ObservationsConfirmed(at=total.at, sources=total.sources),)


def publication_of(written: StatusWritten, published: str) -> tuple[StatusPublished, ...]:
    """Return that users can now see a status; `published` is the version known already."""
    if published == written.resource_version:
        return ()
    event = StatusPublished(
        at=written.at,
        phase=written.phase,
        resource_version=written.resource_version,
        status_sha=written.status_sha,
    )
    return (event,)


def rejected(
    at: Instant, problems: tuple[str, ...], told: tuple[str, ...] = ()
) -> tuple[AnnotationsRejected, ...]:
    """Return what is to be told of annotations that are left out; nothing twice."""
    news = tuple(problem for problem in problems if problem not in told)
    return (AnnotationsRejected(at=at, problems=news),) if news else ()
