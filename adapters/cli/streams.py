"""Standard streams that somebody has closed, or that do not take everything, or nothing more."""

import codecs
import io
import json
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


def escape_what_is_not_taken() -> None:
    r"""Have an output of another encoding than UTF-8 say `\u00fc`, as JSON does, for `ü`.

    A program that reads JSON takes it for UTF-8, and a character that the encoding lacks would end
    the command. Errors are written so by Python.
    """
    codecs.register_error("as in JSON", _as_in_json)
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper) and codecs.lookup(out.encoding).name != "utf-8":
        out.reconfigure(encoding="ascii", errors="as in JSON")


def _as_in_json(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError), "nothing is read so"
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def drop(stream: TextIO) -> None:
    """Have nothing more written: what is in the buffers would fail again as the program ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
