"""The port `core.ports.event_store` over `append_v1` and the table `event`."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ARRAY, Engine, Integer, Select, Uuid, and_, column, func, literal, text

from jobledger.adapters.postgres.connection.codec import append_arguments
from jobledger.adapters.postgres.connection.errors import ledger_errors
from jobledger.adapters.postgres.connection.statements import end_of_log
from jobledger.adapters.postgres.log.partitions import Partitions
from jobledger.adapters.postgres.log.prepared_append import append
from jobledger.adapters.postgres.schema.stored_events import EVENTS, events_of, is_of, stored_events
from jobledger.adapters.postgres.schema.tables import event
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.log.recording import Tail
from jobledger.core.ports.event_store import AppendOutcome, AppendResult, StreamAppend
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

_FOUND = text(
    "SELECT count(*) FROM unnest(CAST(:streams AS uuid[]), CAST(:versions AS integer[]),"
    " CAST(:links AS bytea[])) AS asked (stream, number, link)"
    " CROSS JOIN LATERAL (SELECT FROM event"
    " WHERE stream_id = stream AND version = number AND chain = link LIMIT 1) AS found"
)
"""How many events are there as they are asked for; the limit has each looked up by its key."""


class PostgresEventStore:
    """The event log. An append is one statement, which is its own transaction.

    A lost connection raises `LedgerUnavailable` even where the commit took place: nobody here can
    tell. The caller appends the same events again and gets `duplicate` if it did.
    """

    def __init__(self, engine: Engine, now: Callable[[], Instant]) -> None:
        self._engine = engine
        self._now = now
        self.partitions = Partitions(engine)

    def append(self, batch: Sequence[StreamAppend]) -> Sequence[AppendResult]:
        """See `core.ports.event_store.EventStore.append`."""
        if not batch:
            return ()
        self.partitions.ensure_for(
            (part.stream_id for part in batch if part.expected_version == 0), self._now()
        )
        arguments = append_arguments(batch)
        with ledger_errors(self._engine.url):
            rows = append(self._engine, arguments)
        return [
            AppendResult(
                stream_id=part.stream_id,
                outcome=AppendOutcome(outcome),
                version=version,
                chain=chain,
            )
            for part, (outcome, version, chain) in zip(batch, rows, strict=True)
        ]

    def read_stream(self, stream: StreamId, after_version: int = 0) -> Sequence[StoredEvent]:
        """See `core.ports.event_store.EventStore.read_stream`."""
        return self._events(
            EVENTS.where(event.c.stream_id == stream, event.c.version > after_version).order_by(
                event.c.version
            )
        )

    def read_streams(self, streams: Sequence[StreamId]) -> Mapping[StreamId, Sequence[StoredEvent]]:
        """See `core.ports.event_store.EventStore.read_streams`."""
        return self._of_streams(streams, EVENTS.where(is_of(event, streams)))

    def read_rest(
        self, versions: Mapping[StreamId, int]
    ) -> Mapping[StreamId, Sequence[StoredEvent]]:
        """See `core.ports.event_store.EventStore.read_rest`."""
        known = func.unnest(
            literal(list(versions), ARRAY(Uuid)), literal(list(versions.values()), ARRAY(Integer))
        ).table_valued(column("stream_id", Uuid), column("version", Integer))
        known = known.render_derived("known")
        is_after = and_(event.c.stream_id == known.c.stream_id, event.c.version > known.c.version)
        return self._of_streams(versions, EVENTS.select_from(event.join(known, is_after)))

    def _of_streams(
        self, streams: Collection[StreamId], query: Select[Any]
    ) -> Mapping[StreamId, Sequence[StoredEvent]]:
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            return events_of(connection, streams, query)

    def read_after(self, position: int, limit: int) -> Sequence[StoredEvent]:
        """See `core.ports.event_store.EventStore.read_after`."""
        return self._events(
            EVENTS.where(event.c.position > position).order_by(event.c.position).limit(limit)
        )

    def has(self, ends: Sequence[Tail]) -> bool:
        """See `core.ports.event_store.EventStore.has`."""
        told = {
            "streams": [end.stream_id for end in ends],
            "versions": [end.version for end in ends],
            "links": [end.chain for end in ends],
        }
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            found: int = connection.execute(_FOUND, told).scalar_one()
        return found == len(ends)

    def last_position(self) -> int:
        """See `core.ports.event_store.EventStore.last_position`."""
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            return end_of_log(connection)

    def _events(self, query: Select[Any]) -> Sequence[StoredEvent]:
        with ledger_errors(self._engine.url), self._engine.connect() as connection:
            return stored_events(connection, query)
