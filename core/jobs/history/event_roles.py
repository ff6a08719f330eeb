"""The roles that events play in the life of any job, so that readers need not know the kinds.

What a kind of job calls `AttemptStarted` or `TrainAttemptStarted` has the role `attempt_started`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Protocol

from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant


class HappenedEvent(Protocol):
    """An event, of which nothing else is known."""

    @property
    def at(self) -> Instant:
        """Return when it was true."""


class ManifestEvent(HappenedEvent, Protocol):
    """The user's object, as it came."""

    @property
    def document(self) -> Manifest:
        """Return `spec`, `labels` and `annotations`, redacted."""


class RejectedEvent(HappenedEvent, Protocol):
    """The user's object cannot be used."""

    @property
    def message(self) -> str:
        """Return why, in words."""


class AttemptEvent(HappenedEvent, Protocol):
    """Something about an attempt."""

    @property
    def attempt(self) -> int:
        """Return its number, from 1."""


class EndEvent(HappenedEvent, Protocol):
    """Why something ended."""

    @property
    def reason(self) -> str:
        """Return it in upstream's one word."""

    @property
    def message(self) -> str:
        """Return it in upstream's words."""


class BuildFailedEvent(HappenedEvent, Protocol):
    """What the job is to run as cannot be built."""

    @property
    def may_pass(self) -> bool:
        """Return whether it may do so later by itself."""


class AttemptEndEvent(AttemptEvent, EndEvent, Protocol):
    """Why an attempt ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRoles:
    """The events of one kind of job, or of all of them, by the role that they play."""

    adopted: tuple[type[HappenedEvent], ...]
    """The job was first seen with a status that another controller had written."""
    manifest_received: tuple[type[ManifestEvent], ...]
    manifest_rejected: tuple[type[RejectedEvent], ...] = ()
    manifest_accepted: tuple[type[HappenedEvent], ...] = ()
    attempt_started: tuple[type[AttemptEvent], ...]
    attempt_ran: tuple[type[AttemptEvent], ...]
    """From here on its program runs, or may."""
    attempt_ended: tuple[type[AttemptEndEvent], ...]
    """It failed, was lost or was suspended."""
    attempt_failed: tuple[type[AttemptEvent], ...] = ()
    """It failed, where a kind tells that by an event of its own."""
    attempt_suspended: tuple[type[AttemptEvent], ...] = ()
    """The same for a suspension."""
    transitions_missed: tuple[type[HappenedEvent], ...] = ()
    """Another controller went on faster than was seen."""
    status_check_failed: tuple[type[HappenedEvent], ...] = ()
    """The program could not be asked how it is."""
    built: tuple[type[HappenedEvent], ...] = ()
    """What the job is to run as could be built, whatever became of it then."""
    build_failed: tuple[type[BuildFailedEvent], ...] = ()
    completed: tuple[type[EndEvent], ...]
    failed: tuple[type[EndEvent], ...]
    deleted: tuple[type[HappenedEvent], ...]


def merged(several: Iterable[EventRoles]) -> EventRoles:
    """Return the roles of the events of several kinds."""
    kinds = tuple(several)
    return EventRoles(
        **{
            role.name: tuple(cls for kind in kinds for cls in getattr(kind, role.name))
            for role in fields(EventRoles)
        }
    )
