"""A seal: a digest of the whole log at one instant, in a document that can be kept elsewhere.

A seal covers the events of a range of positions. It holds a digest of all of them, a fingerprint of
each (so that the first one that differs can be named), where each stream stood that they belong to,
and the digest of the seal before. What a stream's own chain cannot show, a seal does: events of
different streams that swapped places, a job removed with every trace of it, a stream whose links
were all computed anew.

The set of all streams with their ends, as of a seal, is the last word on each stream in the seals
up to it: as every seal holds the digest of the one before, the newest vouches for all of it.
"""

import base64
import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.foreign import NOT_ONE_OF_OURS, NotOneOfOurs, said
from jobledger.core.forensics.required import instant, whole
from jobledger.core.log.chain import canonical
from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.core.values.instants import Instant

ROW_BYTES = 60
"""A sealed row: position (8), stream (16), version (4), link (32); numbers are big-endian."""

MARK_BYTES = 8
"""A fingerprint: so many bytes of the SHA-256 of a sealed row."""

EVENTS_MAX = 100_000
"""Events per seal; a longer range becomes several seals."""

FORMAT = "jobledger seal 1"
"""Part of every seal, so that nothing else that is signed can pass for one."""

NOT_AS_WRITTEN = "its text is not the one that was written: it says more, or the same otherwise"
"""The digest covers what is read of a document; another reader may read something else in it."""

FIRST = bytes(32)
"""What stands in the first seal for the digest of the one before."""

_ROW = struct.Struct(">q16si32s")


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedRow:
    """What a seal covers of one event: its place, and the link that covers all the rest."""

    position: int
    stream: UUID
    version: int
    chain: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnd:
    """Where a stream stood when a range of positions was sealed."""

    stream: UUID
    version: int
    chain: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """Who vouches for a seal."""

    algorithm: str
    """ed25519."""
    key: str
    """Fingerprint of the public key: 16 hexadecimal digits."""
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """One seal. `digest` covers everything but the signature; the signature is of the digest."""

    number: int
    """From 1, without gaps."""
    first: int
    """First position that it covers."""
    last: int
    """Last position that it covers."""
    sealed_at: Instant
    previous: bytes
    """Digest of the seal before; `FIRST` in the first."""
    events: bytes
    """SHA-256 of all sealed rows in the order of positions."""
    marks: bytes
    """A fingerprint of each row, in that order."""
    streams: tuple[StreamEnd, ...]
    """Where each stream of the range stood at its end, sorted."""
    archive: tuple[int, bytes] | None = None
    """Number and digest of the newest archive record; None while there is none."""
    signature: Signature | None = None

    @property
    def body(self) -> Manifest:
        """Return what the digest covers, as JSON."""
        archive: Manifest = {}
        if self.archive is not None:  # seals from before the first archive are as they ever were
            archive = {"archive": [self.archive[0], self.archive[1].hex()]}
        return {
            "format": FORMAT,
            "number": self.number,
            "first": self.first,
            "last": self.last,
            "sealed_at": self.sealed_at.isoformat(),
            "previous": self.previous.hex(),
            "events": self.events.hex(),
            "marks": base64.b64encode(self.marks).decode(),
            "streams": [[str(end.stream), end.version, end.chain.hex()] for end in self.streams],
            **archive,
        }

    @property
    def digest(self) -> bytes:
        """Return the SHA-256 that the next seal holds and the signature is of."""
        return hashlib.sha256(canonical(self.body)).digest()

    def holds(self, rows: bytes) -> bool:
        """Return whether these packed rows are exactly those that were sealed."""
        return hashlib.sha256(rows).digest() == self.events


def pack(row: SealedRow) -> bytes:
    """Return an event as it is sealed."""
    return _ROW.pack(row.position, row.stream.bytes, row.version, row.chain)


def unpack(rows: bytes) -> Iterator[SealedRow]:
    """Yield the events of a run of sealed rows."""
    for position, stream, version, chain in _ROW.iter_unpack(rows):
        yield SealedRow(position=position, stream=UUID(bytes=stream), version=version, chain=chain)


def marks(rows: bytes) -> bytes:
    """Return the fingerprint of each of a run of sealed rows."""
    view = memoryview(rows)
    return b"".join(
        hashlib.sha256(view[at : at + ROW_BYTES]).digest()[:MARK_BYTES]
        for at in range(0, len(rows), ROW_BYTES)
    )


def make(before: Seal | None, rows: bytes, sealed_at: Instant) -> Seal:
    """Return the seal that covers `rows`, which continue what `before` covers; not signed yet.

    Raises `BrokenChain` if there are none, or if they do not follow on without a gap.
    """
    first = 1 if before is None else before.last + 1
    ends: dict[UUID, StreamEnd] = {}
    expected = first
    for row in unpack(rows):
        if row.position != expected:
            raise BrokenChain("the log", f"position {row.position} is where {expected} should be")
        ends[row.stream] = StreamEnd(stream=row.stream, version=row.version, chain=row.chain)
        expected += 1
    if expected == first:
        raise BrokenChain("the log", f"there is nothing to seal from position {first} on")
    return Seal(
        number=1 if before is None else before.number + 1,
        first=first,
        last=expected - 1,
        sealed_at=sealed_at,
        previous=FIRST if before is None else before.digest,
        events=hashlib.sha256(rows).digest(),
        marks=marks(rows),
        streams=tuple(ends[stream] for stream in sorted(ends)),
    )


def document(seal: Seal) -> Manifest:
    """Return a seal as it is kept: what it covers, its digest, its signature."""
    signed = signature_document(seal.signature)
    return {"seal": seal.body, "digest": seal.digest.hex(), "signature": signed}


def signature_document(signature: Signature | None) -> Json:
    """Return a signature as it is kept; nothing for none."""
    if signature is None:
        return None
    return {
        "algorithm": signature.algorithm,
        "key": signature.key,
        "value": signature.value.hex(),
    }


def written(seal: Seal) -> str:
    """Return the text of a seal: one line of JSON."""
    return canonical(document(seal)).decode() + "\n"


def read(text_of_it: str, where: str = "a seal") -> Seal:
    """Return the seal that a text holds; raise `BrokenChain` if it holds none, or a changed one."""
    try:
        kept: Json = json.loads(text_of_it)
        seal = _read(kept)
        is_whole = seal.digest.hex() == text(kept, "digest")
    except NOT_ONE_OF_OURS as error:
        raise BrokenChain(where, f"it cannot be read ({said(error)})") from error
    if not is_whole:
        raise BrokenChain(f"seal {seal.number}", "it does not have the digest that it names")
    if text_of_it.rstrip() != written(seal).rstrip():
        raise BrokenChain(f"seal {seal.number}", NOT_AS_WRITTEN)
    return seal


def _read(kept: Json) -> Seal:
    body = child(kept, "seal")
    if text(body, "format") != FORMAT:
        raise NotOneOfOurs(f"the format is {text(body, 'format')!r} and not {FORMAT!r}")
    return Seal(
        number=whole(body, "number"),
        first=whole(body, "first"),
        last=whole(body, "last"),
        sealed_at=instant(body, "sealed_at"),
        previous=bytes.fromhex(text(body, "previous")),
        events=bytes.fromhex(text(body, "events")),
        marks=base64.b64decode(text(body, "marks"), validate=True),
        streams=tuple(_end(item) for item in items(body, "streams")),
        archive=_archive(body),
        signature=read_signature(child(kept, "signature")),
    )


def _archive(body: Manifest) -> tuple[int, bytes] | None:
    if "archive" not in body:
        return None
    at, digest = items(body, "archive")
    if not isinstance(at, int):
        raise NotOneOfOurs("the number of an archive record is no number")
    return at, bytes.fromhex(str(digest))


def _end(item: Json) -> StreamEnd:
    if not isinstance(item, Sequence):
        raise NotOneOfOurs("the end of a stream is no list")
    stream, version, chain = item
    if not isinstance(version, int):
        raise NotOneOfOurs("a version is no whole number")
    return StreamEnd(stream=UUID(str(stream)), version=version, chain=bytes.fromhex(str(chain)))


def read_signature(kept: Manifest) -> Signature | None:
    """Return the signature that was kept; None for none."""
    if not kept:
        return None
    return Signature(
        algorithm=text(kept, "algorithm"),
        key=text(kept, "key"),
        value=bytes.fromhex(text(kept, "value")),
    )


def fault_after(before: Seal | None, seal: Seal) -> str | None:
    """Return why a seal does not continue the one before; None if it does."""
    number_, first = (1, 1) if before is None else (before.number + 1, before.last + 1)
    if seal.number != number_:
        return f"seal {seal.number} stands where seal {number_} should be"
    if seal.previous != (FIRST if before is None else before.digest):
        return f"seal {seal.number} does not continue seal {number_ - 1}"
    if seal.first != first:
        return f"seal {seal.number} begins at position {seal.first} and should at {first}"
    if seal.last < seal.first:
        return f"seal {seal.number} ends at position {seal.last}, before it begins ({seal.first})"
    if len(seal.marks) != (seal.last - seal.first + 1) * MARK_BYTES:
        return f"seal {seal.number} has not one fingerprint for each event"
    return None


def first_difference(
    seal: Seal, rows: Mapping[int, bytes], gone: Sequence[tuple[int, int]] = ()
) -> int | None:
    """Return the first position whose sealed row is gone or is not what was sealed.

    `rows` are packed rows by position; `gone` are the ranges of positions, in order, that may be
    without one. None if all are as sealed.
    """
    absent = _positions(gone)
    for index in range(seal.last - seal.first + 1):
        position = seal.first + index
        row = rows.get(position)
        if row is None and position in absent:
            continue
        mark = seal.marks[index * MARK_BYTES : (index + 1) * MARK_BYTES]
        if row is None or hashlib.sha256(row).digest()[:MARK_BYTES] != mark:
            return position
    return None


def _positions(ranges: Sequence[tuple[int, int]]) -> frozenset[int]:
    return frozenset(at for first, last in ranges for at in range(first, last + 1))
