"""Ports of what follows from the log: rows of inline projections, snapshots of folds."""

from collections.abc import Collection, Sequence
from typing import Protocol

from msgspec import Struct

from jobledger.core.jobs.rows import RowChanges
from jobledger.core.log.recording import Tail
from jobledger.core.values.ids import StreamId


class Projections(Protocol):
    """The rows that follow from the log. May raise `LedgerUnavailable`."""

    def replace_rows(self, stream: StreamId, version: int, rows: RowChanges) -> bool:
        """Put `rows` in place of all rows of a stream, if it is still at `version`.

        Tell whether it was.

        A stream that moved on is left alone: fold it again.
        """


class Snapshot(Struct, frozen=True, kw_only=True):
    """A fold as it is stored."""

    stream_id: StreamId
    version: int
    """Version of the last event that is in it."""
    chain: bytes
    """The link of that event."""
    folded_by: bytes
    """Which code folded it."""
    content: bytes
    seal: bytes
    """HMAC-SHA256 of all this under the installation's key."""

    @property
    def tail(self) -> Tail:
        """Return where the stream ended."""
        return Tail(stream_id=self.stream_id, version=self.version, chain=self.chain)


class Snapshots(Protocol):
    """Snapshots of the folds of open jobs, one per stream at most, from which a start goes on.

    Nothing is lost with them: a job without one, or with one that does not fit, is folded from the
    log. Every call may raise `LedgerUnavailable` or `LedgerMisconfigured`; any thread may call.
    """

    def read(self, streams: Collection[StreamId], folded_by: bytes) -> Sequence[Snapshot]:
        """Return the snapshots of these streams that the log bears out, made by the same code.

        One is borne out if its stream has an event of that version with that link.
        """

    def write(self, snapshots: Sequence[Snapshot]) -> None:
        """Put snapshots, of a stream each, in place of their predecessors, all or none."""

    def sweep(self) -> int:
        """Remove the snapshots of jobs in which nothing is left to do; return how many."""
