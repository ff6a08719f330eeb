"""Removes terminal escapes and line wraps from a text, and maps positions back to the original.

A colour may be switched on in the middle of a secret, and a long one may be broken over lines:
what is looked for is then found in the folded text, and replaced in the text itself.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from jobledger.core.log.redaction.secret_search import Occurrence
from jobledger.core.values.visible_text import COLOURS

_BREAK = re.compile(r"\n[ \t]{0,40}")
"""Begins with a literal, so that the search for it is quick: what may stand before is looked at."""


class FoldedText:
    """A text from which some parts were taken out."""

    def __init__(self, text: str, taken_out: Iterable[tuple[int, int]]) -> None:
        """Take what is left of a text, and where what was taken out of it stood, in order."""
        self.text = text
        self._taken_out = taken_out

    def whole(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of the folded text that is not empty stands in the whole one."""
        return self._place(start), self._place(end - 1) + 1

    def _place(self, at: int) -> int:
        starts, ends = self._pieces
        piece = bisect_right(starts, at) - 1
        return ends[piece] + at - starts[piece]

    @cached_property
    def _pieces(self) -> tuple[list[int], list[int]]:
        """Where each piece begins, in the folded text and in the whole one."""
        starts, ends = [0], [0]
        for start, end in self._taken_out:
            starts.append(starts[-1] + start - ends[-1])
            ends.append(end)
        return starts, ends


def _folded(whole: str, taken_out: Sequence[tuple[int, int]]) -> FoldedText:
    ends = [0, *(end for _, end in taken_out)]
    starts = [*(start for start, _ in taken_out), len(whole)]
    text = "".join(map(whole.__getitem__, map(slice, ends, starts)))
    return FoldedText(text, taken_out)


def without_colours(text: str) -> FoldedText | None:
    """Return a text without a terminal's sequences; None if there are none."""
    return _folded(text, list(_colours(text))) if "\x1b" in text else None


def in_one_line(text: str) -> FoldedText | None:
    """Return a text without line breaks and the blanks after them; None if there are none."""
    if "\n" not in text:
        return None
    if "\x1b" in text or "\r\n" in text or "\\\n" in text:
        return _folded(text, list(_breaks_and_colours(text)))
    return FoldedText(_BREAK.sub("", text), _breaks_and_colours(text))


def _colours(text: str) -> Iterator[tuple[int, int]]:
    return (found.span() for found in COLOURS.finditer(text))


def _breaks_and_colours(text: str) -> Iterator[tuple[int, int]]:
    """Yield what is taken out of a text to read it as one line: in order, and none within another.

    A break may begin with a backslash and a carriage return, where they are not part of a colour.
    """
    done = 0
    colours = list(_colours(text))
    colours.reverse()
    for found in _BREAK.finditer(text):
        while colours and colours[-1][0] < found.start():
            start, end = colours.pop()
            if start >= done:
                yield start, end
                done = end
        begin = found.start()
        if begin < done:
            continue  # within a colour
        begin -= begin > done and text[begin - 1] == "\r"
        begin -= begin > done and text[begin - 1] == "\\"
        yield begin, found.end()
        done = found.end()
    yield from ((start, end) for start, end in reversed(colours) if start >= done)


def unfolded(folded: FoldedText, found: Iterator[Occurrence]) -> Iterator[Occurrence]:
    """Yield occurrences where they stand in the whole text."""
    for start, end, secret in found:
        if start < end:
            yield Occurrence(*folded.whole(start, end), secret)
