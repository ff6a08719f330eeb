"""Events: observations of a RayJob that another controller drives.

The other events, and what holds for all: `core.rayjob.events.lifecycle`.
"""

from msgspec import Struct

from jobledger.core.rayjob.observations.observations import SeenStatus
from jobledger.core.values.instants import Instant


class OthersStatusObserved(Struct, frozen=True, kw_only=True):
    """The `.status` that another controller has written is now this."""

    at: Instant
    status: SeenStatus


class TransitionsMissed(Struct, frozen=True, kw_only=True):
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
