"""Port: leases on shards, with epochs that fence former holders off."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from jobledger.core.values.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to write for one shard."""

    shard: int
    epoch: int
    """Grows with every change of hands, and is checked inside append together with the owner.

    Alone it would not do: a ledger that was set back may give the same epoch once more.
    """
    owner: str
    """One run of one process; the actor of what it appends."""
    until: Instant
    """By the database's clock."""


class Leases(Protocol):
    """The table of leases. May raise `LedgerUnavailable`."""

    def acquire(self, owner: str, duration: timedelta, wanted: int) -> Mapping[int, Lease]:
        """Renew what `owner` holds and take free or expired shards until it holds `wanted`.

        Returns all it holds, also what is beyond `wanted`.

        Taking a shard raises its epoch; renewing does not. An owner is one run of one process.
        """

    def release(self, owner: str, shards: Collection[int] | None = None) -> None:
        """Give up what `owner` holds of these shards, at once free for others; None: of all."""

    def current(self) -> Mapping[int, Lease]:
        """Return all leases that were ever given, expired ones included."""
