"""Checks many event rows quickly: payload, link, version and order.

The hashes are taken over the very bytes that Postgres sends in binary form, which for most columns
are the bytes that the chain covers. Only what is not right here is looked at more closely.
"""

import hashlib
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

from jobledger.core.log.chain import GENESIS, is_hash_of

COLUMNS = sql.SQL("""
    position, stream_id, version, event_id, schema_version, occurred_at, recorded_at, epoch,
    causation_id, correlation_id, data_sha, chain, type, actor, data::text
""")

_FIXED = struct.Struct(">h i8s i16s i4s i16s i2s iq iq i8s i16s i16s i32s i32s".replace(" ", ""))
_LENGTHS = (8, 16, 4, 16, 2, 8, 8, 8, 16, 16, 32, 32)
_FIELDS = 15
_TRAILER = 2
"""Bytes of the last block of a COPY."""

_TO_1970 = 946_684_800_000_000
"""Microseconds from 1970 to 2000, where Postgres begins to count."""

_NUMBER = struct.Struct(">i").unpack_from
_PLACE = struct.Struct(">q").unpack_from
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
        yield from _walk(copy, counted, wanted.first)


def _walk(copy: psycopg.Copy, counted: Counted, first: int) -> Iterator[Suspect]:
    stream, version, position, previous = b"", 0, 0, GENESIS
    partial = first > 1
    sha256 = hashlib.sha256
    unpack, times = _FIXED.unpack_from, _TIMES
    number_of, place_of = _NUMBER, _PLACE
    is_first = True
    for block in copy:
        row = bytes(block)
        if is_first:
            row, is_first = row[_HEADER:], False
        if len(row) <= _TRAILER:
            continue
        counted.events += 1
        if not counted.events % TELL_EVENTS:
            counted.told(counted.events)
        found = unpack(row.ljust(_FIXED.size))  # shorter only if hashes are too short
        here, number, place = found[4], number_of(found[6])[0], place_of(found[2])[0]
        if here != stream:
            counted.streams += 1
            stream, version, position, previous = here, 0, 0, GENESIS
            if partial and number > 1:  # where it continues is looked up by whoever asks
                version, previous = number - 1, b""
        if found[1::2][: len(_LENGTHS)] != _LENGTHS or found[0] != _FIELDS:
            yield Suspect(UUID(bytes=here), number, place)
            version, position, previous = number, place, b""
            continue
        at = _FIXED.size
        type_end = at + 4 + number_of(row, at)[0]
        actor_end = type_end + 4 + number_of(row, type_end)[0]
        data = row[actor_end + 4 :]
        chain = found[24]
        right = number == version + 1 and place > position
        if right and previous:
            envelope = b"".join(
                (
                    previous,
                    here,
                    found[6],
                    found[8],
                    row[at:type_end],
                    found[10],
                    times((found[12] + _TO_1970) & _64_BITS, (found[14] + _TO_1970) & _64_BITS),
                    row[type_end:actor_end],
                    found[16],
                    found[18],
                    found[20],
                    found[22],
                )
            )
            right = sha256(envelope).digest() == chain
        if not right or not previous or not _is_payload(data, found[22]):
            yield Suspect(UUID(bytes=here), number, place)
        version, position, previous = number, place, chain


def _is_payload(data: bytes, digest: bytes) -> bool:
    """Return whether a payload, in its canonical text or once kept as `jsonb`, has its hash."""
    try:
        return is_hash_of(digest, data)
    except (ValueError, RecursionError):  # endless nesting, or no JSON
        return False


def split(streams: Sequence[UUID], parts: int) -> list[tuple[UUID, UUID]]:
    """Return ranges of streams (after, until) that cut a sorted sample into equal parts."""
    edges = [UUID(int=0)]
    edges += [streams[len(streams) * part // parts] for part in range(1, parts) if streams]
    edges.append(UUID(int=(1 << 128) - 1))
    return [(after, until) for after, until in pairwise(edges) if after < until]
