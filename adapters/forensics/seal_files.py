"""Stores seals in a directory, one file each, out of reach of the database's owner."""

from collections.abc import Sequence
from pathlib import Path

from jobledger.adapters.files.written_once import write_once
from jobledger.adapters.forensics.foreign_files import text_of
from jobledger.core.errors import BrokenChain, LedgerMisconfigured
from jobledger.core.forensics.seals.seals import Seal, read, written

PATTERN = "seal-*.json"

SEAL_BYTES_MAX = 64 << 20
"""A longer seal is none: that of a hundred thousand events has 12 MB."""


def path_of(directory: Path, number: int) -> Path:
    """Return where a seal is kept."""
    return directory / f"seal-{number:010}.json"


def keep(directory: Path, seal: Seal) -> None:
    """Write a seal; one that is there already must be the same.

    Raises:
        LedgerMisconfigured: the directory cannot be written.
        BrokenChain: another seal of this number is there.
    """
    path = path_of(directory, seal.number)
    try:
        there = write_once(path, written(seal))
    except OSError as error:
        raise LedgerMisconfigured(f"{directory} cannot keep seals: {error.strerror}") from error
    if read(there, str(path)).digest != seal.digest:
        raise BrokenChain(str(path), "another seal of this number is kept here")


def kept(directory: Path) -> Sequence[Seal]:
    """Return the seals of a directory in order.

    Raises:
        LedgerMisconfigured: there is no such directory, or it cannot be read.
        BrokenChain: a file holds no seal, or one that was changed.
    """
    try:
        if not directory.is_dir():
            raise LedgerMisconfigured(f"{directory} is no directory of seals")
        paths = sorted(directory.glob(PATTERN))
    except OSError as error:
        raise LedgerMisconfigured(f"{directory} cannot be read: {error.strerror}") from error
    seals = (read(text_of(path, SEAL_BYTES_MAX), str(path)) for path in paths)
    return sorted(seals, key=lambda seal: seal.number)


def missing(directory: Path, seals: Sequence[Seal]) -> Sequence[Seal]:
    """Return those of `seals` of which the directory has no file yet."""
    return [seal for seal in seals if not path_of(directory, seal.number).exists()]
