"""Reads files that others wrote, within limits: no pipe is awaited, no device read without end."""

from pathlib import Path

from jobledger.core.errors import LedgerMisconfigured


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
    """Return the text that a file holds; raises as `content_of`, also for bytes that are none."""
    try:
        return content_of(path, most).decode()
    except UnicodeDecodeError as error:
        raise LedgerMisconfigured(f"{path} cannot be read: it is no text") from error
