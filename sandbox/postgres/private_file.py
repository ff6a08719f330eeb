"""Writes a small file atomically and readable by its owner only."""

import os
from pathlib import Path


def write_private(path: Path, content: str) -> None:
    """Write a file that only its owner may read, whole or not at all, and durably.

    Raises:
        OSError: it cannot be written; nothing is left then.
    """
    scratch = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    scratch.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
