"""Moves jobs from the log into files. A kill at any point neither loses nor doubles one.

In this order: the log is sealed; a file is written, flushed and read again from the disk; it is put
into its place; the record is kept in the database, which refuses it unless every job still ends
where the file says; its copies are kept beside the file and with the seals; and only then do the
rows go. Killed before the record, the jobs are in the log and the next run writes them anew; killed
after it, the next run holds the file against the record once more and removes the rest.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from jobledger.adapters.forensics.archive_files import (
    ArchiveWriter,
    check_file,
    clear,
    keep_record,
    refuse_taken,
)
from jobledger.core.errors import BrokenChain, LedgerError
from jobledger.core.forensics.bundles.bundle import Bundle
from jobledger.core.forensics.bundles.evidence import digests_in
from jobledger.core.forensics.seals.archives import Archive, ArchivedJob, ArchiveFile, ranges
from jobledger.core.forensics.seals.sealing import Signer
from jobledger.core.forensics.seals.seals import FIRST, Seal
from jobledger.core.jobs.rows import JobRow
from jobledger.core.log.envelope import StoredEvent
from jobledger.core.ports.event_store import EventStore
from jobledger.core.ports.evidence import EvidenceStore
from jobledger.core.values.instants import Instant


class Step(Protocol):
    """Some jobs that have left the log."""

    @property
    def jobs(self) -> int:
        """How many jobs."""

    @property
    def events(self) -> int:
        """How many events they had."""

    @property
    def partition(self) -> str:
        """The partition that was dropped with them; empty for none."""


class Archives(Protocol):
    """The archive records of a ledger, and the removal of what they speak of."""

    def keep(self, made: Archive) -> bool:
        """Keep the next record; False if there is one of its number."""

    def remove(self, number: int) -> Iterable[Step]:
        """Remove the jobs of a record, step by step."""

    def drop_partitions(self) -> Iterable[Step]:
        """Drop the partitions of which all jobs are archived, one by one."""

    def records(self) -> Iterable[Archive]:
        """Yield all records in order."""

    def pending(self) -> dict[int, int]:
        """Return how many jobs of which records are still in the log."""

    def last(self) -> tuple[int, bytes] | None:
        """Return number and digest of the newest record."""


Progress = Callable[[str, int, int], None]
"""Is told what is being done, and how many jobs of how many are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveParts:
    """What archiving works with."""

    store: EventStore
    evidence: EvidenceStore
    archives: Archives
    directory: Path
    """Where the files go."""
    schema: str
    """Revision of the database's schema."""
    now: Callable[[], Instant]
    signer: Signer | None = None
    copies: Path | None = None
    """Where the copies of seals are kept, and of records too; None: nowhere."""
    progress: Progress = lambda *_: None
    jobs_max: int = 2000
    """Jobs per file."""
    catch_up: Callable[[], None] = lambda: None
    """Brings what reports say of the jobs up to their ends: it stays when they have left."""
    events_max: int = 100_000
    """Events per file, about."""


@dataclass(slots=True)
class Left:
    """What a run did."""

    records: list[Archive] = field(default_factory=list)
    """Records that were made, or carried on with."""
    jobs: int = 0
    events: int = 0
    partitions: list[str] = field(default_factory=list)
    """Partitions that were dropped as a whole."""


def archive(parts: ArchiveParts, jobs: Sequence[JobRow], seals: Sequence[Seal]) -> Left:
    """Archive jobs, after what an earlier run left undone; return what has left the log.

    `seals` are all seals of the log, which must cover every event of the jobs.

    Raises:
        BrokenChain: a file, a stream or a record is not as it should be; nothing is removed then
            that a finished file does not hold.
        LedgerMisconfigured: the directory cannot be used, or the user may not archive.
    """
    left = Left()
    clear(parts.directory)
    for record in _unfinished(parts):
        _commit(parts, record)
        left.records.append(record)
    done = 0
    for chunk in _chunks(parts, jobs):
        record = _write(parts, chunk, seals, (done, len(jobs)))
        left.records.append(record)
        done += len(chunk)
        parts.progress("write", done, len(jobs))
    if left.records:
        parts.catch_up()
    _remove(parts, left)
    return left


def _unfinished(parts: ArchiveParts) -> Iterator[Archive]:
    """Yield the records whose jobs are still in the log, after a look at the file of each."""
    pending = parts.archives.pending()
    if not pending:
        return
    for record in parts.archives.records():
        if record.number in pending:
            check_file(parts.directory / record.file.name, record.file, record.jobs)
            yield record


def _chunks(parts: ArchiveParts, jobs: Sequence[JobRow]) -> Iterator[list[JobRow]]:
    chunk: list[JobRow] = []
    events = 0
    for job in jobs:
        if chunk and (len(chunk) == parts.jobs_max or events + job.version > parts.events_max):
            yield chunk
            chunk, events = [], 0
        chunk.append(job)
        events += job.version
    if chunk:
        yield chunk


@dataclass(slots=True)
class _Content:
    """What has gone into a file."""

    jobs: list[ArchivedJob] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    evidence: set[str] = field(default_factory=set)


def _write(
    parts: ArchiveParts, chunk: Sequence[JobRow], seals: Sequence[Seal], done: tuple[int, int]
) -> Archive:
    last = parts.archives.last()
    number = 1 if last is None else last[0] + 1
    for directory in filter(None, (parts.directory, parts.copies)):
        refuse_taken(directory, number)
    content = _Content()
    with ArchiveWriter(parts.directory, number) as writer:
        for count, job in enumerate(chunk, start=1):
            writer.add(_taken(parts, job, content))
            parts.progress("write", done[0] + count, done[1])
        covering = _covering(content.positions, seals)
        for seal in covering:
            writer.add_seal(seal)
        made, waiting = writer.finish()
        check_file(waiting, made, content.jobs)
        record = _record(parts, content, covering, made)
        writer.commit(made)
    if not parts.archives.keep(record):
        raise LedgerError(f"archive record {number} was made by another process meanwhile")
    _commit(parts, record)
    return record


def _covering(positions: Sequence[int], seals: Sequence[Seal]) -> list[Seal]:
    """Return the seals that cover one of these positions."""
    lasts = [seal.last for seal in seals]
    covering = {bisect_left(lasts, position) for position in positions}
    if len(seals) in covering:
        raise BrokenChain("the newest events of a job", "they are not sealed yet; run it again")
    return [seals[at] for at in sorted(covering)]


def _taken(parts: ArchiveParts, job: JobRow, content: _Content) -> Bundle:
    """Return a job as it goes into the file; note what the record has to say of it."""
    events = parts.store.read_stream(job.stream_id)
    named = sorted({digest for item in events for digest in digests_in(item.record.data)})
    found = {digest: parts.evidence.get(digest) for digest in named}
    kept = {digest: content_ for digest, content_ in found.items() if content_ is not None}
    content.jobs.append(_archived(job, events))
    content.positions += [item.position for item in events]
    content.evidence |= kept.keys()
    return Bundle(exported_at=parts.now(), events=tuple(events), evidence=kept)


def _archived(job: JobRow, events: Sequence[StoredEvent]) -> ArchivedJob:
    if not events or job.deleted_at is None or job.open:
        raise BrokenChain(f"job {job.uid}", "it is not over")
    return ArchivedJob(
        stream=job.stream_id,
        version=events[-1].record.version,
        chain=events[-1].record.chain,
        first=events[0].position,
        last=events[-1].position,
        cluster=job.cluster,
        kind=job.kind,
        namespace=job.namespace,
        name=job.name,
        uid=job.uid,
        phase=job.phase,
        created_at=job.created_at,
        deleted_at=job.deleted_at,
    )


def _record(
    parts: ArchiveParts, content: _Content, seals: Sequence[Seal], made: ArchiveFile
) -> Archive:
    last = parts.archives.last()
    record = Archive(
        number=1 if last is None else last[0] + 1,
        previous=FIRST if last is None else last[1],
        made_at=parts.now(),
        schema=parts.schema,
        file=made,
        jobs=tuple(content.jobs),
        positions=ranges(content.positions),
        seals=tuple((seal.number, seal.digest) for seal in seals),
        evidence=tuple(sorted(content.evidence)),
    )
    if parts.signer is None:
        return record
    return replace(record, signature=parts.signer.sign(record.digest))


def _commit(parts: ArchiveParts, record: Archive) -> None:
    """Keep the copies of a record."""
    keep_record(parts.directory, record)
    if parts.copies is not None:
        keep_record(parts.copies, record)


def _remove(parts: ArchiveParts, left: Left) -> None:
    total = sum(parts.archives.pending().values())
    for step in parts.archives.drop_partitions():
        left.partitions.append(step.partition)
        _count(parts, left, step, total)
    for record in left.records:
        for step in parts.archives.remove(record.number):
            _count(parts, left, step, total)


def _count(parts: ArchiveParts, left: Left, step: Step, total: int) -> None:
    left.jobs += step.jobs
    left.events += step.events
    parts.progress("remove", left.jobs, total)
