"""Encodes events and rows for `append_v1`, and reads JSON.

Events go as one array per column in Postgres' binary form, made here: that is several times cheaper
than the driver's own arrays of Python objects, for both sides. Rows of projections go as JSON.
"""

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import psycopg
from psycopg.pq import Format
from psycopg.types.json import set_json_loads

from jobledger.core.jobs.rows import RowChanges
from jobledger.core.log.envelope import EventRecord
from jobledger.core.ports.event_store import StreamAppend
from jobledger.core.values.documents import read_json
from jobledger.core.values.ids import shard_of

_POSTGRES_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_INT2, _INT4, _INT8, _TEXT, _BYTEA, _TIMESTAMPTZ, _UUID = 21, 23, 20, 25, 17, 1184, 2950
_SIZES = {_INT2: (2, "h"), _INT4: (4, "i"), _INT8: (8, "q"), _TIMESTAMPTZ: (8, "q")}
_ARRAY_OF = {21: 1005, 23: 1007, 20: 1016, 25: 1009, 17: 1001, 1184: 1185, 2950: 2951}
"""Object ids of types and of their arrays. Source: Postgres, src/include/catalog/pg_type.dat."""

_length: Callable[[int], bytes] = struct.Struct(">i").pack


class Argument(NamedTuple):
    """An argument of a statement as it goes over the wire."""

    oid: int
    """Its type's object id; 0: the server finds it."""
    packed: bytes | None
    format: Format


def register(connection: psycopg.Connection[Any]) -> None:
    """Teach a connection to read JSON at a fraction of what the driver's own way costs."""
    set_json_loads(read_json, connection)


def append_arguments(batch: Sequence[StreamAppend]) -> tuple[Argument, ...]:
    """Return the arguments of `append_v1`, in its order.

    Raises `ValueError` for parts that are no parts.
    """
    _require(len({part.stream_id for part in batch}) == len(batch), "a stream occurs twice")
    events: list[EventRecord] = []
    numbers: list[int] = []
    for number, part in enumerate(batch, start=1):
        _require(bool(part.events), "a part has no events")
        _require(part.rows.job.shard == shard_of(part.stream_id), "a row is of another shard")
        first = part.events[0]
        envelopes = {(record.stream_id.int, record.epoch, record.actor) for record in part.events}
        _require(
            envelopes == {(part.stream_id.int, first.epoch, first.actor)},
            "a part has events of another stream, of two epochs or of two actors",
        )
        events.extend(part.events)
        numbers.extend([number] * len(part.events))
    return (
        _uuids([part.stream_id for part in batch]),
        _numbers(_INT4, [part.expected_version for part in batch]),
        _numbers(_INT8, [part.events[0].epoch for part in batch]),
        _numbers(_INT4, [len(part.events) for part in batch]),
        _numbers(_INT4, numbers),
        _uuids([record.event_id for record in events]),
        _texts([record.type for record in events]),
        _numbers(_INT2, [record.schema_version for record in events]),
        _instants([record.occurred_at for record in events]),
        _instants([record.recorded_at for record in events]),
        _texts([record.actor for record in events]),
        _uuids([record.causation_id for record in events]),
        _uuids([record.correlation_id for record in events]),
        _lengthy(_TEXT, [record.payload for record in events]),
        _lengthy(_BYTEA, [record.data_sha for record in events]),
        _lengthy(_BYTEA, [record.chain for record in events]),
        *(
            Argument(0, rows if rows is None else rows.encode(), Format.TEXT)
            for rows in row_arguments([part.rows for part in batch])
        ),
    )


def row_arguments(changes: Sequence[RowChanges]) -> tuple[str | None, ...]:
    """Return rows as the JSON arguments of `append_v1` and `rebuild_stream_v1`."""
    return (
        _rows([change.job for change in changes]),
        _rows([row for change in changes for row in change.attempts]),
        _rows([row for change in changes for row in change.decisions]),
        _rows([row for change in changes for row in change.effects]),
    )


def _require(holds: bool, otherwise: str) -> None:  # noqa: FBT001  # reads as an assertion
    if not holds:
        raise ValueError(f"this batch cannot be appended: {otherwise}")


def _rows(rows: Sequence[object]) -> str | None:
    return msgspec.json.encode(rows).decode() if rows else None


def _array(element: int, size: int, elements: bytes) -> Argument:
    """Return a one-dimensional array in Postgres' binary form."""
    if size:
        packed = struct.pack(">iiIii", 1, 0, element, size, 1) + elements
    else:
        packed = struct.pack(">iiI", 0, 0, element)
    return Argument(_ARRAY_OF[element], packed, Format.BINARY)


def _numbers(element: int, values: Sequence[int]) -> Argument:
    size, code = _SIZES[element]
    alternating: list[int] = [size] * (2 * len(values))
    alternating[1::2] = values
    packed = struct.pack(">" + f"i{code}" * len(values), *alternating)
    return _array(element, len(values), packed)


def _instants(values: Sequence[datetime]) -> Argument:
    since = [(value - _POSTGRES_EPOCH) // _MICROSECOND for value in values]
    return _numbers(_TIMESTAMPTZ, since)


def _uuids(values: Sequence[UUID]) -> Argument:
    packed = [b"\x00\x00\x00\x10" + value.int.to_bytes(16) for value in values]
    return _array(_UUID, len(packed), b"".join(packed))


def _texts(values: Sequence[str]) -> Argument:
    return _lengthy(_TEXT, [value.encode() for value in values])


def _lengthy(element: int, values: Sequence[bytes]) -> Argument:
    return _array(element, len(values), b"".join([_length(len(one)) + one for one in values]))
