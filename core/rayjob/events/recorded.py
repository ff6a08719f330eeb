"""Events: observations of a RayJob that another controller drives.

The other events, and what holds for all: `core.rayjob.events.lifecycle`.
"""

from dataclasses import dataclass

from jobledger.core.rayjob.observations.observations import SeenStatus
from jobledger.core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class OthersStatusObserved:
    """The `.status` that another controller has written is now this."""

    at: Instant
    status: SeenStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionsMissed:
    """What another controller did between two statuses that were seen is not known."""

    at: Instant
    attempt: int
    """The attempt whose end was not seen."""
    before: str
    """Phase that was known."""
    after: str
    """Phase of the next status that was seen."""
    failed_before: int
    """Failed attempts that were known before."""
    failed: int
    """Failed attempts by that status."""
