"""Prints the timeline of a job for people: when, how long after the beginning, and what."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date

from rich.text import Text

from jobledger.adapters.cli.jobs.standing import phase_shown
from jobledger.adapters.cli.output import PHASE_STYLES, console
from jobledger.core.forensics.story.timeline import LINE_MAX, Line
from jobledger.core.jobs.rows import JobRow


class Printed:
    """How far a story has been printed."""

    def __init__(self) -> None:
        self.begun: Line | None = None
        self.attempt = 0
        self.day: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Lines that follow each other and say the same."""

    first: Line
    last: Line
    count: int


def line_limit() -> int | None:
    """Return how long words may be: on a terminal as a line can be looked over, else whole."""
    return LINE_MAX if console.is_terminal else None


def print_story(row: JobRow, lines: Iterable[Line]) -> None:
    """Print where a job stands and its timeline, attempts set apart."""
    title = Text(f"{row.namespace}/{row.name}  ", style="bold")
    title.append(phase_shown(row) or "New", style=PHASE_STYLES.get(row.phase, ""))
    title.append(f"  attempts {row.attempt}, failed {row.failed}, succeeded {row.succeeded}")
    console.print(title)
    print_lines(lines, Printed())


def print_lines(lines: Iterable[Line], printed: Printed) -> None:
    """Print lines below those that were printed: UTC, and seconds since the first of all."""
    for run in runs(lines):
        line = run.first
        printed.begun = printed.begun or line
        at = line.at.astimezone(UTC)
        if at.date() != printed.day:
            printed.day = at.date()
            console.print(Text(f"{at:%Y-%m-%d} (UTC)", style="dim"))
        if line.attempt != printed.attempt:
            printed.attempt = line.attempt
            console.print(Text(f"  attempt {line.attempt}", style="bold cyan"))
        text = Text.assemble(
            (f"  {_clock(line)} ", ""),
            (f"{_since(line, printed.begun):>11} ", "dim"),
            (f"{line.version:4} ", "dim"),
            f"{line.event:<22} ",
            line.words,
        )
        if run.count > 1:
            text.append(f" (and {run.count - 1} more like it, until {_clock(run.last)})", "dim")
        console.print(text, soft_wrap=True)


def runs(lines: Iterable[Line]) -> Iterator[Run]:
    """Yield lines, those that follow each other and say the same as one."""
    run: Run | None = None
    for line in lines:
        if run is not None and _says(line) == _says(run.first):
            run = Run(first=run.first, last=line, count=run.count + 1)
            continue
        if run is not None:
            yield run
        run = Run(first=line, last=line, count=1)
    if run is not None:
        yield run


def _says(line: Line) -> tuple[int, str, str, date]:
    return line.attempt, line.event, line.words, line.at.astimezone(UTC).date()


def _clock(line: Line) -> str:
    return line.at.astimezone(UTC).strftime("%H:%M:%S.%f")[:-3]


def _since(line: Line, begun: Line) -> str:
    return f"{(line.at - begun.at).total_seconds():+.3f} s"
