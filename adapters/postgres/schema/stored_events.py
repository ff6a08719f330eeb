"""Reads events out of the table `event`.

A log is read by the hundred thousand, so the payload is asked for as text, which is decoded by
whoever needs it.
"""

from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Select,
    Table,
    Text,
    Uuid,
    any_,
    cast,
    literal,
    select,
)

from jobledger.adapters.postgres.connection.statements import driver_rows
from jobledger.adapters.postgres.schema.tables import event
from jobledger.core.log.envelope import EventRecord, StoredEvent
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import Instant

_PAYLOAD = cast(event.c.data, Text).label("data")

EVENTS: Select[Any] = select(*(_PAYLOAD if column.name == "data" else column for column in event.c))
"""All events. What narrows it down and orders it is added to it."""

_NO_TEXT = r"\\u(0000|d[89a-f])"
_WITHOUT_PAIRS = (
    r"regexp_replace(CAST(data AS text), '\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..', '', 'g')"
)
"""The payload without escaped backslashes, which may stand before a `u`, and whole surrogates."""

IS_READ = f"(CAST(data AS text) !~* '{_NO_TEXT}' OR {_WITHOUT_PAIRS} !~* '{_NO_TEXT}')"
"""Whether Postgres takes `->` and `->>` of a payload: of a NUL or a lone surrogate it does not.

A payload may be none that was written, which `verify` names: it must not end what else is asked.
"""

StoredPayload: TypeAlias = tuple[str, int, bytes, Instant]
"""What `core.catalogue.event_of` makes an event of: type, schema version, payload, instant."""

_PAYLOADS = select(
    event.c.stream_id, event.c.type, event.c.schema_version, event.c.occurred_at, _PAYLOAD
)
"""What a fold needs of events: a third of the cost of whole rows."""


def stored_events(connection: Connection, query: Select[Any]) -> list[StoredEvent]:
    """Return the events that a query made from `EVENTS` finds. Raises as the driver does."""
    return [stored_event(row) for row in driver_rows(connection, query)]


def events_of(
    connection: Connection, streams: Collection[StreamId], query: Select[Any]
) -> dict[StreamId, list[StoredEvent]]:
    """Return the events of some streams that a query made from `EVENTS` finds, each in order.

    A stream of which there are none has an empty list.
    """
    found: dict[StreamId, list[StoredEvent]] = {stream: [] for stream in streams}
    if found:
        ordered = query.order_by(event.c.stream_id, event.c.version)
        for stored in stored_events(connection, ordered):
            found[stored.record.stream_id].append(stored)
    return found


def payloads_of(
    connection: Connection, streams: Collection[StreamId]
) -> dict[StreamId, list[StoredPayload]]:
    """Return what a fold needs of the events of some streams, each stream's in order."""
    found: dict[StreamId, list[StoredPayload]] = {stream: [] for stream in streams}
    ordered = _PAYLOADS.where(is_of(event, streams)).order_by(event.c.stream_id, event.c.version)
    for stream, kind, schema_version, occurred_at, data in driver_rows(connection, ordered):
        found[stream].append((kind, schema_version, data.encode(), occurred_at))
    return found


def is_of(table: Table, streams: Collection[StreamId]) -> ColumnElement[bool]:
    """Return the condition that a row belongs to one of some streams."""
    return table.c.stream_id == any_(literal(list(streams), ARRAY(Uuid)))


def stored_event(row: Sequence[Any]) -> StoredEvent:
    """Return a row of `EVENTS` as the core knows it."""
    position, stream, version, event_id, kind, schema_version, *rest = row
    occurred_at, recorded_at, actor, epoch, cause, correlation, data, data_sha, chain = rest
    return StoredEvent(
        position=position,
        record=EventRecord(
            stream_id=stream,
            version=version,
            event_id=event_id,
            type=kind,
            schema_version=schema_version,
            occurred_at=occurred_at,
            recorded_at=recorded_at,
            actor=actor,
            epoch=epoch,
            causation_id=cause,
            correlation_id=correlation,
            payload=data.encode(),
            data_sha=data_sha,
            chain=chain,
        ),
    )
