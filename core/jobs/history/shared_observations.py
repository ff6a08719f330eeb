"""Reconstructs observations from events that every kind of job has."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from jobledger.core.jobs import events as shared
from jobledger.core.jobs.observations import (
    DecisionDue,
    EffectEnded,
    EvidenceSeen,
    LedgerSetBack,
    NothingNew,
    SharedObservation,
    StatusWritten,
    Survey,
    WatchInterrupted,
)
from jobledger.core.jobs.pending.effects import Outcome
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import ObservationId

Event = TypeVar("Event")


def find(told: Sequence[object], kind: type[Event]) -> Event | None:
    """Return the first event of a kind, if there is one."""
    return next((event for event in told if isinstance(event, kind)), None)


def survey_of(told: Sequence[object]) -> Survey | None:
    """Return what was there of a job that was taken over, if that was known."""
    recovered = find(told, shared.RecoveredFromCluster)
    if recovered is None or not recovered.is_surveyed:
        return None
    return Survey(there=recovered.there)


def asked_for(told: Sequence[object]) -> str:
    """Return who asked for a job to be taken over."""
    recovered = find(told, shared.RecoveredFromCluster)
    return recovered.asked if recovered is not None else ""


class _Recorded(Protocol):
    @property
    def why(self) -> str: ...
    @property
    def behind(self) -> bool: ...


def why_recorded(recorded: _Recorded | None, told: Sequence[object]) -> str:
    """Return why a job was only recorded, as it was looked at; empty if it was controlled.

    `recorded` is how it was before: held, recorded for a reason, or not at all.
    """
    if (released := find(told, shared.ControlReleased)) is not None:
        return released.why
    taken = find(told, shared.ControlTaken) or find(told, shared.LedgerBehindFound)
    if taken is not None or recorded is None or recorded.behind:
        return ""
    return recorded.why


def _set_back(event: shared.LedgerBehindFound, cause: ObservationId) -> LedgerSetBack:
    known, found = event.known_version, event.found_version
    return LedgerSetBack(id=cause, at=event.at, known_version=known, found_version=found)


def observed(  # noqa: C901, PLR0911 one case per event
    event: object, cause: ObservationId, details: Manifest | None = None
) -> SharedObservation | None:
    """Return the observation whose first fact is `event`; None if it is none of these."""
    if isinstance(event, shared.EffectSucceeded):
        return EffectEnded(
            id=cause,
            at=event.at,
            effect_id=event.effect_id,
            outcome=Outcome.SUCCEEDED,
            uid=event.uid,
            gone=event.gone,
            already=event.already,
            sent=event.sent,
            details=details or {},
        )
    if isinstance(event, shared.EffectFaltered):
        return _troubled(event, cause, Outcome.FALTERED, event.trouble)
    if isinstance(event, shared.EffectFailed):
        return _troubled(event, cause, Outcome.FAILED, event.trouble, details)
    if isinstance(event, shared.EffectSuperseded):
        return _troubled(event, cause, Outcome.SUPERSEDED, event.cause)
    if isinstance(event, shared.DecisionFired | shared.DecisionCancelled):
        return DecisionDue(id=cause, at=event.at, decision_id=event.decision_id, looked=True)
    if isinstance(event, shared.ObservationGapFound):
        return WatchInterrupted(
            id=cause,
            at=event.at,
            source=event.source,
            since=event.since,
            until=event.until,
            reason=event.reason,
        )
    if isinstance(event, shared.LedgerBehindFound) and event.known_version:
        return _set_back(event, cause)
    if isinstance(event, shared.ObservationsConfirmed):
        return NothingNew(id=cause, at=event.at, sources=event.sources)
    if isinstance(event, shared.EvidenceCaptured):
        return EvidenceSeen(
            id=cause,
            at=event.at,
            attempt=event.attempt,
            occasion=event.occasion,
            pods=event.pods,
            logs=event.logs,
            kubernetes_events=event.kubernetes_events,
            ray=event.ray,
            missing=event.missing,
            took_milliseconds=event.took_milliseconds,
        )
    if isinstance(event, shared.StatusPublished):
        return StatusWritten(
            id=cause,
            at=event.at,
            phase=event.phase,
            resource_version=event.resource_version,
            status_sha=event.status_sha,
        )
    return None


def _troubled(
    event: shared.EffectFaltered | shared.EffectFailed | shared.EffectSuperseded,
    cause: ObservationId,
    outcome: Outcome,
    trouble: str,
    details: Manifest | None = None,
) -> EffectEnded:
    return EffectEnded(
        id=cause,
        at=event.at,
        effect_id=event.effect_id,
        outcome=outcome,
        trouble=trouble,
        details=details or {},
    )
