"""Draws an answer into an image file with matplotlib, without a screen.

By time there are columns that stand on each other (or lines, where adding up says nothing), else
bars. The same answer gives the same file.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.output import fail
from jobledger.adapters.cli.reporting.quantities import number_in, quantity, written
from jobledger.adapters.postgres.reports.asking.buckets import pieces
from jobledger.adapters.postgres.reports.asking.report import Answer, Column, Row, Unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

FORMATS = ("png", "svg")
"""By the end of the file's name."""

COLOURS = ("#3b6ea5", "#e08a3c", "#5a9e6f", "#b85c6b", "#8272b2", "#8c7b62", "#d3a6c0", "#9aa0a6")
"""Distinct also for most who see colours otherwise; the last is for all that is left."""

SERIES_MAX = len(COLOURS)
BARS_MAX = 25
OTHERS = "others"

_SCALES = ((2 * 86400.0, 86400.0, "days"), (7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"))
"""From how many seconds on an axis counts in what."""

TIMES = ("hour", "day", "week")


def refuse_unknown_picture(path: Path | None) -> None:
    """End with a message if the file's name does not say what kind of picture it is to be."""
    if path is not None and path.suffix.removeprefix(".").lower() not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        fail(f"{path}: the name of a picture ends in {known}", ExitCode.USAGE)


def plot(answer: Answer, path: Path) -> None:
    """Write the picture of an answer.

    Ends with a message if matplotlib is not installed, or the file cannot be written.
    """
    kind = path.suffix.removeprefix(".").lower()
    try:
        import matplotlib as mpl  # noqa: PLC0415  # a second and 60 MB that few need
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        fail(
            "pictures need matplotlib; install it with: pip install 'jobledger[report]'",
            ExitCode.MISCONFIGURED,
        )
    with mpl.rc_context(
        {
            "svg.hashsalt": "jobledger",
            "svg.fonttype": "none",
            "font.size": 9,
            "text.parse_math": False,  # a $ in a name is no formula
        }
    ):
        figure = Figure(figsize=(8, 4.2), dpi=110, layout="constrained")
        FigureCanvasAgg(figure)
        _draw(answer, figure)
        try:
            figure.savefig(path, format=kind, metadata=_NO_DATE[kind])
        except OSError as error:
            fail(f"{path} cannot be written: {error.strerror}", ExitCode.MISCONFIGURED)


_NO_DATE: dict[str, Any] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}
"""What else would make two files of the same picture differ."""


def _draw(answer: Answer, figure: "Figure") -> None:
    axes = figure.add_subplot()
    asked = answer.question
    zone = asked.zone
    period = (
        f"{asked.since.astimezone(zone):%Y-%m-%d %H:%M} to "
        f"{asked.until.astimezone(zone):%Y-%m-%d %H:%M} {zone}"
    )
    if answer.report.snapshot:
        period = f"at {asked.until.astimezone(zone):%Y-%m-%d %H:%M} {zone}"
    axes.set_title(f"{answer.report.chart.title}\n{period}", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    measures = [
        column
        for name in answer.report.chart.columns
        for column in answer.report.columns
        if column.name == name
    ]
    if not answer.rows:
        axes.text(0.5, 0.5, "nothing in this period", ha="center", transform=axes.transAxes)
    elif asked.by and asked.by[0] in TIMES:
        _over_time(answer, measures, axes)
    else:
        _bars(answer, measures, axes)


def _bars(answer: Answer, measures: Sequence[Column], axes: "Axes") -> None:
    """Draw a group of bars per row, the first row on top."""
    rows = list(answer.rows)[:BARS_MAX]
    scale, unit = _scale([number_in(row, item) for row in rows for item in measures], measures[0])
    thick = 0.8 / len(measures)
    for number, measure in enumerate(measures):
        at = [place + (number - (len(measures) - 1) / 2) * thick for place in range(len(rows))]
        lengths = [(number_in(row, measure) or 0.0) / scale for row in rows]
        axes.barh(at, lengths, thick, color=COLOURS[number], label=measure.heading)
        for place, row, length in zip(at, rows, lengths, strict=True):
            value = number_in(row, measure)
            told = "" if value is None else f" {quantity(value, measure.unit)}"
            axes.text(length, place, told, va="center", fontsize=7)
    labels = [_label(row, answer.keys, answer) for row in rows]
    axes.set_yticks(range(len(rows)), labels)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel(unit)
    if measures[0].unit is Unit.COUNT:
        axes.xaxis.set_major_locator(_whole_numbers())
    target = answer.question.thresholds.get("target")
    if isinstance(target, float):
        axes.axvline(target / scale, color="#555555", linestyle="--", linewidth=1, label="target")
    if len(measures) > 1 or isinstance(target, float):
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))


def _over_time(answer: Answer, measures: Sequence[Column], axes: "Axes") -> None:
    """Draw one series per value of the other keys; of several measures all, if there are none."""
    there = {_time(row, answer) for row in answer.rows}
    times = sorted(there | set(pieces(answer.keys[0].name, answer.question)))
    series = list(_series(answer, measures))
    scale, unit = _scale([value for _, values in series for value in values.values()], measures[0])
    if measures[0].unit.is_additive and len(answer.keys) == 1:
        for number, (name, values) in enumerate(series):  # parts of the first stand in front of it
            heights = [(values.get(time) or 0.0) / scale for time in times]
            wide = 0.8 - 0.3 * number
            axes.bar(range(len(times)), heights, wide, color=COLOURS[number], label=name)
    elif measures[0].unit.is_additive:
        below = [0.0] * len(times)
        for number, (name, values) in enumerate(series):
            heights = [(values.get(time) or 0.0) / scale for time in times]
            axes.bar(range(len(times)), heights, 0.8, below, color=COLOURS[number], label=name)
            below = [low + height for low, height in zip(below, heights, strict=True)]
    else:
        for number, (name, values) in enumerate(series):
            heights = [_scaled(values.get(time), scale) for time in times]
            axes.plot(heights, color=COLOURS[number], label=name, marker="o", markersize=3)
    axes.use_sticky_edges = False  # else the tallest column touches the top
    axes.set_ylim(bottom=0)
    if measures[0].unit is Unit.COUNT:
        axes.yaxis.set_major_locator(_whole_numbers())
    step = max(1, -(-len(times) // 10))
    shown = range(0, len(times), step)
    form = "%m-%d %H:%M" if answer.keys[0].name == "hour" else "%m-%d"
    zone = answer.question.zone
    axes.set_xticks(shown, [times[place].astimezone(zone).strftime(form) for place in shown])
    axes.set_ylabel(unit)
    if len(series) > 1:
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))


def _whole_numbers() -> "MaxNLocator":
    """Return what puts the ticks of an axis that counts: there is no half failure."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  # see plot

    return MaxNLocator(integer=True)


def _series(
    answer: Answer, measures: Sequence[Column]
) -> Iterator[tuple[str, dict[datetime, float | None]]]:
    """Yield each series: its name, and its value at each time."""
    if len(answer.keys) == 1:
        for measure in measures:
            yield (
                measure.heading,
                {_time(row, answer): number_in(row, measure) for row in answer.rows},
            )
        return
    measure = measures[0]
    found: dict[str, dict[datetime, float | None]] = {}
    for row in answer.rows:
        name = _label(row, answer.keys[1:], answer)
        found.setdefault(name, {})[_time(row, answer)] = number_in(row, measure)
    sums = {name: sum(value or 0.0 for value in values.values()) for name, values in found.items()}
    ordered = sorted(found, key=lambda name: (-sums[name], name))
    room = SERIES_MAX if len(ordered) <= SERIES_MAX else SERIES_MAX - 1
    for name in ordered[:room]:
        yield name, found[name]
    rest = ordered[room:]
    if rest and measure.unit.is_additive:
        summed: dict[datetime, float | None] = {}
        for name in rest:
            for time, value in found[name].items():
                summed[time] = (summed.get(time) or 0.0) + (value or 0.0)
        yield OTHERS, summed


def _time(row: Row, answer: Answer) -> datetime:
    value = row[answer.keys[0].name]
    assert isinstance(value, datetime), "hours, days and weeks begin at an instant"
    return value


def _label(row: Row, keys: Sequence[Column], answer: Answer) -> str:
    label = " · ".join(written(row.get(key.name), key, answer.question.zone) for key in keys)
    return label if len(label) <= _LABEL_MAX else f"{label[:18]}…{label[-(_LABEL_MAX - 19) :]}"


_LABEL_MAX = 44


def _scaled(value: float | None, scale: float) -> float:
    return float("nan") if value is None else value / scale


def _scale(values: Sequence[float | None], measure: Column) -> tuple[float, str]:
    """Return by what the values are divided, and what the axis then counts."""
    if measure.unit is Unit.SHARE:
        return 0.01, "%"
    if measure.unit in {Unit.COUNT, Unit.MONEY, Unit.NUMBER}:
        return 1.0, measure.heading
    prefix = "cluster-" if measure.unit is Unit.CLUSTER_SECONDS else ""
    largest = max((value for value in values if value is not None), default=0.0)
    for least, size, name in _SCALES:
        if largest >= least:
            return size, prefix + name
    return 1.0, prefix + "seconds"
