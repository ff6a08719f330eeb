"""Writes files that are whole or not there.

A file is written beside its place, flushed, and linked or moved into place; then its directory is
flushed. Beside its place nobody's link is followed, and nothing that was there is written over.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEW_FILE_MODE = 0o666
"""As `open` has it: the umask takes the rest away."""


def write_once(path: Path, content: str) -> str:
    """Write a file, unless it is there; return what the file holds. Raises `OSError`."""
    make_directory(path.parent)
    with beside(path) as fresh:
        with fresh.open("w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(fresh, path)
        except FileExistsError:
            return path.read_text(encoding="utf-8")
    flush_directory(path.parent)
    return content


@contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """Give a name beside `path` to write; once the block has ended well, it takes that place.

    If it ends otherwise, what was there is as it was. Who may read a file may read what takes its
    place, and nobody else. What is no regular file, a pipe say, is written itself. Raises
    `OSError`.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    place = Path(os.path.realpath(path))  # a link goes on leading there
    with beside(place, _mode_of(place)) as fresh:
        yield fresh
        take_place(fresh, place)


@contextmanager
def beside(place: Path, mode: int = NEW_FILE_MODE) -> Iterator[Path]:
    """Give the name of an empty file beside `place`; unless it was moved it is removed at the end.

    Raises `OSError`.
    """
    fresh = name_beside(place)
    make_anew(fresh, mode)
    try:
        yield fresh
    finally:
        fresh.unlink(missing_ok=True)


def name_beside(place: Path) -> Path:
    """Return the name that this process gives a file until it takes its place."""
    return place.with_name(f".{place.name}.{os.getpid()}")


def make_anew(fresh: Path, mode: int = NEW_FILE_MODE) -> None:
    """Make an empty file of this name, in place of whatever is there. Raises `OSError`."""
    fresh.unlink(missing_ok=True)  # of a process that had our number and was killed
    os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))


def take_place(fresh: Path, place: Path) -> None:
    """Put a file that was written beside its place there, for good. Raises `OSError`."""
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    fresh.replace(place)
    flush_directory(place.parent)


def make_directory(directory: Path) -> None:
    """Make a directory and what is missing above it. Raises `OSError`."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:  # a file, a pipe, a link that leads nowhere
        raise NotADirectoryError(
            errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(directory)
        ) from error


def flush_directory(directory: Path) -> None:
    """Have the names in a directory survive a loss of power. Raises `OSError`."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _mode_of(place: Path) -> int:
    """Return the mode of the file that is to be replaced; one that may not be written stays."""
    try:
        mode = place.stat().st_mode & 0o777
    except FileNotFoundError:
        return NEW_FILE_MODE
    if not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
    return mode
