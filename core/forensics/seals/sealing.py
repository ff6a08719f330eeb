"""Makes seals and checks the log against them; defines the ports that this needs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from jobledger.core.forensics.seals.archives import Archive
from jobledger.core.forensics.seals.seals import (
    EVENTS_MAX,
    ROW_BYTES,
    Seal,
    SealedRow,
    Signature,
    StreamEnd,
    fault_after,
    first_difference,
    make,
    pack,
    unpack,
)
from jobledger.core.values.counted import counted
from jobledger.core.values.instants import Instant


class Signer(Protocol):
    """Holds a private key."""

    def sign(self, digest: bytes) -> Signature:
        """Return the signature of a seal's digest."""


class Judge(Protocol):
    """Holds a public key."""

    def vouches(self, digest: bytes, signature: Signature) -> bool:
        """Return whether the signature is of this digest, and by the key it should be by."""


class SealedLog(Protocol):
    """The log, as sealing looks at it, and the seals that are kept beside it."""

    def last_position(self) -> int:
        """Return the position of the last event; 0 for an empty log."""

    def sealed_rows(self, first: int, last: int) -> bytes:
        """Return the packed rows of a range of positions, in order."""

    def link(self, stream: UUID, version: int) -> bytes | None:
        """Return the link of one event, None if it is not there."""

    def last_seal(self) -> Seal | None:
        """Return the newest seal; raise `BrokenChain` if it is not the one that was kept last."""

    def kept_seal(self, number: int) -> Seal | None:
        """Return one seal, None if it is not there; raise `BrokenChain` if it cannot be read."""

    def fault_of_seals(self) -> str | None:
        """Return what shows that a seal is gone, was put in or moved, without reading them all."""

    def seals(self) -> Iterable[Seal]:
        """Yield all seals in order; raise `BrokenChain` if one cannot be read."""

    def add_seal(self, made: Seal) -> bool:
        """Keep the next seal; False if another has kept one of its number meanwhile."""

    def archives(self) -> Iterable[Archive]:
        """Yield all archive records in order; raise `BrokenChain` if one cannot be read."""

    def last_archive(self) -> tuple[int, bytes] | None:
        """Return number and digest of the newest archive record, None while there is none."""

    def archived(self, first: int, last: int) -> Sequence[tuple[int, int]]:
        """Return the ranges of positions, of those between, that archive records speak of."""

    def archived_end(self, stream: UUID) -> StreamEnd | None:
        """Return where an archived stream ended by its record, None if no record speaks of it."""


class SealFault(StrEnum):
    """What can be found by seals; the first of each kind is reported."""

    SEAL = "seal"
    SIGNATURE = "signature"
    SEALED_EVENT = "sealed event"
    SEALED_STREAM = "sealed stream"
    ARCHIVE = "archive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A place where the log is not what was sealed."""

    kind: SealFault
    position: int = 0
    """0 where there is none to name."""
    stream: UUID | None = None
    version: int = 0
    what: str


def seal_next(log: SealedLog, now: Instant, signer: Signer | None) -> Seal | None:
    """Seal what follows the last seal, as much as one seal holds; None if there is nothing.

    Raises:
        BrokenChain: positions are missing, or a seal that is there cannot be read.
    """
    before = log.last_seal()
    first = 1 if before is None else before.last + 1
    last = min(log.last_position(), first + EVENTS_MAX - 1)
    if last < first:
        return None
    seal = replace(make(before, log.sealed_rows(first, last), now), archive=log.last_archive())
    if signer is not None:
        seal = replace(seal, signature=signer.sign(seal.digest))
    return seal if log.add_seal(seal) else None


def broken(
    log: SealedLog, seals: Iterable[Seal], judge: Judge | None, progress: Callable[[Seal], None]
) -> Iterator[Broken]:
    """Yield where the log is not what the seals say; a seal's own faults come before its range's.

    `progress` is told of each seal that the log was held against. Raises `BrokenChain` if a seal
    cannot be read.
    """
    before: Seal | None = None
    for seal in seals:
        if (fault := fault_after(before, seal)) is not None:
            yield Broken(kind=SealFault.SEAL, position=seal.first, what=fault)
        if judge is not None:
            yield from _of_signature(seal, judge)
        yield from _of_range(log, seal)
        progress(seal)
        before = seal


def _of_signature(seal: Seal, judge: Judge) -> Iterator[Broken]:
    if seal.signature is None:
        what = f"seal {seal.number} is not signed"
        yield Broken(kind=SealFault.SIGNATURE, position=seal.first, what=what)
    elif not judge.vouches(seal.digest, seal.signature):
        what = f"seal {seal.number} is not signed by the key that was given"
        yield Broken(kind=SealFault.SIGNATURE, position=seal.first, what=what)


def _of_range(log: SealedLog, seal: Seal) -> Iterator[Broken]:
    rows = log.sealed_rows(seal.first, seal.last)
    if seal.holds(rows):
        return
    found = {row.position: row for row in unpack(rows)}
    gone = log.archived(seal.first, seal.last)
    position = first_difference(seal, {at: pack(row) for at, row in found.items()}, gone)
    if position is None and gone and len(rows) == len(found) * ROW_BYTES:
        yield from _of_archived(log, seal, found.values())
        return
    at = found.get(position or 0)
    if position is None:
        what = f"more events stand between {seal.first} and {seal.last} than were sealed"
        yield Broken(kind=SealFault.SEALED_EVENT, position=seal.first, what=what)
    elif at is None:
        what = f"seal {seal.number} covers an event at this position, and there is none"
        yield Broken(kind=SealFault.SEALED_EVENT, position=position, what=what)
    else:
        yield Broken(
            kind=SealFault.SEALED_EVENT,
            position=position,
            stream=at.stream,
            version=at.version,
            what=f"this event is not the one that seal {seal.number} covers at this position",
        )
    yield from _of_streams(log, seal)


def _of_archived(log: SealedLog, seal: Seal, found: Iterable[SealedRow]) -> Iterator[Broken]:
    """Yield every stream that has left the log and whose end is not the one that was sealed."""
    there = {(row.stream, row.version): row.chain for row in found}
    for end in seal.streams:
        if there.get((end.stream, end.version)) == end.chain:
            continue
        archived = log.archived_end(end.stream)
        if archived is None:
            what = f"version {end.version} is gone, and no archive record speaks of this job"
        elif archived.version < end.version:
            what = (
                f"the stream reached version {end.version} in seal {seal.number}, and by its "
                f"archive record it ended with {archived.version}"
            )
        elif archived.version == end.version and archived.chain != end.chain:
            what = f"version {end.version} has another link in its archive record than in its seal"
        else:
            continue
        yield Broken(
            kind=SealFault.SEALED_STREAM,
            stream=end.stream,
            version=end.version,
            what=what,
        )


def _of_streams(log: SealedLog, seal: Seal) -> Iterator[Broken]:
    """Yield every stream of a range that is gone, cut off, or has other links than were sealed."""
    known: Mapping[UUID, bytes | None] = {
        end.stream: log.link(end.stream, end.version) for end in seal.streams
    }
    for end in seal.streams:
        archived = log.archived_end(end.stream) if known[end.stream] is None else None
        if known[end.stream] == end.chain or (archived and archived.version >= end.version):
            continue
        gone = known[end.stream] is None
        whole = gone and log.link(end.stream, 1) is None
        what = f"version {end.version} has another link than seal {seal.number} says"
        if whole:
            had = counted(end.version, "event")
            what = f"the whole job is gone; it had {had} in seal {seal.number}"
        elif gone:
            what = (
                f"the stream reached version {end.version} in seal {seal.number}, now it does not"
            )
        yield Broken(
            kind=SealFault.SEALED_STREAM,
            stream=end.stream,
            version=end.version,
            what=what,
        )
