"""Reads files that others wrote, within limits: no pipe is awaited, no device read without end."""

import gzip
import zlib
from pathlib import Path

from jobledger.core.errors import LedgerMisconfigured

VALUES_MAX = 16_000_000
"""More values of JSON have no bundle and no record: read, each may take 80 bytes, however short it
is. A hundred thousand events have a third of that."""


DAMAGES = (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError)
"""What reading a packed text raises where it is not as it was written."""


def damage(error: Exception) -> str:
    """Return what is wrong with a file, and what to do: `error` is one of `DAMAGES`."""
    if isinstance(error, UnicodeDecodeError):
        return "it is no text"
    what = "it breaks off" if isinstance(error, EOFError) else "it cannot be unpacked"
    return f"it is not whole ({what}); copy it once more from where it was written"


def values_in(text: str) -> int:
    """Return how many values a text of JSON has at most, by the signs that stand between them."""
    return sum(map(text.count, "[{,:"))


def check_regular(path: Path) -> None:
    """Refuse what is no file: a pipe would be waited for, a device never ends.

    Raises:
        LedgerMisconfigured: it is none.
    """
    if path.exists() and not path.is_file():
        raise LedgerMisconfigured(f"{path} is no file: a regular file is needed")


def content_of(path: Path, most: int) -> bytes:
    """Return what a file holds.

    Raises:
        LedgerMisconfigured: it cannot be read, or holds more than `most` bytes.
    """
    check_regular(path)
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise LedgerMisconfigured(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > most:
        raise LedgerMisconfigured(f"{path} cannot be read: it has more than {most} bytes")
    return content


def text_of(path: Path, most: int) -> str:
    """Return the text of JSON that a file holds.

    Raises as `content_of`, also for bytes that are no text, or for too many values.
    """
    try:
        text = content_of(path, most).decode()
    except UnicodeDecodeError as error:
        raise LedgerMisconfigured(f"{path} cannot be read: it is no text") from error
    if values_in(text) > VALUES_MAX:
        raise LedgerMisconfigured(f"{path} cannot be read: it has more than {VALUES_MAX:,} values")
    return text
