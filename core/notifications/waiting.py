"""What is asked of the place where notices wait until their targets have taken them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from jobledger.core.notifications.messages import Notice
from jobledger.core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A notice that is to be sent now, by whoever took it."""

    notice: Notice
    tries: int
    """The number of this try, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits for one target."""

    target: str
    waiting: int
    dead: int
    oldest: Instant | None
    """When the oldest that is not dead was put there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """A notice that was given up."""

    notice: Notice
    position: int
    made_at: Instant
    given_up_at: Instant
    tries: int
    trouble: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationLag:
    """How far notifications are behind the log."""

    last_position: int
    position: int | None
    """None: nobody is told yet."""
    seconds: float
    """How long the oldest event that was not looked at has been waiting."""

    @property
    def events(self) -> int:
        """Return how many events were not looked at."""
        return max(0, self.last_position - self.position) if self.position is not None else 0


class Notices(Protocol):
    """The notices of one ledger. All may raise `LedgerUnavailable`."""

    def lag(self) -> NotificationLag:
        """Return how far the log was read."""

    def put(self, expected: int | None, upto: int, notices: Sequence[Notice]) -> bool:
        """Move the cursor on from `expected`, with what is to be told of the events in between.

        Both or neither; False if it was not there, or the log ends before `upto`.
        """

    def take(self, target: str, most: int, lease: timedelta) -> Sequence[Taken]:
        """Return notices that are due, which nobody else is given for as long as `lease`."""

    def delivered(self, one: Taken) -> None:
        """Note that its target has taken a notice; it goes."""

    def not_taken(self, one: Taken, trouble: str, again_in: timedelta | None) -> None:
        """Note why a notice was not taken, and when it is tried again; None: it is given up."""

    def waiting(self) -> Sequence[Waiting]:
        """Return what waits, or is dead, of each target that has any."""
