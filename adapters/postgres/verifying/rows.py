"""Checks many event rows quickly: payload, link, version and order.

The hashes are taken over the very bytes that Postgres sends in binary form, which for most columns
are the bytes that the chain covers. Only what is not right here is looked at more closely.
"""

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import UUID

import msgspec
import psycopg
from psycopg import sql
from psycopg.errors import error_from_result

from jobledger.core.log.chain import GENESIS, is_hash_of

COLUMNS = sql.SQL("""
    position, stream_id, version, event_id, schema_version, occurred_at, recorded_at, epoch,
    causation_id, correlation_id, data_sha, chain, type, actor, data::text
""")

_WIDTHS = (15, 8, 16, 4, 16, 2, 8, 8, 8, 16, 16, 32, 32)
"""How many fields a row has, and how many bytes each but the last three."""

_widths = struct.Struct(">h i8x i16x i4x i16x i2x i8x i8x i8x i16x i16x i32x i32x".replace(" ", ""))
_fixed = struct.Struct(
    ">2x 4xq 4x16s 4xi 4x16s 4x2s 4xq 4xq 4x8s 4x16s 4x16s 4x32s 4x32s i".replace(" ", "")
)
"""The fields of a fixed width, each behind its length, and the length of the type."""

_VERSION = slice(38, 42)
"""Where the version stands, which is needed as a number and as bytes."""

_TYPE = _fixed.size - 4
"""Where the length of the type stands, before the type."""

_TRAILER = 2
"""Bytes of the last block of a COPY."""

_TO_1970 = 946_684_800_000_000
"""Microseconds from 1970 to 2000, where Postgres begins to count."""

_NUMBER = struct.Struct(">i").unpack_from
_TIMES = struct.Struct(">QQ").pack
_64_BITS = (1 << 64) - 1
_HEADER = 19
"""Bytes before the first row of a COPY in binary form: signature, flags, no extension."""

TELL_EVENTS = 10_000
"""Progress is told after so many events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Which rows: streams from `after` (excluded) to `until` (included), and positions."""

    after: UUID
    until: UUID
    first: int
    last: int


@dataclass(slots=True)
class Suspect:
    """A row that is not right, and its predecessor as far as it is known."""

    stream: UUID
    version: int
    position: int


@dataclass(slots=True)
class Counted:
    """How far a walk has come."""

    events: int = 0
    streams: int = 0
    told: Callable[[int], None] = lambda _: None
    """Is told how many events were read, from time to time."""


def suspects(
    connection: psycopg.Connection[Any], wanted: Range, counted: Counted
) -> Iterator[Suspect]:
    """Yield every row of a range that looks wrong, in the order of streams and versions.

    A stream whose first row in the range is not its first continues from the link of the row
    before.
    """
    query = sql.SQL("""
        COPY (
            SELECT {columns} FROM event
            WHERE stream_id > {after} AND stream_id <= {until}
            AND position BETWEEN {first} AND {last} ORDER BY stream_id, version
        ) TO STDOUT (FORMAT BINARY)
    """).format(
        columns=COLUMNS,
        after=sql.Literal(wanted.after),
        until=sql.Literal(wanted.until),
        first=sql.Literal(wanted.first),
        last=sql.Literal(wanted.last),
    )
    with connection.cursor() as cursor, cursor.copy(query) as copy:
        yield from _walk(copied(connection, copy), counted, wanted.first)


def copied(connection: psycopg.Connection[Any], copy: psycopg.Copy) -> Iterator[bytes]:
    """Yield the rows of a COPY; those that have arrived without psycopg's way of waiting for each.

    Waiting, the end and most errors are psycopg's.
    """
    arrived, before = connection.pgconn.get_copy_data, _HEADER
    for block in copy:
        size = len(block) - before
        while size > _TRAILER:
            yield bytes(block)[before:]
            before = 0
            size, block = arrived(1)  # noqa: PLW2901 the next one
        if size < 0:  # an error: after the last row comes the trailer
            first, *_ = iter(connection.pgconn.get_result, None)
            raise error_from_result(first)


def _walk(rows: Iterable[bytes], counted: Counted, first: int) -> Iterator[Suspect]:
    stream, version, position, previous = b"", 0, 0, GENESIS
    partial = first > 1
    sha256 = hashlib.sha256
    widths, fixed, number_at, times = _widths.unpack_from, _fixed.unpack_from, _NUMBER, _TIMES
    for row in rows:
        counted.events += 1
        if not counted.events % TELL_EVENTS:
            counted.told(counted.events)
        whole = row.ljust(_fixed.size)  # shorter only if hashes are too short
        place, here, number, event_id, schema, occurred, recorded, *rest, length = fixed(whole)
        if here != stream:
            counted.streams += 1
            stream, version, position, previous = here, 0, 0, GENESIS
            if partial and number > 1:  # where it continues is looked up by whoever asks
                version, previous = number - 1, b""
        if widths(whole) != _WIDTHS:
            yield Suspect(UUID(bytes=here), number, place)
            version, position, previous = number, place, b""
            continue
        epoch, cause, correlation, data_sha, chain = rest
        type_end = _fixed.size + length
        actor_end = type_end + 4 + number_at(row, type_end)[0]
        right = number == version + 1 and place > position
        if right and previous:
            envelope = b"".join(
                (
                    previous,
                    here,
                    row[_VERSION],
                    event_id,
                    row[_TYPE:type_end],
                    schema,
                    times((occurred + _TO_1970) & _64_BITS, (recorded + _TO_1970) & _64_BITS),
                    row[type_end:actor_end],
                    epoch,
                    cause,
                    correlation,
                    data_sha,
                )
            )
            right = sha256(envelope).digest() == chain
        if not right or not previous or not _is_payload(row[actor_end + 4 :], data_sha):
            yield Suspect(UUID(bytes=here), number, place)
        version, position, previous = number, place, chain


def _is_payload(data: bytes, digest: bytes) -> bool:
    """Return whether a payload has its hash, as it is or as `jsonb` kept it before schema 0117."""
    if hashlib.sha256(data).digest() == digest:
        return True
    try:
        return is_hash_of(digest, data) and _is_as_jsonb_wrote(data)
    except (ValueError, RecursionError, msgspec.MsgspecError):  # endless nesting, or no JSON
        return False


def _is_as_jsonb_wrote(data: bytes) -> bool:
    """Return whether a text surely is one of `jsonb`: nothing stands twice, all spaces are its own.

    Of some fractions it cannot tell.
    """
    again = msgspec.json.encode(msgspec.json.decode(data))
    return (
        msgspec.json.format(data, indent=0) == data
        and msgspec.json.format(data, indent=-1) == again
    )


def split(streams: Sequence[UUID], parts: int) -> list[tuple[UUID, UUID]]:
    """Return ranges of streams (after, until) that cut a sorted sample into equal parts."""
    edges = [UUID(int=0)]
    edges += [streams[len(streams) * part // parts] for part in range(1, parts) if streams]
    edges.append(UUID(int=(1 << 128) - 1))
    return [(after, until) for after, until in pairwise(edges) if after < until]
