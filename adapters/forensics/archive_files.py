"""Reads and writes archive files: bundles of many jobs, their seals, and the archive's record.

A file is finished or not there: it is written beside its place, flushed, read again, and only then
linked into place under a name that holds its digest. So no archive is ever written over.
"""

import gzip
import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Self
from uuid import UUID

from jobledger.adapters.files.regular import open_regular
from jobledger.adapters.files.written_once import (
    flush_directory,
    make_anew,
    make_directory,
    name_beside,
    write_once,
)
from jobledger.adapters.forensics.bundle_files import LINE_CHARACTERS_MAX, bounded
from jobledger.adapters.forensics.foreign_files import DAMAGES, check_regular, damage, text_of
from jobledger.core.errors import BrokenChain, LedgerMisconfigured
from jobledger.core.forensics.bundles.bundle import Bundle, lines
from jobledger.core.forensics.bundles.bundle import read as read_bundle
from jobledger.core.forensics.foreign import NOT_ONE_OF_OURS, said
from jobledger.core.forensics.seals import archives
from jobledger.core.forensics.seals.archives import Archive, ArchivedJob, ArchiveFile
from jobledger.core.forensics.seals.seals import Seal, document
from jobledger.core.forensics.seals.seals import read as read_seal
from jobledger.core.log.chain import canonical
from jobledger.core.values.counted import counted

FORMAT = "jobledger archive file 1"
SUFFIX = ".jsonl.gz"
RECORDS = "archive-*.json"
_BESIDE_JOBS = ('{"archive_file":', '{"sealed":')
UNFINISHED_SECONDS = 86_400.0
"""An unfinished file that was not written to for so long belongs to nobody."""

RECORD_BYTES_MAX = 256 << 20
"""A longer record is none: that of a hundred thousand jobs has 50 MB."""

_BLOCK = 1 << 20
HEAD_CHARACTERS_MAX = 4096
"""Of the line that says that a file is an archive."""
_DIGITS = 16


class ArchiveWriter:
    """One file as it is being written; a context manager that leaves nothing unfinished."""

    def __init__(self, directory: Path, number: int) -> None:
        self._directory, self._number = directory, number
        self._fresh = name_beside(directory / f"archive-{number:06}")
        self._file: IO[bytes] | None = None
        self._packed: gzip.GzipFile | None = None

    def __enter__(self) -> Self:
        try:
            make_directory(self._directory)
            make_anew(self._fresh)
            self._file = self._fresh.open("wb")
        except OSError as error:
            raise _unwritable(self._directory, error) from error
        self._packed = gzip.GzipFile(fileobj=self._file, mode="wb", compresslevel=6, mtime=0)
        self._put(canonical({"archive_file": FORMAT, "number": self._number}).decode() + "\n")
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # the disk is full: what failed to be written fails again
            if self._packed is not None:
                self._packed.close()
        with suppress(OSError):
            if self._file is not None:
                self._file.close()
        self._fresh.unlink(missing_ok=True)

    def add_seal(self, seal: Seal) -> None:
        """Write a seal that covers some of the events."""
        self._put(canonical({"sealed": document(seal)}).decode() + "\n")

    def add(self, bundle: Bundle) -> None:
        """Write a job."""
        for line in lines(bundle):
            self._put(line)

    def finish(self) -> tuple[ArchiveFile, Path]:
        """Flush the file to the disk; return what it is, and where it waits for `commit`."""
        assert self._packed is not None
        assert self._file is not None
        try:
            self._packed.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
        except OSError as error:
            raise _unwritable(self._directory, error) from error
        digest = file_digest(self._fresh)
        name = f"archive-{self._number:06}-{digest.hex()[:_DIGITS]}{SUFFIX}"
        size = self._fresh.stat().st_size
        return ArchiveFile(name=name, size=size, digest=digest), self._fresh

    def commit(self, made: ArchiveFile) -> None:
        """Put the file into its place, for good."""
        try:
            self._fresh.replace(self._directory / made.name)
            flush_directory(self._directory)
        except OSError as error:
            raise _unwritable(self._directory, error) from error

    def _put(self, line: str) -> None:
        assert self._packed is not None
        try:
            self._packed.write(line.encode())
        except OSError as error:
            raise _unwritable(self._directory, error) from error


def clear(directory: Path) -> None:
    """Remove what a run that was killed long ago has left unfinished."""
    for left in directory.glob(".archive-*"):
        if time.time() - left.stat().st_mtime > UNFINISHED_SECONDS:
            left.unlink(missing_ok=True)


def bundles(path: Path) -> Iterator[Bundle]:
    """Yield every job of an archive, one at a time: what is in memory is no more than the largest.

    Raises `BrokenChain` if one is not as it was written, or longer than a bundle may be.
    """
    told = (line for line in _lines(path) if not line.startswith(_BESIDE_JOBS))
    for count, first in enumerate(told, start=1):
        where = f"job {count} of {path}"
        yield read_bundle(bounded(_one_job(first, told, path), where), where)


def _one_job(first: str, rest: Iterator[str], path: Path) -> Iterator[str]:
    """Yield the lines of one job, and take no more from the rest than these."""
    line: str | None = first
    while line is not None:
        yield line
        if line.startswith('{"end":'):
            return
        line = next(rest, None)
    raise BrokenChain(str(path), "it ends within a job")


def seals_of(path: Path, streams: Callable[[UUID], bool]) -> tuple[int, dict[UUID, Seal]]:
    """Return how many seals an archive has, and of those the newest for each stream asked for.

    Raises `BrokenChain` if one is not as it was made, or if they are more than belong to a file.
    """
    count, newest = 0, dict[UUID, Seal]()
    told = (line for line in _lines(path) if line.startswith('{"sealed":'))
    for line in bounded(told, f"what {path} holds of seals"):
        seal = _seal(line, path)
        count += 1
        newest.update((end.stream, seal) for end in seal.streams if streams(end.stream))
    return count, newest


def _seal(line: str, path: Path) -> Seal:
    try:
        return read_seal(canonical(json.loads(line)["sealed"]).decode())
    except BrokenChain as error:
        raise BrokenChain(f"{error.where} of {path}", error.problem) from error
    except NOT_ONE_OF_OURS as error:
        raise BrokenChain(f"a seal of {path}", said(error)) from error


def is_archive(path: Path) -> bool:
    """Return whether a file is an archive of many jobs; False for a bundle of one, and the like."""
    check_regular(path)
    try:
        with gzip.open(path, "rt", encoding="utf-8") as packed:
            head = json.loads(packed.readline(HEAD_CHARACTERS_MAX))
    except (OSError, EOFError, ValueError, RecursionError, zlib.error):
        return False
    return isinstance(head, dict) and head.get("archive_file") == FORMAT


def check_file(path: Path, made: ArchiveFile, jobs: Sequence[ArchivedJob]) -> None:
    """Read a file to its end, and hold it against what its record says; raises as `checked`."""
    for _ in checked(path, made, jobs):
        pass


def checked(path: Path, made: ArchiveFile, jobs: Sequence[ArchivedJob]) -> Iterator[Bundle]:
    """Yield the jobs of a file, each held against what its record says.

    Raises:
        BrokenChain: it is not the file that the record speaks of, or is not whole.
        LedgerMisconfigured: it cannot be read.
    """
    if file_digest(path) != made.digest:
        raise BrokenChain(str(path), "it does not have the digest that its record names")
    found = 0
    for bundle in bundles(path):
        last = bundle.events[-1].record
        if found >= len(jobs) or (last.stream_id, last.version, last.chain) != (
            jobs[found].stream,
            jobs[found].version,
            jobs[found].chain,
        ):
            raise BrokenChain(str(path), f"job {last.stream_id} is not as its record says")
        found += 1
        yield bundle
    if found != len(jobs):
        raise BrokenChain(
            str(path), f"it holds {counted(found, 'job')} and its record speaks of {len(jobs)}"
        )


def file_digest(path: Path) -> bytes:
    """Return the SHA-256 of a file; raise `LedgerMisconfigured` if it cannot be read."""
    hashed = hashlib.sha256()
    try:
        with open_regular(path) as file:  # a pipe in its place would be waited for without end
            while block := file.read(_BLOCK):
                hashed.update(block)
    except OSError as error:
        raise LedgerMisconfigured(f"{path} cannot be read: {error.strerror}") from error
    return hashed.digest()


def record_path(directory: Path, number: int) -> Path:
    """Return where the copy of a record is kept."""
    return directory / f"archive-{number:06}.json"


def refuse_taken(directory: Path, number: int) -> None:
    """Raise `LedgerMisconfigured` if a record of this number is kept that the ledger has not."""
    path = record_path(directory, number)
    if path.exists():
        raise LedgerMisconfigured(
            f"{path} is of an archive that this ledger does not know: it is another ledger's, or "
            "this one was restored from an older backup; choose another directory"
        )


def keep_record(directory: Path, record: Archive) -> None:
    """Write a copy of a record; one that is there already must be the same.

    Raises:
        LedgerMisconfigured: the directory cannot be written.
        BrokenChain: another record of this number is there.
    """
    path = record_path(directory, record.number)
    try:
        there = write_once(path, archives.written(record))
    except OSError as error:
        raise _unwritable(directory, error) from error
    if archives.read(there, str(path)).digest != record.digest:
        raise BrokenChain(str(path), "another archive record of this number is kept here")


def kept_records(directory: Path) -> dict[int, bytes]:
    """Return the digests of the records of a directory, by number."""
    paths = sorted(directory.glob(RECORDS))
    records = (archives.read(text_of(path, RECORD_BYTES_MAX), str(path)) for path in paths)
    return {record.number: record.digest for record in records}


def _lines(path: Path) -> Iterator[str]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as packed:
            while line := packed.readline(LINE_CHARACTERS_MAX):
                if len(line) >= LINE_CHARACTERS_MAX:
                    raise BrokenChain(str(path), "a line is too long")
                yield line
    except DAMAGES as error:
        raise BrokenChain(str(path), damage(error)) from error
    except OSError as error:
        raise LedgerMisconfigured(f"{path} cannot be read: {error.strerror or error}") from error


def _unwritable(directory: Path, error: OSError) -> LedgerMisconfigured:
    return LedgerMisconfigured(f"{directory} cannot keep archives: {error.strerror}")
