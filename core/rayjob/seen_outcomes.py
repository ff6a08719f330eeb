"""What the controller's own doing brings back: outcomes, due decisions, writes, gaps."""

from typing import assert_never

from core.jobs.decisions import LOOK_FIRST
from core.jobs.effects import OpenEffect, Outcome
from core.jobs.events import (
    EffectFailed,
    EffectFaltered,
    EffectSucceeded,
    EffectSuperseded,
    ObservationGapFound,
    ObservationsConfirmed,
    StatusPublished,
)
from core.jobs.observations import (
    DecisionDue,
    EffectEnded,
    NothingNew,
    StatusWritten,
    WatchInterrupted,
)
from core.rayjob.deletion import furthest_due
from core.rayjob.events import RayJobEvent
from core.rayjob.firing import fire
from core.rayjob.state import RayJobState, is_final, wants_poll


def on_effect_ended(state: RayJobState, ended: EffectEnded) -> tuple[RayJobEvent, ...]:
    """Return the outcome; of an effect that is not open, nothing."""
    effect = next((item for item in state.effects if item.effect_id == ended.effect_id), None)
    if effect is None:
        return ()
    match ended.outcome:
        case Outcome.SUCCEEDED:
            return (_succeeded(effect, ended),)
        case Outcome.FALTERED:
            return () if effect.trouble == ended.trouble else (_faltered(effect, ended),)
        case Outcome.FAILED:
            failed = EffectFailed(
                at=ended.at,
                effect_id=effect.effect_id,
                kind=effect.wanted.kind,
                name=effect.wanted.name,
                trouble=ended.trouble,
            )
            return (failed,)
        case Outcome.SUPERSEDED:
            superseded = EffectSuperseded(
                at=ended.at,
                effect_id=effect.effect_id,
                kind=effect.wanted.kind,
                name=effect.wanted.name,
                cause=ended.trouble,
                sent=False,
            )
            return (superseded,)
        case _:
            assert_never(ended.outcome)


def _succeeded(effect: OpenEffect, ended: EffectEnded) -> EffectSucceeded:
    return EffectSucceeded(
        at=ended.at,
        effect_id=effect.effect_id,
        kind=effect.wanted.kind,
        name=effect.wanted.name,
        uid=ended.uid,
        gone=ended.gone,
        already=ended.already,
        sent=ended.sent,
    )


def _faltered(effect: OpenEffect, ended: EffectEnded) -> EffectFaltered:
    return EffectFaltered(
        at=ended.at,
        effect_id=effect.effect_id,
        kind=effect.wanted.kind,
        name=effect.wanted.name,
        trouble=ended.trouble,
    )


def on_decision_due(state: RayJobState, due: DecisionDue) -> tuple[RayJobEvent, ...]:
    """Return the firing of a pending decision.

    One that ends an attempt waits until the Ray job was asked once more; a firing before its
    instant is none.
    """
    decision = next((item for item in state.decisions if item.decision_id == due.decision_id), None)
    if decision is None or due.at < decision.due_at:
        return ()
    if decision.kind in LOOK_FIRST and wants_poll(state) and not due.looked:
        return ()
    return fire(state, furthest_due(state, decision, due.at), due.at)


def on_watch_interrupted(state: RayJobState, gap: WatchInterrupted) -> tuple[RayJobEvent, ...]:
    """Return the gap, for a job to which something could have happened in it."""
    if state.manifest is None or state.deleted_at is not None or is_final(state):
        return ()
    if state.gap_until is not None and gap.until <= state.gap_until:
        return ()
    found = ObservationGapFound(
        at=gap.until, source=gap.source, since=gap.since, until=gap.until, reason=gap.reason
    )
    return (found,)


def on_nothing_new(state: RayJobState, total: NothingNew) -> tuple[RayJobEvent, ...]:
    """Return the sum of what was seen unchanged."""
    told = state.confirmed_at is not None and total.at <= state.confirmed_at
    if told or not total.sources or state.manifest is None:
        return ()
    return (ObservationsConfirmed(at=total.at, sources=total.sources),)


def on_status_written(state: RayJobState, written: StatusWritten) -> tuple[RayJobEvent, ...]:
    """Return that users can now see this status."""
    if state.published == written.resource_version or state.manifest is None:
        return ()
    published = StatusPublished(
        at=written.at,
        phase=written.phase,
        resource_version=written.resource_version,
        status_sha=written.status_sha,
    )
    return (published,)
