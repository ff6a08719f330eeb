"""The pictures of reports in the documents: what `jobledger report --plot` draws of the sample."""  # noqa: INP001 see recipe.py

import io
import re
from datetime import datetime, timedelta
from pathlib import Path

from rich.console import Console
from sqlalchemy import Engine

from jobledger.adapters.cli.reporting.plot import plot
from jobledger.adapters.cli.reporting.told import show
from jobledger.adapters.postgres.reports.asking.asking import ask
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Answer, Question

PICTURES = {
    "report-waste": ("waste", ("day", "namespace")),
    "report-failures": ("failures", ("class", "reason")),
    "report-retries": ("retries", ("day",)),
    "report-start-latency": ("start-latency", ("queue",)),
    "report-slo": ("slo", ("queue",)),
    "report-busiest": ("busiest", ("week", "namespace")),
}
"""File name -> which report, by what."""


TERMINAL = "report-terminal"
WIDTH = 100
FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def draw(engine: Engine, end: datetime, directory: Path) -> None:
    """Write every picture, of the four weeks before `end`."""
    for name, (report, by) in PICTURES.items():
        plot(_answer(engine, end, report, by), directory / f"{name}.png")
    shown = _answer(engine, end, "waste", ("namespace", "class"))
    (directory / f"{TERMINAL}.svg").write_text(_terminal(shown, "jobledger report waste"))


def _answer(engine: Engine, end: datetime, name: str, by: tuple[str, ...]) -> Answer:
    report = REPORTS[name]
    question = Question(
        since=end - timedelta(days=28),
        until=end,
        by=by,
        thresholds={item.name: item.default for item in report.thresholds},
        limit=1_000,
    )
    return ask(engine, report, question)


def _terminal(answer: Answer, title: str) -> str:
    """Return what a terminal shows, as SVG; the fonts are the viewer's own."""
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    show(answer, console, charted=True)
    return FONTS.sub("", console.export_svg(title=title))
