"""Archive records: which jobs left the log, into which file, and where their streams ended.

A record is a document like a seal: it has a number, holds the digest of the record before, may be
signed by the same key, and every later seal holds the digest of the newest. It is the manifest of
one file of bundles, and all that is left in the ledger of its jobs. A row that is missing from the
log without a record that speaks of it is a fault; so is a record that no file bears out, wherever
the files are at hand.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from uuid import UUID

from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.foreign import NOT_ONE_OF_OURS, NotOneOfOurs, said
from jobledger.core.forensics.required import instant, whole
from jobledger.core.forensics.seals.seals import (
    FIRST,
    NOT_AS_WRITTEN,
    Signature,
    read_signature,
    signature_document,
)
from jobledger.core.log.chain import canonical
from jobledger.core.values.counted import counted
from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.core.values.instants import Instant

FORMAT = "jobledger archive 1"
"""Part of every record, so that nothing else that is signed can pass for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedJob:
    """One job of an archive: who it was, and where its stream ended."""

    stream: UUID
    version: int
    """Version of its last event; as many events as that are in the file."""
    chain: bytes
    """Link of its last event."""
    first: int
    """Position of its first event."""
    last: int
    """Position of its last event."""
    cluster: str
    kind: str
    namespace: str
    name: str
    uid: str
    phase: str
    """The last one; empty while it was new."""
    created_at: Instant
    deleted_at: Instant
    """When its object was seen to be gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFile:
    """The file that holds the bundles of an archive."""

    name: str
    size: int
    """Bytes."""
    digest: bytes
    """SHA-256 of its bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """One archive record. `digest` covers everything but the signature."""

    number: int
    """From 1, without gaps."""
    previous: bytes
    """Digest of the record before; zeros in the first."""
    made_at: Instant
    schema: str
    """Revision of the schema of the database that the jobs were in."""
    file: ArchiveFile
    jobs: tuple[ArchivedJob, ...]
    positions: tuple[tuple[int, int], ...]
    """Positions of their events: ranges from and to, both included, in order."""
    seals: tuple[tuple[int, bytes], ...]
    """Number and digest of each seal that covers one of these positions."""
    evidence: tuple[str, ...]
    """Digests of the pieces of evidence that are in the file."""
    signature: Signature | None = None

    @property
    def events(self) -> int:
        """Return how many events it holds."""
        return sum(job.version for job in self.jobs)

    @property
    def body(self) -> Manifest:
        """Return what the digest covers, as JSON."""
        return {
            "format": FORMAT,
            "number": self.number,
            "previous": self.previous.hex(),
            "made_at": self.made_at.isoformat(),
            "schema": self.schema,
            "file": {
                "name": self.file.name,
                "size": self.file.size,
                "sha256": self.file.digest.hex(),
            },
            "jobs": [_job_document(job) for job in self.jobs],
            "positions": [[first, last] for first, last in self.positions],
            "seals": [[at, digest.hex()] for at, digest in self.seals],
            "evidence": list(self.evidence),
        }

    @property
    def digest(self) -> bytes:
        """Return the SHA-256 that the next record and the next seal hold."""
        return sha256(canonical(self.body)).digest()


def _job_document(job: ArchivedJob) -> Manifest:
    return {
        **asdict(job),
        "stream": str(job.stream),
        "chain": job.chain.hex(),
        "created_at": job.created_at.isoformat(),
        "deleted_at": job.deleted_at.isoformat(),
    }


def document(archive: Archive) -> Manifest:
    """Return a record as it is kept: what it covers, its digest, its signature."""
    return {
        "archive": archive.body,
        "digest": archive.digest.hex(),
        "signature": signature_document(archive.signature),
    }


def written(archive: Archive) -> str:
    """Return the text of a record: one line of JSON."""
    return canonical(document(archive)).decode() + "\n"


def read(text_of_it: str, where: str = "an archive record") -> Archive:
    """Return the record that a text holds; raise `BrokenChain` if it holds none, or another."""
    try:
        kept: Json = json.loads(text_of_it)
        archive = _read(kept)
        is_whole = archive.digest.hex() == text(kept, "digest")
    except NOT_ONE_OF_OURS as error:
        raise BrokenChain(where, f"it cannot be read ({said(error)})") from error
    if not is_whole:
        what = "it does not have the digest that it names"
        raise BrokenChain(f"archive record {archive.number}", what)
    if text_of_it.rstrip() != written(archive).rstrip():
        raise BrokenChain(f"archive record {archive.number}", NOT_AS_WRITTEN)
    return archive


def _read(kept: Json) -> Archive:
    body = child(kept, "archive")
    if text(body, "format") != FORMAT:
        raise NotOneOfOurs(f"the format is {text(body, 'format')!r} and not {FORMAT!r}")
    return Archive(
        number=whole(body, "number"),
        previous=bytes.fromhex(text(body, "previous")),
        made_at=instant(body, "made_at"),
        schema=text(body, "schema"),
        file=ArchiveFile(
            name=text(body, "file", "name"),
            size=whole(child(body, "file"), "size"),
            digest=bytes.fromhex(text(body, "file", "sha256")),
        ),
        jobs=tuple(_job(child(item)) for item in items(body, "jobs")),
        positions=tuple(_range(item) for item in items(body, "positions")),
        seals=tuple(_seal(item) for item in items(body, "seals")),
        evidence=tuple(str(item) for item in items(body, "evidence")),
        signature=read_signature(child(kept, "signature")),
    )


def _job(told: Manifest) -> ArchivedJob:
    return ArchivedJob(
        stream=UUID(text(told, "stream")),
        version=whole(told, "version"),
        chain=bytes.fromhex(text(told, "chain")),
        first=whole(told, "first"),
        last=whole(told, "last"),
        cluster=text(told, "cluster"),
        kind=text(told, "kind"),
        namespace=text(told, "namespace"),
        name=text(told, "name"),
        uid=text(told, "uid"),
        phase=text(told, "phase"),
        created_at=instant(told, "created_at"),
        deleted_at=instant(told, "deleted_at"),
    )


def _range(item: Json) -> tuple[int, int]:
    first, last = _pair(item)
    if not isinstance(first, int) or not isinstance(last, int) or last < first:
        raise NotOneOfOurs("a range of positions is none")
    return first, last


def _seal(item: Json) -> tuple[int, bytes]:
    at, digest = _pair(item)
    if not isinstance(at, int):
        raise NotOneOfOurs("the number of a seal is no number")
    return at, bytes.fromhex(str(digest))


def _pair(item: Json) -> tuple[Json, Json]:
    if not isinstance(item, Sequence) or isinstance(item, str):
        raise NotOneOfOurs("a pair is no list")
    one, two = item
    return one, two


def ranges(positions: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Return the ranges (from and to, both included) that these positions make up."""
    return tuple(_ranges(sorted(positions)))


def _ranges(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = 0
    for position in positions:
        if position != last + 1 or not first:
            if first:
                yield first, last
            first = position
        last = position
    if first:
        yield first, last


def fault_after(before: Archive | None, archive: Archive) -> str | None:
    """Return why a record does not continue the one before, or contradicts itself; else None."""
    number_ = 1 if before is None else before.number + 1
    if archive.number != number_:
        return f"archive record {archive.number} stands where record {number_} should be"
    if archive.previous != (FIRST if before is None else before.digest):
        return f"archive record {archive.number} does not continue record {number_ - 1}"
    positions = sum(last - first + 1 for first, last in archive.positions)
    if positions != archive.events:
        return (
            f"archive record {archive.number} names {counted(positions, 'position')} "
            f"for {counted(archive.events, 'event')}"
        )
    return None
