"""What is known of the backups of a database, and of positions in its write-ahead log (WAL)."""

import re
from dataclasses import dataclass

from jobledger.core.values.instants import Instant

SEGMENT = re.compile(r"([0-9A-F]{8})([0-9A-F]{8})([0-9A-F]{8})")
_LSN = re.compile(r"([0-9A-F]{1,8})/([0-9A-F]{1,8})")
_BYTES_OF_A_LOG = 1 << 32


def lsn(text: str) -> int:
    """Return a position as the number of its byte; `0/2000028` is 33554472.

    Raises:
        ValueError: it is none.
    """
    found = _LSN.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no position in a WAL")
    return int(found[1], 16) << 32 | int(found[2], 16)


def segment_of(position: int, segment_bytes: int) -> int:
    """Return the number of the file, from 0 on, in which a position is."""
    return position // segment_bytes


def segment_number(name: str, segment_bytes: int) -> int | None:
    """Return the number of the file of this name, without its timeline; None for other files."""
    found = SEGMENT.fullmatch(name)
    if found is None:
        return None
    return int(found[2], 16) * (_BYTES_OF_A_LOG // segment_bytes) + int(found[3], 16)


def segment_name(number: int, segment_bytes: int) -> str:
    """Return the name of a file without its timeline, as in `…0000000000000002`."""
    log, within = divmod(number, _BYTES_OF_A_LOG // segment_bytes)
    return f"…{log:08X}{within:08X}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A replication slot that keeps WAL."""

    name: str
    active: bool
    wal_status: str
    """reserved, extended, unreserved or lost; empty where it keeps none yet."""
    kept_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Archiver:
    """How the server archives its WAL."""

    mode: str
    """off, on or always."""
    how: str
    """The command or library; empty if there is none."""
    archived: int
    last_archived: str
    """Name of the file; empty if none was."""
    last_archived_at: Instant | None
    failed: int
    last_failed: str
    last_failed_at: Instant | None
    timeout_seconds: int
    """After so long a file that is not full is archived; 0: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseBackup:
    """A base backup in a directory, by its `backup_label` and `backup_manifest`."""

    place: str
    start: int
    """Position from which its recovery reads the WAL."""
    started_at: Instant
    missing: tuple[str, ...]
    """Files of the manifest that are not there, or of another size."""
    has_manifest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupFacts:
    """Everything that is judged."""

    now: Instant
    in_recovery: bool
    wal_level: str
    fsync: bool
    full_page_writes: bool
    segment_bytes: int
    position: int
    """Where the WAL is now."""
    archiver: Archiver
    slots: tuple[Slot, ...]
    receivers: int
    """Programs that receive the WAL now: replicas, or pg_receivewal."""
    last_event: int
    last_event_at: Instant | None
    sealed_to: int
    sealed_at: Instant | None
    base: BaseBackup | None = None
    """None: nobody said where one is."""
    archive: frozenset[int] | None = None
    """Numbers of the files that an archive has; None: nobody said where one is."""
    archive_place: str = ""
