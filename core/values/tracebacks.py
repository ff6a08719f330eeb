"""Tells what is said in a log from the lines of source code that tracebacks of Python show.

A frame quotes the program: `raise ValueError(...)` in it is no error, and no sign of one.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

SPEAKER = re.compile(
    r"^(?:\[\d{1,4},\d{1,6}\]<std(?:err|out)>:|(?:\[[^\]]{1,60}\]:?[ \t]|\([^)]{1,80}\)[ \t]){1,4})"
)
"""Who speaks, before a line: `(train pid=12, ip=10.0.0.3)` of Ray, `[rank0]:` of torchrun,
`[1,2]<stderr>:` of mpirun."""

_FRAME = re.compile(r'([ \t|]*)File "[^"]{1,400}", line \d')
_INDENTED = re.compile(r"[ \t|]*")


class Said(NamedTuple):
    """A line of a log."""

    text: str
    """As it came."""
    body: str
    """Without who says it and white space."""
    is_frame: bool
    """It is a frame of a traceback, or the code below one."""
    after_frames: bool = False
    """It stands right below a frame, as the exception does."""


def _read(lines: Iterable[str]) -> Iterator[Said]:
    depth, after_frames = -1, False
    for line in lines:
        body = SPEAKER.sub("", line)
        indented = _INDENTED.match(body)
        margin = indented.end() if indented else 0
        frame = _FRAME.match(body)
        if frame is not None:
            depth = len(frame[1])
        is_frame = frame is not None or 0 <= depth < margin
        if not is_frame:
            depth = -1
        yield Said(line, body[margin:].strip(), is_frame, after_frames)
        after_frames = is_frame


def said(lines: Iterable[str]) -> Iterator[Said]:
    """Yield the lines that are no frames of a traceback, nor the code below one."""
    yield from (one for one in _read(lines) if not one.is_frame)


def blanked_frames(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines as they came, those of frames as so many blanks."""
    for one in _read(lines):
        yield " " * len(one.text) if one.is_frame else one.text
