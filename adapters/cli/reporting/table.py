"""Formats an answer as a table that fits the terminal, leaving out less important columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from jobledger.adapters.cli.reporting.quantities import written
from jobledger.adapters.postgres.reports.asking.report import Answer, Column, Row

_GAP = 2
"""Cells between two columns."""

_KEY_CELLS_MIN = 24
"""A key is cut to this many cells before the last measure goes."""


@dataclass(frozen=True, slots=True)
class _Shown:
    column: Column
    cells: tuple[str, ...]
    """From the heading down."""

    @property
    def width(self) -> int:
        return max(cell_len(cell) for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table, and what it has no room for."""

    table: Table
    left_out: tuple[Column, ...]


def fitted(answer: Answer, width: int) -> Fitted:
    """Return the answer as a table of at most `width` cells."""
    rows = list(answer.rows)
    if answer.total is not None and answer.keys:
        rows.append(answer.total)
    keys = {column.name for column in answer.keys}
    every = [_shown(column, rows, answer) for column in answer.columns]
    kept = list(every)
    while _needed(kept, keys) > width:
        least = max(kept, key=lambda item: (item.column.rank, every.index(item)))
        if least.column.rank == 0 or least.column.name in keys:
            break
        kept.remove(least)
    room = width - _needed([item for item in kept if item.column.name not in keys], keys) - _GAP
    made = Table(box=None, pad_edge=False, show_edge=False, header_style="bold")
    widths = _key_widths([item for item in kept if item.column.name in keys], room)
    for item in kept:
        right = item.column.unit.is_number
        made.add_column(
            item.cells[0],
            justify="right" if right else "left",
            no_wrap=True,
            overflow="ellipsis",
            max_width=widths.get(item.column.name),
        )
    for number in range(1, len(rows) + 1):
        last = number > len(answer.rows)
        cells = [_cut(item.cells[number], widths.get(item.column.name)) for item in kept]
        made.add_row(*(Text(cell) for cell in cells), style="bold" if last else "")
    gone = tuple(item.column for item in every if item not in kept)
    return Fitted(made, gone)


def _has_total(answer: Answer) -> bool:
    return answer.total is not None and len(answer.keys) > 0


def _shown(column: Column, rows: Sequence[Row], answer: Answer) -> _Shown:
    cells = [written(row.get(column.name), column, answer.question.zone) for row in rows]
    if _has_total(answer) and column in answer.keys:
        cells[-1] = "all" if column is answer.keys[0] else ""
    return _Shown(column, (column.heading.upper(), *cells))


def _needed(items: Sequence[_Shown], keys: set[str]) -> int:
    """Return the cells that the columns take if keys are cut as far as they may be."""
    widths = [
        min(item.width, _KEY_CELLS_MIN) if item.column.name in keys else item.width
        for item in items
    ]
    return sum(widths) + _GAP * max(0, len(widths) - 1)


def _key_widths(keys: Sequence[_Shown], room: int) -> dict[str, int]:
    """Return how wide each key may be: the narrow ones whole, the others share the rest."""
    widths: dict[str, int] = {}
    for number, item in enumerate(sorted(keys, key=lambda item: item.width)):
        left = len(keys) - number
        share = max(_KEY_CELLS_MIN, (room - _GAP * (left - 1)) // left)
        widths[item.column.name] = min(item.width, share)
        room -= widths[item.column.name] + _GAP
    return widths


def _cut(cell: str, width: int | None) -> str:
    """Return a text with its middle left out: of an image both registry and tag tell something."""
    if width is None or cell_len(cell) <= width or width < 2:  # noqa: PLR2004  # a cell, an ellipsis
        return cell
    head = (width - 1) // 2
    return f"{cell[:head]}…{cell[-(width - 1 - head) :]}"
