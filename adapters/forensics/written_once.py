"""Writes files atomically and never overwrites one.

A file is written beside its place, flushed, and linked into place; then its directory is flushed.
"""

import os
from pathlib import Path


def write_once(path: Path, content: str) -> str:
    """Write a file, unless it is there; return what the file holds. Raises `OSError`."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with fresh.open("w", encoding="utf-8") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(fresh, path)
    except FileExistsError:
        return path.read_text(encoding="utf-8")
    finally:
        fresh.unlink()
    flush_directory(path.parent)
    return content


def flush_directory(directory: Path) -> None:
    """Have the names in a directory survive a loss of power. Raises `OSError`."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
