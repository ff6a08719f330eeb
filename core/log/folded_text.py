"""A text without what a terminal or a narrow column put in between, and where each part stood.

A colour may be switched on in the middle of a secret, and a long one may be broken over lines:
what is looked for is then found in the folded text, and replaced in the text itself.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

from core.log.secret_search import Occurrence

COLOURS = re.compile(
    r"\x1b(?:\[[0-9;:?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)?)"
)
"""Sequences of a terminal: CSI and OSC. Source: ECMA-48, sections 5.4 and 5.6."""

_BREAKS = re.compile(rf"{COLOURS.pattern}|\\?\r?\n[ \t]{{0,40}}")


class FoldedText:
    """A text from which some parts were taken out."""

    __slots__ = ("_ends", "_starts", "text")

    def __init__(self, whole: str, taken_out: re.Pattern[str]) -> None:
        pieces: list[str] = []
        self._starts: list[int] = [0]
        """Where in the folded text each piece begins."""
        self._ends: list[int] = []
        """Where in the whole text each piece begins."""
        at = folded = 0
        for found in taken_out.finditer(whole):
            pieces.append(whole[at : found.start()])
            self._ends.append(at)
            folded += found.start() - at
            self._starts.append(folded)
            at = found.end()
        pieces.append(whole[at:])
        self._ends.append(at)
        self.text = "".join(pieces)

    def whole(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of the folded text that is not empty stands in the whole one."""
        return self._place(start), self._place(end - 1) + 1

    def _place(self, at: int) -> int:
        piece = bisect_right(self._starts, at) - 1
        return self._ends[piece] + at - self._starts[piece]


def without_colours(text: str) -> FoldedText | None:
    """Return a text without a terminal's sequences; None if there are none."""
    return FoldedText(text, COLOURS) if "\x1b" in text else None


def in_one_line(text: str) -> FoldedText | None:
    """Return a text without line breaks and the blanks after them; None if there are none."""
    return FoldedText(text, _BREAKS) if "\n" in text else None


def unfolded(folded: FoldedText, found: Iterator[Occurrence]) -> Iterator[Occurrence]:
    """Yield occurrences where they stand in the whole text."""
    for start, end, secret in found:
        if start < end:
            yield Occurrence(*folded.whole(start, end), secret)
