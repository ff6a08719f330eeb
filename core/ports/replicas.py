"""Port: the live replicas of the service, known by their heartbeats."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from jobledger.core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One run of one process, as it last told of itself. Instants are of the database's clock."""

    owner: str
    """The name under which it holds leases: `<replica>/<run>`."""
    since: Instant
    """When it was first heard of."""
    until: Instant
    """When it counts as gone, unless it is heard of again."""
    heard_at: Instant | None
    """When it last heard the API server; None: never yet, it is still starting."""
    well_since: Instant | None
    """Since when it had heard the API server at every heartbeat, up to `heard_at`."""
    shards: int
    """How many shards it holds."""


class Replicas(Protocol):
    """The list of replicas. May raise `LedgerUnavailable`."""

    def beat(self, owner: str, duration: timedelta, *, hears: bool) -> Sequence[Replica]:
        """Say that `owner` is there, and for how long that is worth; return all who are.

        `hears` tells whether it hears the API server now. Those who are not gone are returned by
        name, `owner` among them.
        """

    def leave(self, owner: str) -> None:
        """Take `owner` off the list at once."""

    def current(self) -> Sequence[Replica]:
        """Return all who are not gone, by name."""
