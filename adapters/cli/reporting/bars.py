"""Draws an answer as a bar chart in the terminal."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text

from jobledger.adapters.cli.reporting.quantities import quantity, written
from jobledger.adapters.postgres.reports.asking.report import Answer, Column, Row

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
    numbers = [_number(row, measure) for row in drawn]
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


def _number(row: Row, measure: Column) -> float | None:
    value = row.get(measure.name)
    return float(value) if isinstance(value, int | float) else None


def _label(row: Row, answer: Answer, cells: int) -> str:
    zone = answer.question.zone
    label = " · ".join(written(row.get(key.name), key, zone) for key in answer.keys)
    if cell_len(label) <= cells:
        return label
    head = (cells - 1) // 2
    return f"{label[:head]}…{label[-(cells - 1 - head) :]}"


def _bar(length: float, encoding: str) -> str:
    """Return a bar of so many cells; with eighths of a cell where the terminal can show them."""
    if not encoding.lower().startswith("utf"):
        return "#" * max(round(length), 1 if length > 0 else 0)
    eighths = max(round(length * 8), 1 if length > 0 else 0)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
