"""Draws an answer in the terminal: as a table that leaves out less important columns, as bars."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from jobledger.adapters.cli.reporting.quantities import number_in, quantity, written
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


ROWS_MAX = 40
"""At most so many bars."""

_WIDTH_MAX = 120
"""Bars do not get longer on a wide terminal: what is far apart is hard to compare."""

_LABEL_PART = 3
"""Labels take at most this part of the width: a third."""

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bars(answer: Answer, width: int, encoding: str) -> Iterator[Text]:
    """Yield the lines of the chart; none if there is nothing to draw.

    The longest bar is as wide as there is room, or of shares as much of that as it says.
    """
    chart = answer.report.chart
    measure = next(item for item in answer.report.columns if item.name == chart.columns[0])
    drawn = list(answer.rows)[:ROWS_MAX]
    numbers = [number_in(row, measure) for row in drawn]
    longest = max((number for number in numbers if number is not None), default=0.0)
    if not answer.keys or longest <= 0:
        return
    whole = 1.0 if measure.unit == "share" else longest
    width = min(width, _WIDTH_MAX)
    labels = [_label(row, answer, width // _LABEL_PART) for row in drawn]
    values = ["" if number is None else quantity(number, measure.unit) for number in numbers]
    indent, label_cells = 2, max(map(cell_len, labels))
    room = max(4, width - indent - label_cells - 1 - max(map(len, values)) - 1)
    several = (
        f": {measure.heading}" if measure.heading != chart.title and len(chart.columns) > 1 else ""
    )
    yield Text(f"{chart.title}{several}", style="bold")
    for label, number, value in zip(labels, numbers, values, strict=True):
        bar = "" if number is None else _bar(number / whole * room, encoding)
        pad = " " * (label_cells - cell_len(label))
        yield Text.assemble(" " * indent, label, pad, " ", (bar, chart.style), " ", value)
    if len(answer.rows) > ROWS_MAX:
        yield Text(f"  … and {len(answer.rows) - ROWS_MAX} rows more", style="dim")


def _label(row: Row, answer: Answer, cells: int) -> str:
    zone = answer.question.zone
    label = " · ".join(written(row.get(key.name), key, zone) for key in answer.keys)
    return _cut(label, cells)


def _bar(length: float, encoding: str) -> str:
    """Return a bar of so many cells; with eighths of a cell where the terminal can show them."""
    if not encoding.lower().startswith("utf"):
        return "#" * max(round(length), 1 if length > 0 else 0)
    eighths = max(round(length * 8), 1 if length > 0 else 0)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
