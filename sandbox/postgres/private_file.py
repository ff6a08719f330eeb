"""Writes a small file atomically and readable by its owner only."""

from pathlib import Path

from jobledger.adapters.files.written_once import beside, take_place


def write_private(path: Path, content: str) -> None:
    """Write a file that only its owner may read, whole or not at all, and durably.

    Raises:
        OSError: it cannot be written; nothing is left then.
    """
    with beside(path, 0o600) as fresh:
        fresh.write_text(content)
        take_place(fresh, path)
