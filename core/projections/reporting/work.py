"""Reporting facts of the controller's own work: decisions, gaps, events per hour."""

from datetime import UTC, timedelta

from msgspec.structs import replace

from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs import events as shared
from jobledger.core.kinds import ROLES
from jobledger.core.projections.reporting.facts import (
    ActivityFact,
    DecisionFact,
    GapFact,
    with_last,
)
from jobledger.core.values.instants import Instant

_NO_TIME, _HOUR = timedelta(), timedelta(hours=1)

_COUNTED: dict[type, str] = {
    shared.EffectRequested: "effects_requested",
    shared.EffectSucceeded: "effects_succeeded",
    shared.EffectFaltered: "effects_faltered",
    shared.EffectFailed: "effects_failed",
    shared.EffectSuperseded: "effects_superseded",
    shared.DecisionFired: "decisions_fired",
    shared.DecisionCancelled: "decisions_cancelled",
    shared.StatusPublished: "status_writes",
    shared.ObservationGapFound: "gaps",
} | dict.fromkeys(ROLES.status_check_failed, "failed_status_checks")


def with_decision(
    decisions: tuple[DecisionFact, ...], event: JobEvent, recorded_at: Instant
) -> tuple[DecisionFact, ...]:
    """Return the decisions after one was made, fired or cancelled."""
    if isinstance(event, shared.DecisionScheduled):
        return *decisions, _scheduled(event)
    if not isinstance(event, shared.DecisionFired | shared.DecisionCancelled):
        return decisions
    changes: dict[str, object] = {"state": "cancelled", "resolved_at": event.at}
    if isinstance(event, shared.DecisionFired):
        changes |= {"state": "fired", "lateness_ms": lateness_ms(event, recorded_at)}
    else:
        changes["resolution"] = event.cause
    return with_last(decisions, lambda one: one.decision_id == event.decision_id, changes)


def _scheduled(event: shared.DecisionScheduled) -> DecisionFact:
    return DecisionFact(
        decision_id=event.decision_id,
        attempt=event.attempt,
        decision=event.kind.value,
        state="pending",
        scheduled_at=event.at,
        due_at=event.due_at,
        resolved_at=None,
        lateness_ms=None,
        cause=event.cause,
        resolution="",
    )


def lateness_ms(event: shared.DecisionFired, recorded_at: Instant) -> float:
    """Return how long after its instant the firing was written down, in milliseconds."""
    return max(0.0, (recorded_at - event.due_at).total_seconds() * 1000)


def with_gap(gaps: tuple[GapFact, ...], event: JobEvent) -> tuple[GapFact, ...]:
    """Return the gaps after one was found."""
    if not isinstance(event, shared.ObservationGapFound):
        return gaps
    found = GapFact(
        number=len(gaps) + 1,
        source=event.source,
        since_at=event.since,
        until_at=max(event.since, event.until),
        found_at=event.at,
        reason=event.reason,
    )
    return *gaps, found


def with_activity(
    hours: tuple[ActivityFact, ...], event: JobEvent, recorded_at: Instant, *, news: bool
) -> tuple[ActivityFact, ...]:
    """Return the hours after an event; `news`: it is the first that its observation brought.

    Events are written down in order, but by several clocks: an earlier hour may come again.
    """
    at = _hour_of(hours, recorded_at)
    one = hours[at] if at is not None else ActivityFact(hour=_whole_hour(recorded_at))
    counted = _COUNTED.get(type(event))
    changes: dict[str, object] = {
        "events": one.events + 1,
        "observations": one.observations + news,
    }
    if counted is not None:
        changes[counted] = getattr(one, counted) + 1
    if isinstance(event, shared.DecisionFired):
        late = lateness_ms(event, recorded_at)
        changes["lateness_ms_max"] = max(late, one.lateness_ms_max or 0.0)
        changes["lateness_ms_sum"] = one.lateness_ms_sum + late
    one = replace(one, **changes)
    return (*hours, one) if at is None else (*hours[:at], one, *hours[at + 1 :])


def _hour_of(hours: tuple[ActivityFact, ...], at: Instant) -> int | None:
    """Return which of the hours an instant is in, mostly the last; None if in none of them."""
    if hours and _NO_TIME <= at - hours[-1].hour < _HOUR:
        return len(hours) - 1
    hour = _whole_hour(at)
    return next((index for index, known in enumerate(hours) if known.hour == hour), None)


def _whole_hour(at: Instant) -> Instant:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
