"""The collaborators of a turn: who may write, and who receives what follows."""

from typing import Protocol

from jobledger.adapters.service.work.prepared import Prepared
from jobledger.adapters.service.work.slots import Slot
from jobledger.core.values.ids import StreamId


class Epochs(Protocol):
    """Which shards this process may write for."""

    def epoch(self, shard: int) -> int | None:
        """Return the epoch under which a shard is held, or None."""

    def lost(self, shard: int) -> None:
        """Take note that a shard has passed to another."""

    def is_known(self) -> bool:
        """Return whether it was found out yet which shards are held."""


class Follower(Protocol):
    """Passes on what follows from what was appended."""

    def after_append(self, prepared: Prepared) -> None:
        """Pass on what follows from the events that were just appended."""

    def resume(self, slot: Slot) -> None:
        """Pass on what a job waits for, after it was read from the log."""

    def retired(self, stream: StreamId) -> None:
        """Take note that nothing is left to do in a job."""
