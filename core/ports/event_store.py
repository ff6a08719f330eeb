"""Port: the event log (append, read one stream, read all streams in order).

Every call may raise `LedgerUnavailable` (try again later) or `LedgerMisconfigured` (somebody must
act).
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from jobledger.core.jobs.rows import RowChanges
from jobledger.core.log.envelope import EventRecord, StoredEvent
from jobledger.core.log.recording import Tail
from jobledger.core.values.ids import StreamId


class StreamAppend(Struct, frozen=True, kw_only=True):
    """The next events of one stream and the rows that follow from them."""

    stream_id: StreamId
    expected_version: int
    """Version of the stream before; 0 for a new one."""
    events: tuple[EventRecord, ...]
    rows: RowChanges


class AppendOutcome(StrEnum):
    """What became of one stream's part of a batch. The parts do not depend on each other."""

    APPENDED = "appended"
    DUPLICATE = "duplicate"
    """Events of exactly these ids are there already.

    An acknowledgement was lost, if the last link is the writer's: treat as appended. If not,
    another that held the shard in between has written the same: treat as a conflict.
    """
    CONFLICT = "conflict"
    """The stream is elsewhere: read it again and decide anew."""
    FENCED = "fenced"
    """The shard is not held by the events' actor under their epoch: stop writing for this shard.

    Judged before everything else: a fenced writer does not learn whether its events are there.
    """


class AppendResult(Struct, frozen=True, kw_only=True):
    """The answer for one stream."""

    stream_id: StreamId
    outcome: AppendOutcome
    version: int
    """Version of the stream now."""
    chain: bytes
    """Its last link now."""


class EventStore(Protocol):
    """An append-only log of streams. Safe to call from many threads."""

    def append(self, batch: Sequence[StreamAppend]) -> Sequence[AppendResult]:
        """Append to several streams in one transaction; one result per part, in order.

        A part is refused by itself (conflict, fenced); the others still go in. Epoch, actor and
        shard are those in the part's events. Raises `BrokenChain` if a part does not continue its
        chain (nothing is written then).
        """

    def read_stream(self, stream: StreamId, after_version: int = 0) -> Sequence[StoredEvent]:
        """Return a stream's events after a version, in order; none for an unknown stream."""

    def read_streams(self, streams: Sequence[StreamId]) -> Mapping[StreamId, Sequence[StoredEvent]]:
        """Return whole streams; an unknown one maps to nothing."""

    def read_rest(
        self, versions: Mapping[StreamId, int]
    ) -> Mapping[StreamId, Sequence[StoredEvent]]:
        """Return the events of streams after a version of each; none map to nothing."""

    def read_after(self, position: int, limit: int) -> Sequence[StoredEvent]:
        """Return the next events of the whole log after a position, in commit order.

        An event is never skipped.
        """

    def has(self, ends: Sequence[Tail]) -> bool:
        """Return whether each of these events is there, with this link; of none: it is."""

    def last_position(self) -> int:
        """Return the position of the last event; 0 for an empty log."""
