"""Bundles in files, as they are or compressed with gzip, and on standard output."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from core.errors import BrokenChain, LedgerMisconfigured
from core.forensics.bundle import Bundle, lines, read

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
                return read(_lines(plain))
        with gzip.open(path, "rt", encoding="utf-8") as packed:
            return read(_lines(packed))
    except UnicodeDecodeError as error:
        raise BrokenChain(str(path), "it is no text") from error
    except zlib.error as error:
        raise BrokenChain(str(path), f"it cannot be unpacked: {error}") from error
    except (OSError, EOFError) as error:
        raise LedgerMisconfigured(f"{path} cannot be read: {error}") from error


def check_regular(path: Path) -> None:
    """Refuse what is no file: a pipe would be waited for, a device never ends.

    Raises:
        LedgerMisconfigured: it is none, or not there.
    """
    if path.exists() and not path.is_file():
        message = f"{path} is no file: a bundle or an archive is needed"
        raise LedgerMisconfigured(message)


def _lines(text: TextIO) -> Iterator[str]:
    total = 0
    while line := text.readline(LINE_CHARACTERS_MAX):
        total += len(line)
        if len(line) >= LINE_CHARACTERS_MAX:
            raise BrokenChain("the bundle", "a line is too long")
        if total > BUNDLE_CHARACTERS_MAX:
            raise BrokenChain("the bundle", f"it is longer than {BUNDLE_CHARACTERS_MAX >> 20} MB")
        yield line
