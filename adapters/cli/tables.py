"""Formats rows as tables: complete for programs, fitted to the terminal for people."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

Cells = Mapping[str, Sequence[Text]]
"""Column -> its cells, from the heading down."""

GAP = 2
"""Cells of the screen between two columns."""

WORDY = frozenset(
    {"message", "cause", "resolution", "words", "found", "expected", "why", "unknown", "source"}
)
"""Columns that may be wrapped."""

WORDY_MIN = 24
"""Cells that a column of words is wrapped to before another column goes."""

PADDED_MAX = 63
"""Cells that a column is padded to at most: a name of 253 characters widens no row but its own."""

NAMES = frozenset({"name", "namespace", "job", "file", "number", "table", "part"})
"""Columns that say what a row is about: they never go."""

FIRST_TO_GO = (
    "ray_cluster_name",
    "ended_at",
    "resolution",
    "made_at",
    "attempt",
    "failed",
    "started_at",
    "kind",
    "job_status",
)
"""After these the rightmost column goes, and so on."""


def whole_lines(cells: Cells) -> Iterator[str]:
    """Yield a line for each row: nothing is cut or wrapped.

    A column is as wide as it has to be, up to `PADDED_MAX`; what is longer shifts its own row.
    """
    plain = [[" ".join(cell.plain.split("\n")) for cell in column] for column in cells.values()]
    widths = [min(max(map(cell_len, column)), PADDED_MAX) for column in plain]
    for row in zip(*plain, strict=True):
        padded = (
            cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)
        )
        yield (" " * GAP).join(padded).rstrip()


def too_wide(cells: Cells, width: int) -> list[str]:
    """Return the columns that a table of this width has no room for, the first to go first."""
    needed = {name: _needed(name, column) for name, column in cells.items()}
    ranked = [name for name in FIRST_TO_GO if name in cells]
    ranked += [name for name in reversed(list(cells)) if name not in ranked]
    gone: list[str] = []
    for name in ranked:
        if _together(needed[other] for other in cells if other not in gone) <= width:
            break
        if name not in NAMES:
            gone.append(name)
    return gone


def _together(widths: Iterable[int]) -> int:
    kept = list(widths)
    return sum(kept) + GAP * (len(kept) - 1)


def _needed(name: str, column: Sequence[Text]) -> int:
    natural = max(cell.cell_len for cell in column)
    return min(natural, max(WORDY_MIN, column[0].cell_len)) if name in WORDY else natural


def table(cells: Cells, width: int) -> Table:
    """Return cells as a table of this width.

    If it has no room for the names alone, they go on in a second line.
    """
    needed = {name: _needed(name, column) for name, column in cells.items()}
    fits = _together(needed.values()) <= width
    made = Table(box=None, pad_edge=False, show_edge=False)
    for name, column in cells.items():
        made.add_column(
            column[0],
            no_wrap=fits and name not in WORDY,
            overflow="fold",
            min_width=needed[name] if fits else None,
        )
    for row in zip(*(column[1:] for column in cells.values()), strict=True):
        made.add_row(*row)
    return made
