"""Reads the colours of a log as classes; every other control is written out, none is obeyed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

_SGR = re.compile(r"\x1b\[([0-9;]{0,40})m")
"""Select Graphic Rendition. Source: ECMA-48, section 8.3.117."""

COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_EXTENDED = (38, 48)
"""Begin a colour of 256 or of 16 million; of these the first eight alone are drawn."""


@dataclass(frozen=True, slots=True)
class Style:
    """How text looks from here on."""

    colour: str = ""
    ground: str = ""
    bold: bool = False
    dim: bool = False
    underlined: bool = False

    @property
    def classes(self) -> str:
        """Return it as classes of the style sheet."""
        given = {
            f"fg-{self.colour}": self.colour,
            f"bg-{self.ground}": self.ground,
            "bold": self.bold,
            "dim": self.dim,
            "underlined": self.underlined,
        }
        return " ".join(name for name, is_so in given.items() if is_so)


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one look."""

    classes: str
    text: str


def coloured(lines: list[str]) -> Iterator[tuple[Piece, ...]]:
    """Yield the pieces of each line; a colour goes on over the end of a line."""
    style = Style()
    for line in lines:
        pieces, at = list[Piece](), 0
        for found in _SGR.finditer(line):
            if found.start() > at:
                pieces.append(Piece(style.classes, line[at : found.start()]))
            style, at = _after(style, found[1]), found.end()
        if at < len(line):
            pieces.append(Piece(style.classes, line[at:]))
        yield tuple(pieces)


def plain(line: str) -> str:
    """Return a line without its colours."""
    return _SGR.sub("", line)


def _after(style: Style, codes: str) -> Style:
    numbers = [int(code or 0) for code in codes.split(";")]
    while numbers:
        code = numbers.pop(0)
        if code in _EXTENDED:
            style, numbers = _extended(style, code, numbers)
        else:
            style = _simple(style, code)
    return style


def _extended(style: Style, code: int, rest: list[int]) -> tuple[Style, list[int]]:
    length = 2 if rest[:1] == [5] else 4
    number = rest[1] if rest[:1] == [5] and len(rest) > 1 else len(COLOURS)
    if number < len(COLOURS):
        style = _simple(style, code - 8 + number)
    return style, rest[length:]


def _simple(style: Style, code: int) -> Style:
    first, colour = divmod(code, 10)
    if first in (3, 9) and colour < len(COLOURS):
        return replace(style, colour=COLOURS[colour])
    if first in (4, 10) and colour < len(COLOURS):
        return replace(style, ground=COLOURS[colour])
    changes: dict[int, Style] = {
        0: Style(),
        1: replace(style, bold=True),
        2: replace(style, dim=True),
        4: replace(style, underlined=True),
        22: replace(style, bold=False, dim=False),
        24: replace(style, underlined=False),
        39: replace(style, colour=""),
        49: replace(style, ground=""),
    }
    return changes.get(code, style)
