"""Facts from outside that every kind of job takes in. All enter by the same road."""

from dataclasses import dataclass, field
from typing import TypeAlias

from core.jobs.effects import Outcome
from core.jobs.events import Confirmation
from core.values.documents import Manifest
from core.values.ids import DecisionId, EffectId, ObservationId
from core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectEnded:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionDue:
    """The instant of a decision has come."""

    id: ObservationId
    at: Instant
    decision_id: DecisionId
    looked: bool = False
    """Whether the Ray job was asked, and told as an observation, just before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchInterrupted:
    """A watch had to list anew; changes in between may have been missed."""

    id: ObservationId
    at: Instant
    source: str
    since: Instant
    until: Instant
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingNew:
    """The sum of observations that brought no news since the last such sum."""

    id: ObservationId
    at: Instant
    sources: tuple[Confirmation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusWritten:
    """The object's `.status` was written as the projection says."""

    id: ObservationId
    at: Instant
    phase: str
    resource_version: str
    status_sha: str


SharedObservation: TypeAlias = (
    EffectEnded | DecisionDue | WatchInterrupted | NothingNew | StatusWritten
)
