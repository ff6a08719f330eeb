"""Observations that every kind of job can receive. Nothing else enters a decider."""

from typing import TypeAlias

from msgspec import Struct, field

from jobledger.core.jobs.events import Confirmation, EvidenceCaptured
from jobledger.core.jobs.evidence.evidence import (
    KeptLog,
    Missing,
    PodEvidence,
    RayEvidence,
    SeenKubernetesEvent,
)
from jobledger.core.jobs.pending.effects import Outcome
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import DecisionId, EffectId, ObservationId
from jobledger.core.values.instants import Instant


class EffectEnded(Struct, frozen=True, kw_only=True):
    """A try to act outside came to an end."""

    id: ObservationId
    at: Instant
    effect_id: EffectId
    outcome: Outcome
    trouble: str = ""
    """What went wrong, in words; bounded and scrubbed."""
    uid: str = ""
    gone: bool = False
    already: bool = False
    sent: Manifest = field(default_factory=dict)
    details: Manifest = field(default_factory=dict)
    """What else the act tells, in the words of its kind of job."""


class DecisionDue(Struct, frozen=True, kw_only=True):
    """The instant of a decision has come."""

    id: ObservationId
    at: Instant
    decision_id: DecisionId
    looked: bool = False
    """Whether the Ray job was asked, and told as an observation, just before."""


class WatchInterrupted(Struct, frozen=True, kw_only=True):
    """A watch had to list anew; changes in between may have been missed."""

    id: ObservationId
    at: Instant
    source: str
    since: Instant
    until: Instant
    reason: str


class NothingNew(Struct, frozen=True, kw_only=True):
    """The sum of observations that brought no news since the last such sum."""

    id: ObservationId
    at: Instant
    sources: tuple[Confirmation, ...]


class StatusWritten(Struct, frozen=True, kw_only=True):
    """The object's `.status` was written as the projection says."""

    id: ObservationId
    at: Instant
    phase: str
    resource_version: str
    status_sha: str


class StatusNotWritten(Struct, frozen=True, kw_only=True):
    """The object's `.status` could not be written for a while, and is tried on."""

    id: ObservationId
    at: Instant
    since: Instant
    trouble: str
    """Why the last try failed, in words; bounded and scrubbed."""


class EvidenceSeen(Struct, frozen=True, kw_only=True):
    """What was captured of an attempt."""

    id: ObservationId
    at: Instant
    attempt: int
    occasion: str
    pods: tuple[PodEvidence, ...] = ()
    logs: tuple[KeptLog, ...] = ()
    kubernetes_events: tuple[SeenKubernetesEvent, ...] = ()
    ray: RayEvidence | None = None
    missing: tuple[Missing, ...] = ()
    took_milliseconds: int = 0


class LedgerSetBack(Struct, frozen=True, kw_only=True):
    """The stream of the job ends before what this process had appended to it."""

    id: ObservationId
    at: Instant
    known_version: int
    found_version: int


class Survey(Struct, frozen=True, kw_only=True):
    """Which objects of a job are there, told once everything has been listed."""

    there: tuple[str, ...] = ()
    """Names of its RayClusters, or of its JobSet; without those that are being deleted."""


AboutStatus: TypeAlias = StatusWritten | StatusNotWritten
"""Whether users can see a status: nothing else follows from it."""

SharedFact: TypeAlias = WatchInterrupted | NothingNew | AboutStatus | EvidenceSeen | LedgerSetBack
"""What is judged alike for every kind of job, whoever controls the job."""

SharedObservation: TypeAlias = EffectEnded | DecisionDue | SharedFact


OCCASIONS_REMEMBERED_MAX = 16
"""Captures that are remembered, so that one told again is no news."""


def evidence_of(
    seen: EvidenceSeen, captured: tuple[str, ...], attempt: int | None
) -> tuple[EvidenceCaptured, ...]:
    """Return what was captured, unless it was told before or no attempt has begun yet."""
    if attempt is None or seen.occasion in captured:
        return ()
    return (
        EvidenceCaptured(
            at=seen.at,
            attempt=seen.attempt,
            occasion=seen.occasion,
            pods=seen.pods,
            logs=seen.logs,
            kubernetes_events=seen.kubernetes_events,
            ray=seen.ray,
            missing=seen.missing,
            took_milliseconds=seen.took_milliseconds,
        ),
    )


def remember_occasion(captured: tuple[str, ...], occasion: str) -> tuple[str, ...]:
    """Return the remembered captures with one more."""
    return (*captured, occasion)[-OCCASIONS_REMEMBERED_MAX:]
