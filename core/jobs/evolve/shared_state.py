"""What the state of a job of every kind has."""

from typing import Protocol

from msgspec import Struct

from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.pending.decisions import PendingDecision
from jobledger.core.jobs.pending.effects import OpenEffect, RefusedEffect, RepeatedEffect
from jobledger.core.values.instants import Instant


class Versioned(Protocol):
    """A manifest as it is known."""

    @property
    def generation(self) -> int: ...  # noqa: D102 as in each kind's state
    @property
    def digest(self) -> str: ...  # noqa: D102


class SharedState(Struct, frozen=True, gc=False):
    """The state of a job, as far as it is the same for every kind."""

    identity: JobIdentity | None = None
    manifest: Versioned | None = None
    deleted_at: Instant | None = None
    effects: tuple[OpenEffect, ...] = ()
    refused: tuple[RefusedEffect, ...] = ()
    repeated: tuple[RepeatedEffect, ...] = ()
    """What was done a short while ago."""
    decisions: tuple[PendingDecision, ...] = ()
    published: str = ""
    """resourceVersion of the object after the last status write."""
    confirmed_at: Instant | None = None
    """Instant of the last sum of observations without news."""
    gap_until: Instant | None = None
    """End of the last known gap in what was seen."""
    captured: tuple[str, ...] = ()
    """Occasions on which evidence was captured, the last few."""
