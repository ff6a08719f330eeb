"""Reads and writes bundles: plain, gzip-compressed, or on standard output."""

import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from jobledger.adapters.forensics.foreign_files import (
    DAMAGES,
    VALUES_MAX,
    check_regular,
    damage,
    values_in,
)
from jobledger.core.errors import BrokenChain, LedgerMisconfigured
from jobledger.core.forensics.bundles.bundle import Bundle, lines, read

GZIP_MAGIC = b"\x1f\x8b"
LINE_CHARACTERS_MAX = 8 << 20
"""A longer line is no line of a bundle: an object of Kubernetes has 1.5 MB at most."""

BUNDLE_CHARACTERS_MAX = 256 << 20
"""A longer bundle is none: what it takes to read one is bounded, however well it is packed."""


def write(bundle: Bundle, out: TextIO) -> None:
    """Write a bundle."""
    out.writelines(lines(bundle))


def read_file(path: Path) -> Bundle:
    """Return the bundle of a file.

    Raises:
        LedgerMisconfigured: the file cannot be read.
        BrokenChain: it holds no bundle, or one that is not as it was exported.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            compressed = file.read(2) == GZIP_MAGIC
        if not compressed:
            with path.open(encoding="utf-8") as plain:
                return read(bounded(_lines(plain, path), str(path)), str(path))
        with gzip.open(path, "rt", encoding="utf-8") as packed:
            return read(bounded(_lines(packed, path), str(path)), str(path))
    except DAMAGES as error:
        raise BrokenChain(str(path), damage(error)) from error
    except OSError as error:
        raise LedgerMisconfigured(f"{path} cannot be read: {error.strerror or error}") from error


def bounded(told: Iterable[str], where: str) -> Iterator[str]:
    """Yield the lines of a bundle, as long as all of them are no more than a bundle has.

    Raises:
        BrokenChain: it is longer.
    """
    total = values = 0
    for line in told:
        total += len(line)
        values += values_in(line)
        if values > VALUES_MAX:
            raise BrokenChain(where, f"it has more than {VALUES_MAX:,} values")
        if total > BUNDLE_CHARACTERS_MAX:
            raise BrokenChain(where, f"it is longer than {BUNDLE_CHARACTERS_MAX >> 20} MB")
        yield line


def _lines(text: TextIO, path: Path) -> Iterator[str]:
    while line := text.readline(LINE_CHARACTERS_MAX):
        if len(line) >= LINE_CHARACTERS_MAX:
            raise BrokenChain(str(path), "a line is too long")
        yield line
