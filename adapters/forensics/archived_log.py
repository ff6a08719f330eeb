"""Presents the log with archived jobs put back, so that older seals still match it.

Every file is held against its record first. Of each event the sixty bytes that seals cover are kept
in a temporary file, nothing else, and of the files one job at a time is in memory.
"""

import contextlib
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from uuid import UUID

from jobledger.adapters.forensics.archive_files import checked
from jobledger.core.errors import BrokenChain, LedgerMisconfigured
from jobledger.core.forensics.seals.archives import Archive
from jobledger.core.forensics.seals.sealing import Broken, SealedLog, SealFault
from jobledger.core.forensics.seals.seals import ROW_BYTES, Seal, SealedRow, StreamEnd, pack


class ArchivedLog:
    """A log and the files of its archives: the port `core.forensics.seals.sealing.SealedLog`."""

    def __init__(self, log: SealedLog, directory: Path, progress: Callable[[str], None]) -> None:
        self._log = log
        self.faults: list[Broken] = []
        """Files that are gone, or are not what their records say."""
        self.files = 0
        """Files that are what their records say."""
        self._rows = ArchivedRows()
        for record in _readable(log):
            progress(record.file.name)
            try:
                self._rows.add(_rows(directory, record))
            except (BrokenChain, LedgerMisconfigured) as error:
                what = f"archive record {record.number}: {error}"
                self.faults.append(Broken(kind=SealFault.ARCHIVE, what=what))
            else:
                self.files += 1

    def close(self) -> None:
        """Forget what was read."""
        self._rows.close()

    def sealed_rows(self, first: int, last: int) -> bytes:
        """Return the packed rows of a range, those of the log and those of the files."""
        here = self._log.sealed_rows(first, last)
        if len(here) == (last - first + 1) * ROW_BYTES or not (
            archived := self._rows.between(first, last)
        ):
            return here
        there = [here[at : at + ROW_BYTES] for at in range(0, len(here), ROW_BYTES)]
        positions = {row[:8] for row in there}
        added = [row for row in archived if row[:8] not in positions]
        return b"".join(sorted(there + added))  # the position comes first, big-endian

    def last_position(self) -> int:
        """See `core.forensics.seals.sealing.SealedLog.last_position`."""
        return self._log.last_position()

    def link(self, stream: UUID, version: int) -> bytes | None:
        """See `core.forensics.seals.sealing.SealedLog.link`."""
        return self._log.link(stream, version)

    def last_seal(self) -> Seal | None:
        """See `core.forensics.seals.sealing.SealedLog.last_seal`."""
        return self._log.last_seal()

    def seals(self) -> Iterable[Seal]:
        """See `core.forensics.seals.sealing.SealedLog.seals`."""
        return self._log.seals()

    def kept_seal(self, number: int) -> Seal | None:
        """See `core.forensics.seals.sealing.SealedLog.kept_seal`."""
        return self._log.kept_seal(number)

    def fault_of_seals(self) -> str | None:
        """See `core.forensics.seals.sealing.SealedLog.fault_of_seals`."""
        return self._log.fault_of_seals()

    def add_seal(self, made: Seal) -> bool:
        """See `core.forensics.seals.sealing.SealedLog.add_seal`."""
        return self._log.add_seal(made)

    def archives(self) -> Iterable[Archive]:
        """See `core.forensics.seals.sealing.SealedLog.archives`."""
        return self._log.archives()

    def last_archive(self) -> tuple[int, bytes] | None:
        """See `core.forensics.seals.sealing.SealedLog.last_archive`."""
        return self._log.last_archive()

    def archived(self, first: int, last: int) -> Sequence[tuple[int, int]]:
        """Return the ranges whose events may be missing: those of files that are not at hand."""
        return self._log.archived(first, last) if self.faults else ()

    def archived_end(self, stream: UUID) -> StreamEnd | None:
        """See `core.forensics.seals.sealing.SealedLog.archived_end`."""
        return self._log.archived_end(stream)


def _readable(log: SealedLog) -> Iterator[Archive]:
    """Yield the records up to the first that cannot be read; whoever checks the seals names it."""
    with contextlib.suppress(BrokenChain):
        yield from log.archives()


def _rows(directory: Path, record: Archive) -> Iterator[tuple[int, bytes]]:
    path = directory / record.file.name
    for bundle in checked(path, record.file, record.jobs):
        for item in bundle.events:
            row = SealedRow(
                position=item.position,
                stream=item.record.stream_id,
                version=item.record.version,
                chain=item.record.chain,
            )
            yield row.position, _packed(path, row)


def _packed(path: Path, row: SealedRow) -> bytes:
    try:
        return pack(row)
    except struct.error as error:
        raise BrokenChain(str(path), f"position {row.position} is none of a log") from error


_MAKE = "CREATE TABLE row (position INTEGER, packed BLOB); CREATE INDEX place ON row (position)"
_BETWEEN = "SELECT packed FROM row WHERE position BETWEEN ? AND ? ORDER BY position"


class ArchivedRows:
    """Packed rows by their positions, in a temporary file that goes with this object."""

    def __init__(self) -> None:
        self._kept = sqlite3.connect("", isolation_level=None)
        self._kept.executescript(_MAKE)

    def close(self) -> None:
        """Forget everything."""
        self._kept.close()

    def add(self, rows: Iterable[tuple[int, bytes]]) -> None:
        """Keep all of these rows, or none where an error comes out of them.

        Raises:
            LedgerMisconfigured: there is no room for them.
        """
        self._kept.execute("BEGIN")
        try:
            self._kept.executemany("INSERT INTO row VALUES (?, ?)", rows)
        except sqlite3.OperationalError as error:
            raise LedgerMisconfigured(f"no room in the temporary directory: {error}") from error
        else:
            self._kept.execute("COMMIT")
        finally:
            if self._kept.in_transaction:
                self._kept.execute("ROLLBACK")

    def between(self, first: int, last: int) -> list[bytes]:
        """Return the rows of a range of positions, in order."""
        return [packed for (packed,) in self._kept.execute(_BETWEEN, (first, last))]
