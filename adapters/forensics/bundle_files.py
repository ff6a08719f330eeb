"""Bundles in files, as they are or compressed with gzip, and on standard output."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from core.errors import BrokenChain, LedgerMisconfigured
from core.forensics.bundle import Bundle, lines, read

GZIP_MAGIC = b"\x1f\x8b"
LINE_CHARACTERS_MAX = 64 << 20
"""A longer line is no line of a bundle."""


def write(bundle: Bundle, out: TextIO) -> None:
    """Write a bundle."""
    out.writelines(lines(bundle))


def read_file(path: Path) -> Bundle:
    """Return the bundle of a file.

    Raises:
        LedgerMisconfigured: the file cannot be read.
        BrokenChain: it holds no bundle, or one that is not as it was exported.
    """
    try:
        with path.open("rb") as file:
            compressed = file.read(2) == GZIP_MAGIC
        if not compressed:
            with path.open(encoding="utf-8") as plain:
                return read(_lines(plain))
        with gzip.open(path, "rt", encoding="utf-8") as packed:
            return read(_lines(packed))
    except UnicodeDecodeError as error:
        raise BrokenChain(str(path), "it is no text") from error
    except (OSError, EOFError) as error:
        raise LedgerMisconfigured(f"{path} cannot be read: {error}") from error


def _lines(text: TextIO) -> Iterator[str]:
    while line := text.readline(LINE_CHARACTERS_MAX):
        if len(line) >= LINE_CHARACTERS_MAX:
            raise BrokenChain("the bundle", "a line is too long")
        yield line
