"""Reads a base backup of pg_basebackup (plain format), and which files an archive of WAL has."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from jobledger.core.errors import LedgerMisconfigured
from jobledger.core.forensics.backups.facts import BaseBackup, lsn, segment_number

_START = re.compile(r"^START WAL LOCATION: (\S+)", re.MULTILINE)
_AT = re.compile(r"^START TIME: (.+)$", re.MULTILINE)
_ENDINGS = ("", ".gz", ".lz4", ".zst")
"""Of files that an archive command or pg_receivewal keeps."""


def base_backup(place: Path) -> BaseBackup:
    """Return what a directory with a base backup says of itself.

    Raises:
        LedgerMisconfigured: it is none, or cannot be read.
    """
    try:
        label = (place / "backup_label").read_text(encoding="utf-8")
        manifest = place / "backup_manifest"
        has_manifest = manifest.is_file()
        missing = tuple(_missing(place, manifest)) if has_manifest else ()
        began = (place / "backup_label").stat().st_mtime
    except (OSError, ValueError) as error:
        raise LedgerMisconfigured(
            f"{place} is no base backup in the plain format of pg_basebackup: {error}"
        ) from error
    start = _START.search(label)
    if start is None:
        raise LedgerMisconfigured(f"{place}/backup_label does not say where the WAL begins")
    return BaseBackup(
        place=str(place),
        start=lsn(start[1]),
        started_at=_instant(label) or datetime.fromtimestamp(began, UTC),
        missing=missing,
        has_manifest=has_manifest,
    )


def _instant(label: str) -> datetime | None:
    """Return when it was begun, if that is told in UTC; other zones are names only."""
    found = _AT.search(label)
    if found is None or not found[1].endswith((" UTC", " GMT")):
        return None
    return datetime.strptime(found[1][:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)


def _missing(place: Path, manifest: Path) -> Iterator[str]:
    for entry in json.loads(manifest.read_text(encoding="utf-8"))["Files"]:
        name = entry.get("Path")
        if name is None:
            continue  # a name that is no UTF-8; pg_verifybackup knows it
        file = place / name
        if not file.is_file() or file.stat().st_size != entry["Size"]:
            yield str(name)


def archived_segments(place: Path, segment_bytes: int) -> frozenset[int]:
    """Return the numbers of the whole files that an archive has; folders below it count too.

    A file that is not compressed and has not its whole size is none.

    Raises:
        LedgerMisconfigured: there is no such directory, or it cannot be read.
    """
    if not place.is_dir():
        raise LedgerMisconfigured(f"{place} is no directory of an archive of WAL")
    try:
        return frozenset(_segments(place, segment_bytes))
    except OSError as error:
        raise LedgerMisconfigured(f"{place} cannot be read: {error}") from error


def _segments(place: Path, segment_bytes: int) -> Iterator[int]:
    for file in place.rglob("*"):
        name = file.name[:24]
        number = segment_number(name, segment_bytes)
        ending = file.name[24:]
        if number is None or ending not in _ENDINGS:
            continue
        if ending or file.stat().st_size == segment_bytes:
            yield number
