"""The envelope of a stored event: actor, times, cause, type and payload."""

from uuid import UUID

from msgspec import Struct

from jobledger.core.values.documents import Manifest, read_object
from jobledger.core.values.ids import EventId, StreamId
from jobledger.core.values.instants import Instant


class EventRecord(Struct, frozen=True, kw_only=True):
    """One event with its envelope; everything but its place in the whole log."""

    stream_id: StreamId
    version: int
    """Its place in the stream, from 1, without gaps."""
    event_id: EventId
    type: str
    """A stable name from `core.catalogue`, never a Python path."""
    schema_version: int
    occurred_at: Instant
    """When it was true in the world (microseconds)."""
    recorded_at: Instant
    """When the controller wrote it down, by its own clock (microseconds)."""
    actor: str
    """Which process wrote it."""
    epoch: int
    """Under which lease on the stream's shard it was written."""
    causation_id: UUID
    """The observation it was decided on."""
    correlation_id: UUID
    """The effect or decision it belongs to; the stream where there is none."""
    payload: bytes
    """What the event holds, redacted, as JSON; canonical, but where Postgres kept it as `jsonb`."""
    data_sha: bytes
    """SHA-256 of the canonical payload."""
    chain: bytes
    """SHA-256 over the previous link of the stream, this envelope and `data_sha`."""

    @property
    def data(self) -> Manifest:
        """The payload, read anew each time. Raises `ValueError` if it is no JSON object."""
        return read_object(self.payload)


class StoredEvent(Struct, frozen=True, kw_only=True):
    """An event and its place in the whole log."""

    position: int
    """From 1, in commit order, without gaps."""
    record: EventRecord
