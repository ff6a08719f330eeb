"""Writes files that are whole or not there.

A file is written beside its place, flushed, and linked or moved into place; then its directory is
flushed.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write_once(path: Path, content: str) -> str:
    """Write a file, unless it is there; return what the file holds. Raises `OSError`."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with fresh.open("w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(fresh, path)
    except FileExistsError:
        return path.read_text(encoding="utf-8")
    finally:
        fresh.unlink(missing_ok=True)
    flush_directory(path.parent)
    return content


@contextmanager
def in_place_of(path: Path) -> Iterator[Path]:
    """Give a name beside `path` to write; once the block has ended well, it takes that place.

    If it ends otherwise, what was there is as it was. What is no regular file, a pipe say, is
    written itself. Raises `OSError`.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    place = path.resolve()  # a link goes on leading there
    fresh = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        yield fresh
        with fresh.open("rb") as file:
            os.fsync(file.fileno())
        fresh.replace(place)
        flush_directory(place.parent)
    finally:
        fresh.unlink(missing_ok=True)


def flush_directory(directory: Path) -> None:
    """Have the names in a directory survive a loss of power. Raises `OSError`."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
