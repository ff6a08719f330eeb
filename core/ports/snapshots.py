"""Port: snapshots of the folds of open jobs, from which a start goes on.

Nothing is lost with them: a job without one, or with one that does not fit, is folded from the log.
Every call may raise `LedgerUnavailable` or `LedgerMisconfigured`.
"""

from collections.abc import Collection, Sequence
from typing import Protocol

from jobledger.core.projections.snapshot import Snapshot
from jobledger.core.values.ids import StreamId


class Snapshots(Protocol):
    """One snapshot per stream at most. Safe to call from many threads."""

    def read(self, streams: Collection[StreamId], folded_by: bytes) -> Sequence[Snapshot]:
        """Return the snapshots of these streams that the log bears out, made by the same code.

        One is borne out if its stream has an event of that version with that link.
        """
        ...

    def write(self, snapshots: Sequence[Snapshot]) -> None:
        """Put snapshots, of a stream each, in place of their predecessors, all or none."""
        ...

    def sweep(self) -> int:
        """Remove the snapshots of jobs in which nothing is left to do; return how many."""
        ...
