"""Standard streams that somebody has closed, or that take nothing any more."""

import os
import sys
from typing import TextIO

STANDARD = (0, 1, 2)
"""Input, output and errors."""


def open_what_is_closed() -> None:
    """Open standard streams that the caller has closed (`2>&-`), on nothing.

    Otherwise the next file or connection would get the number of one, and be written to.
    """
    for number in STANDARD:
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free is this one
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, "r", closefd=False)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def drop(stream: TextIO) -> None:
    """Have nothing more written: what is in the buffers would fail again as the program ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
