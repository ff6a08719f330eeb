"""Reads what a program says, up to a limit: one that never stops fills no memory."""

import os
import selectors
import subprocess
import time

_PIECE_BYTES = 65_536


class TooMuchOutput(Exception):
    """The program says more than anybody asked for."""


def output_of(
    process: "subprocess.Popen[bytes]", seconds: float | None, most: int
) -> tuple[bytes, bytes]:
    """Return what a process says on its standard output and error, once it has ended.

    Args:
        process: It may have pipes for both, or for one; the other counts as silent.
        seconds: How long it may take; None: as long as it likes.
        most: How many bytes it may say on either.

    Raises:
        subprocess.TimeoutExpired: It has not ended in time, and still runs.
        TooMuchOutput: It has said more, and still runs.
    """
    ends = None if seconds is None else time.monotonic() + seconds
    told = {pipe: bytearray() for pipe in (process.stdout, process.stderr) if pipe is not None}
    with selectors.DefaultSelector() as talking:
        for pipe, kept in told.items():
            talking.register(pipe, selectors.EVENT_READ, kept)
        while talking.get_map():
            ready = talking.select(_left(ends))
            if not ready and seconds is not None:
                raise subprocess.TimeoutExpired(process.args, seconds)
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE_BYTES)
                key.data.extend(piece)
                if not piece:
                    talking.unregister(key.fileobj)
                if len(key.data) > most:
                    raise TooMuchOutput
    process.wait(_left(ends))
    out, err = (told.get(pipe, b"") if pipe else b"" for pipe in (process.stdout, process.stderr))
    return bytes(out), bytes(err)


def _left(ends: float | None) -> float | None:
    return None if ends is None else max(ends - time.monotonic(), 0.0)
